"""Values as programs of many sets write them: what looks random and is nobody's secret, and usual forms."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from .material import LETTERS

HEX = "0123456789abcdef"
AWS_ID = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def noise(name: str, length: int) -> bytes:
    """Bytes that look random and are nobody's secret: the same in each run."""
    return hashlib.shake_256(f"field {name}".encode()).digest(length)


def drawn(name: str, length: int, letters: str = LETTERS) -> str:
    return "".join(letters[byte % len(letters)] for byte in noise(name, length))


def b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def uid(name: str) -> str:
    return str(uuid.UUID(bytes=noise(name, 16), version=4))


def apply(value: Any, change: Callable[[Any], Any]) -> pulumi.Output[Any]:
    return pulumi.Output.from_input(value).apply(change)


def kubeconfig(server: str, user: Mapping[str, Any], authority: str) -> str:
    """A kubeconfig in the order in which programs write it."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "hub", "cluster": {"server": server, "certificate-authority-data": b64(authority)}}],
            "users": [{"name": "agent", "user": dict(user)}],
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent"}}],
            "current-context": "hub",
        }
    )


def pull_secret(host: Any, user: Any, password: Any) -> pulumi.Output[str]:
    """A Docker login, as programs write it."""
    login = pulumi.Output.all(host=host, user=user, password=password)
    return pulumi.Output.json_dumps(
        {
            "auths": login.apply(
                lambda a: {
                    a["host"]: {
                        "username": a["user"],
                        "password": a["password"],
                        "auth": b64(f"{a['user']}:{a['password']}"),
                    }
                }
            )
        }
    )
