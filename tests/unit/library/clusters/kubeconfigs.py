"""Objects and documents for several test modules."""

from __future__ import annotations

import base64
from typing import Any

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
