"""The shape detector: credentials by their structure, whoever made them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from ..plan.decode import YAML_LOADER, nests_too_deeply
from .der import openssh_numbers, private_numbers
from .signatures import CLIENT_KEY, JWT, PEM, SIGNATURES, Kind, is_placeholder
from .unwrap import BETWEEN, printable, views


@dataclass(frozen=True, slots=True)
class Shape:
    """A credential that was recognised, the decoders that it was under, and for a kubeconfig the servers that it
    opens."""

    kind: Kind
    layers: tuple[str, ...]
    servers: tuple[str, ...] = ()


def shapes(data: bytes) -> Iterator[Shape]:
    """Every credential in a value, at every layer; each kind once. Raises TooMuchError."""
    seen: set[tuple[Kind, tuple[str, ...]]] = set()
    for view in views(data):
        for kind, servers in _in_view(view.data):
            if kind is Kind.KUBECONFIG and "folding" in view.layers:
                continue  # without its line breaks it cannot be read; the view before had them
            if (kind, servers) not in seen:
                seen.add((kind, servers))
                yield Shape(kind, view.layers, servers)


def may_hold_shape(data: bytes) -> bool:
    """A look at one view of a whole buffer: False means that `shapes` finds nothing in any of its parts."""
    if _has_der_key(data):
        return True
    data = printable(data)
    lower = data.lower()
    return (
        (b"PRIVATE" in data and bool(PEM.search(data)))
        or (b"users" in data and b"clusters" in data and any(key.encode() in data for key in _CREDENTIALS))
        or b"client-key-data" in data
        or (b"eyJ" in data and bool(JWT.search(data)))
        or b'"kty"' in data
        or any(any(word in lower for word in s.words) and s.pattern.search(data) for s in SIGNATURES)
    )


_CREDENTIALS: Final = ("token", "client-key-data", "password")


def _in_view(data: bytes) -> Iterator[tuple[Kind, tuple[str, ...]]]:
    if PEM.search(data) or _has_der_key(data):
        yield Kind.PRIVATE_KEY, ()
    if b"users" in data and b"clusters" in data and (servers := _kubeconfig(data)) is not None:
        yield Kind.KUBECONFIG, servers
    elif CLIENT_KEY.search(data):
        yield Kind.CLIENT_KEY, ()
    for found in JWT.finditer(data):
        yield _token_kind(found.group(1)), ()
    if b'"kty"' in data and _is_private_jwk(data):
        yield Kind.PRIVATE_KEY, ()
    lower = data.lower()
    for signature in SIGNATURES:
        if any(word in lower for word in signature.words) and any(
            not is_placeholder(found) for found in signature.pattern.finditer(data)
        ):
            yield signature.kind, ()


def _has_der_key(data: bytes) -> bool:
    """True when a piece of the data is a DER private key."""
    start = 0 if data[:1] == b"\x30" else data.find(BETWEEN + b"\x30") + len(BETWEEN)
    while start >= len(BETWEEN) or (start == 0 and data[:1] == b"\x30"):
        if private_numbers(data[start : start + 8192]):
            return True
        start = data.find(BETWEEN + b"\x30", start) + len(BETWEEN)
    start = data.find(OPENSSH)
    return start >= 0 and bool(openssh_numbers(data[start:]))


OPENSSH: Final = b"openssh-key-v1\0"


def _token_kind(payload: bytes) -> Kind:
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    except ValueError:
        return Kind.BEARER_TOKEN
    if isinstance(claims, dict) and any(str(key).startswith("kubernetes.io") for key in claims):
        return Kind.SERVICE_ACCOUNT_TOKEN
    return Kind.BEARER_TOKEN


def _is_private_jwk(data: bytes) -> bool:
    return bool(re.search(rb"\"(?:d|k)\"\s*:\s*\"[A-Za-z0-9_-]{16,}\"", data))


def _kubeconfig(data: bytes, depth: int = 0) -> tuple[str, ...] | None:
    """The servers that a kubeconfig with a credential opens; None when there is no such kubeconfig. A kubeconfig may be
    a text inside another document."""
    if nests_too_deeply(data):
        return ("",) if CLIENT_KEY.search(data) else None
    try:
        tree: Any = yaml.load(data, Loader=YAML_LOADER)  # noqa: S506 a safe loader
    except (yaml.YAMLError, RecursionError, ValueError):
        return ("",) if CLIENT_KEY.search(data) else None
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
            if node.encode() != data and (inner := _kubeconfig(node.encode(), depth + 1)) is not None:
                return inner
        elif isinstance(node, dict):
            if (servers := _servers(node)) is not None:
                return servers
            todo.extend(node.values())
    return None


MOST_DOCUMENTS: Final = 6
"""How many documents inside documents are opened."""


def _servers(node: dict[str, Any]) -> tuple[str, ...] | None:
    users, clusters = node.get("users"), node.get("clusters")
    if not isinstance(users, list) or not isinstance(clusters, list):
        return None
    entries = [user.get("user") for user in users if isinstance(user, dict)]
    if not any(isinstance(entry, dict) and any(entry.get(key) for key in _CREDENTIALS) for entry in entries):
        return None
    named = [cluster.get("cluster") for cluster in clusters if isinstance(cluster, dict)]
    return tuple(str(cluster.get("server", "")) for cluster in named if isinstance(cluster, dict)) or ("",)
