"""Kubeconfigs with a credential, as texts and as mappings: their clusters and credentials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from hosted_mesh_plan.decode import UNPARSABLE, YAML_LOADER, nests_too_deeply
from hosted_mesh_plan.tree import at

from .credential_forms import CLIENT_KEY

_CREDENTIALS: Final = ("token", "client-key-data", "password", "refresh-token", "client-secret", "access-token")
MOST_DOCUMENTS: Final = 6
"""Most nested documents to open."""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """A kubeconfig's clusters and credentials. Never printed."""

    servers: tuple[str, ...] = ("",)
    authorities: tuple[str, ...] = ()
    credentials: tuple[str, ...] = field(default=(), repr=False)


def may_hold_kubeconfig(data: bytes) -> bool:
    """A fast precheck: False means that there is no kubeconfig with a credential."""
    return b"users" in data and b"clusters" in data and any(key.encode() in data for key in _CREDENTIALS)


def kubeconfig_in_text(data: bytes, depth: int = 0) -> Kubeconfig | None:
    """A text's kubeconfig with a credential, or None. It may be a text inside another document."""
    try:
        if nests_too_deeply(data):
            raise ValueError
        tree: Any = yaml.load(data, Loader=YAML_LOADER)  # noqa: S506 a safe loader
    except UNPARSABLE:
        return Kubeconfig() if CLIENT_KEY.search(data) else None
    todo, seen = [tree], set[int]()
    while todo:
        node = todo.pop()
        if isinstance(node, dict | list):  # an alias may repeat a node without end
            if id(node) in seen:
                continue
            seen.add(id(node))
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, str) and depth < MOST_DOCUMENTS and "users" in node and "clusters" in node:
            if node.encode() != data and (inner := kubeconfig_in_text(node.encode(), depth + 1)) is not None:
                return inner
        elif isinstance(node, dict):
            if (found := kubeconfig_in(node)) is not None:
                return found
            todo.extend(node.values())
    return None


def kubeconfig_in(node: dict[str, Any]) -> Kubeconfig | None:
    """A mapping's kubeconfig with a credential, or None."""
    users, clusters = node.get("users"), node.get("clusters")
    if not isinstance(users, list) or not isinstance(clusters, list):
        return None
    entries = [entry for user in users if isinstance(user, dict) and isinstance(entry := user.get("user"), dict)]
    entries += [inner for entry in entries if isinstance(inner := at(entry, "auth-provider", "config"), dict)]
    credentials = tuple(str(entry[key]) for entry in entries for key in _CREDENTIALS if entry.get(key))
    if not credentials:
        return None
    named = [entry for one in clusters if isinstance(one, dict) and isinstance(entry := one.get("cluster"), dict)]
    return Kubeconfig(
        tuple(str(entry.get("server", "")) for entry in named) or ("",),
        tuple(str(entry.get("certificate-authority-data", "")) for entry in named),
        credentials,
    )
