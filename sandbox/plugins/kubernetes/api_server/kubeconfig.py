"""Which API server to talk to, and as whom: kubeconfig by content, by path, or from the environment."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sandbox.plugins.protocol.errors import NotImplementedHere

Kubeconfig = dict[str, Any]
_UNREADABLE: Final = "it is neither YAML nor JSON, nor the path of a file"


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the text says why and holds no credential."""


@dataclass(frozen=True)
class Access:
    """An API server and a user's credentials for it. ca, client_certificate: PEM; namespace: "" when none is set."""

    server: str
    namespace: str
    ca: bytes = b""
    insecure: bool = False
    server_name: str = ""
    client_certificate: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def parse(path_or_content: str) -> Kubeconfig:
    """A kubeconfig from a file's path (with ~) or from its content. Raises KubeconfigError."""
    text = path_or_content
    path = Path(path_or_content).expanduser() if len(path_or_content) < 4096 else None
    try:
        if path is not None and path.is_file():
            text = path.read_text()
    except (OSError, ValueError):
        pass  # Too long or odd for a path: then it is content.
    config = _parsed(text)
    if not isinstance(config, dict):
        raise KubeconfigError("it is not a mapping, nor the path of a file")
    return config


def _parsed(text: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            raise KubeconfigError(_UNREADABLE) from None
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        raise KubeconfigError(_UNREADABLE) from None


def ambient() -> Kubeconfig:
    """What kubectl would use: the file of $KUBECONFIG, or ~/.kube/config. Raises NotImplementedHere for several."""
    path = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if os.pathsep in path:
        raise NotImplementedHere("several files in KUBECONFIG")
    return parse(path) if Path(path).is_file() else {}


def cluster_of(config: Kubeconfig, *, context: str = "", cluster: str = "") -> Mapping[str, Any] | None:
    """The cluster entry that is used, None when the kubeconfig does not say."""
    chosen = _named(config, "contexts", "context", context or config.get("current-context", ""))
    if chosen is None:
        return None
    return _named(config, "clusters", "cluster", cluster or chosen.get("cluster", ""))


def access(config: Kubeconfig, *, context: str = "", cluster: str = "", namespace: str = "") -> Access:
    """Server and credentials of a context (default: the current one). Raises KubeconfigError, NotImplementedHere."""
    name = context or config.get("current-context", "")
    chosen = _named(config, "contexts", "context", name)
    if chosen is None:
        if not name:
            raise KubeconfigError(
                "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
                "environment variable"
            )
        raise KubeconfigError(f'context "{name}" does not exist')
    target = _named(config, "clusters", "cluster", cluster or chosen.get("cluster", ""))
    if target is None or not target.get("server"):
        raise KubeconfigError(f'cluster "{cluster or chosen.get("cluster", "")}" does not exist or has no server')
    user = _named(config, "users", "user", chosen.get("user", "")) or {}
    refused = ("exec", "auth-provider", "as", "as-uid", "as-groups", "tokenFile", "username")
    _refuse("users", chosen.get("user", ""), user, refused)
    _refuse("clusters", cluster or chosen.get("cluster", ""), target, ("proxy-url",))
    return Access(
        server=target["server"],
        namespace=namespace or chosen.get("namespace") or "",
        ca=_data(target, "certificate-authority"),
        insecure=bool(target.get("insecure-skip-tls-verify", False)),
        server_name=target.get("tls-server-name", ""),
        client_certificate=_data(user, "client-certificate"),
        client_key=_data(user, "client-key"),
        headers={"Authorization": f"Bearer {user['token']}"} if user.get("token") else {},
    )


def _refuse(section: str, name: str, entry: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Raises NotImplementedHere for what changes who asks or by which way: to leave it out would be wrong, not less."""
    for field_name in fields:
        if entry.get(field_name):
            place = f"{section}[name={name}].{section.removesuffix('s')}.{field_name}"
            raise NotImplementedHere(f"{place} of a kubeconfig (it can use a token or a client certificate)")


def _data(entry: Mapping[str, Any], key: str) -> bytes:
    encoded, path = entry.get(f"{key}-data"), entry.get(key)
    try:
        if encoded:
            return base64.b64decode(encoded, validate=True)
        return Path(path).read_bytes() if path else b""
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not base64"
        raise KubeconfigError(f"{key} cannot be read: {reason}") from None


def _named(config: Kubeconfig, section: str, key: str, name: str) -> Mapping[str, Any] | None:
    for entry in config.get(section) or ():
        if isinstance(entry, dict) and entry.get("name") == name:
            value = entry.get(key)
            return value if isinstance(value, dict) else {}
    return None
