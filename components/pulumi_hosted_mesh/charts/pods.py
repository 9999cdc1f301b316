"""Parts that Pods of the library's own objects have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

USER: Final = 65532
"""User and group of the containers."""
LOCKED: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""`securityContext` of a container."""
UNPRIVILEGED: Final = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""`securityContext` of a Pod."""


def unprivileged(*, fixed_user: bool) -> dict[str, Any]:
    """`securityContext` of a Pod. fixed_user: False for a cluster that assigns user and group itself, as OpenShift."""
    ids = ("runAsUser", "runAsGroup", "fsGroup")
    return {key: value for key, value in UNPRIVILEGED.items() if fixed_user or key not in ids}


class Sizes(Protocol):
    """CPU and memory of a container, as Kubernetes quantities."""

    @property
    def cpu_request(self) -> str: ...
    @property
    def memory_request(self) -> str: ...
    @property
    def cpu_limit(self) -> str: ...
    @property
    def memory_limit(self) -> str: ...


def requests_and_limits(sizes: Sizes) -> dict[str, Any]:
    """`resources` of a container."""
    return {
        "requests": {"cpu": sizes.cpu_request, "memory": sizes.memory_request},
        "limits": {"cpu": sizes.cpu_limit, "memory": sizes.memory_limit},
    }


def account_volume() -> dict[str, Any]:
    """The volume of the ServiceAccount's token, which Kubernetes would otherwise mount into each container."""
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
        {"configMap": authority},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": "account", "projected": {"defaultMode": 0o440, "sources": sources}}


def secret_volume(name: str, secret: str, keys: Sequence[str] = ()) -> dict[str, Any]:
    """A volume with a Secret's files, readable for the containers' group. keys: these alone; by default all."""
    source: dict[str, Any] = {"secretName": secret, "defaultMode": 0o440}
    if keys:
        source["items"] = [{"key": key, "path": key} for key in keys]
    return {"name": name, "secret": source}


def preferably_apart(labels: Mapping[str, str]) -> dict[str, Any]:
    """`affinity` of Pods with these labels: each on a node of its own, if there are enough."""
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": dict(labels)}}
    return {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
        }
    }


def tcp(port: int) -> dict[str, Any]:
    """An entry of `ports` of a NetworkPolicy."""
    return {"protocol": "TCP", "port": port}


def agent_source(folder: Path, agent: str) -> dict[str, str]:
    """`data` of the ConfigMap with a source. agent: its name in errors. Raises FileNotFoundError without the source."""
    if not (folder / "__main__.py").is_file():
        raise FileNotFoundError(
            f"{folder}: must contain the {agent}'s source. Check out the repository with symbolic links "
            "(`git config core.symlinks true`), or install the wheel"
        )
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
