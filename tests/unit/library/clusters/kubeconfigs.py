"""Objects and documents for several test modules."""

from __future__ import annotations

import base64
from typing import Any

from pulumi_hosted_mesh.clusters.kubeconfig import minimal

from tests.support.authorities import Authority, pem

CA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nprovider\n").decode()

OTHER_CA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nuser\n").decode()

TOKEN = "t0ken-t0ken-t0ken"


def content(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "current-context": "provider",
        "clusters": [
            {"name": "p", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority-data": CA}},
            {"name": "u", "cluster": {"server": "https://127.0.0.1:2", "certificate-authority-data": OTHER_CA}},
        ],
        "users": [{"name": "admin", "user": {"token": TOKEN}}, {"name": "other", "user": {"token": "other-token"}}],
        "contexts": [
            {"name": "provider", "context": {"cluster": "p", "user": "admin"}},
            {"name": "user", "context": {"cluster": "u", "user": "other"}},
            {"name": "broken", "context": {"cluster": "nowhere", "user": "admin"}},
        ],
    }
    return whole | changes


def administrators(name: str, authority: Authority) -> str:
    """A kubeconfig of a cluster's administrator. name: of the cluster. authority: of its API server."""
    data = base64.b64encode(pem(authority.certificate)).decode()
    entry = {"server": f"https://api.{name}.test:6443", "certificate-authority-data": data}
    return minimal("c", entry, {"token": f"administrator-of-{name}"})
