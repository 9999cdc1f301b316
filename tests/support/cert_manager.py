"""cert-manager's own controllers beside a cluster without nodes, and issuers for them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization

from sandbox.clusters import Cluster
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import CERT_MANAGER, CERT_MANAGER_CRDS
from tests.support.authorities import Authority, pem
from tests.support.kubectl import Kubectl

API = "cert-manager.io/v1"
NAMESPACE = "cert-manager"
"""The namespace of ClusterIssuers' Secrets."""
DEFINITIONS = ("certificaterequests", "certificates", "clusterissuers", "issuers")


@contextmanager
def definitions(cluster: Cluster, tools: Tools) -> Iterator[None]:
    """cert-manager's kinds on a cluster, and its namespace."""
    kubectl = Kubectl.of(cluster, tools)
    crds = tools[CERT_MANAGER].resolve().parent.parent / CERT_MANAGER_CRDS
    folder = f"--filename={crds}"
    kubectl("apply", "--server-side", folder)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", folder)
    kubectl("create", "namespace", NAMESPACE)
    try:
        yield
    finally:
        kubectl("delete", "--ignore-not-found", folder)
        kubectl("delete", "--ignore-not-found", "namespace", NAMESPACE)


@contextmanager
def controllers(cluster: Cluster, tools: Tools, directory: Path, *, gates: str = "") -> Iterator[None]:
    """Its controllers, as an administrator of the cluster. directory: for the log. gates: its feature gates."""
    command = [str(tools[CERT_MANAGER]), f"--kubeconfig={cluster.kubeconfig}", f"--feature-gates={gates}"]
    with (directory / "cert-manager.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def ca_issuer(name: str, authority: Authority, *above: Authority) -> list[dict[str, Any]]:
    """A ClusterIssuer that signs with an authority's key. above: the authorities that signed its certificate."""
    key = authority.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain = b"".join(pem(one.certificate) for one in (authority, *above))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": chain.decode(), "tls.key": key.decode()},
    }
    return [secret, cluster_issuer(name, {"ca": {"secretName": name}})]


def cluster_issuer(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "ClusterIssuer", "metadata": {"name": name}, "spec": spec}


def renew(kubectl: Kubectl, namespace: str, certificate: str) -> None:
    """As `cmctl renew`: the condition Issuing, in the Certificate's status."""
    found = kubectl.get("certificate", certificate, "-n", namespace)
    conditions = [one for one in found["status"]["conditions"] if one["type"] != "Issuing"]
    issuing = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "renewed by a test",
        "observedGeneration": found["metadata"]["generation"],
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    found["status"]["conditions"] = [*conditions, issuing]
    kubectl("replace", "--subresource=status", "--filename=-", text=json.dumps(found))
