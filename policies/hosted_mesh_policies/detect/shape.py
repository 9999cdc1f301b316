"""The shape detector: credentials by their structure, whoever made them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from ..plan.decode import UNPARSABLE, YAML_LOADER, nests_too_deeply
from ..plan.tree import Path, Tree, at
from .decoders.text import BETWEEN, printable
from .der import OPENSSH, openssh_numbers, private_numbers
from .examples import is_example
from .keystores import has_key
from .named import holds_named, named_in_tree
from .signatures import CLIENT_KEY, JWT, PEM, SIGNATURES, Kind, is_placeholder
from .unwrap import views

_CREDENTIALS: Final = ("token", "client-key-data", "password", "refresh-token", "client-secret", "access-token")
_OF_PRIVATE_JWK: Final = re.compile(rb"\"(?:d|k)\"\s*:\s*\"[A-Za-z0-9_-]{16,}\"")
MOST_DOCUMENTS: Final = 6
"""How many documents inside documents are opened."""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Where a kubeconfig goes, and by which credentials. Never printed."""

    servers: tuple[str, ...] = ("",)
    authorities: tuple[str, ...] = ()
    credentials: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Shape:
    """A credential that was recognised, the decoders that it was under, and for a kubeconfig what it opens."""

    kind: Kind
    layers: tuple[str, ...]
    opens: Kubeconfig | None = None


def shapes(data: bytes) -> Iterator[Shape]:
    """Every credential in a value, at every layer; each kind once. Raises TooMuchError."""
    seen: set[tuple[Kind, Kubeconfig | None]] = set()
    for view in views(data):
        named = "folding" not in view.layers and holds_named(view.data, view.data.lower())
        for kind, opens in (*_in_view(view.data), *([(Kind.NAMED, None)] if named else [])):
            if kind is Kind.KUBECONFIG and "folding" in view.layers:
                continue  # without its line breaks it cannot be read; the view before had them
            if kind is Kind.PASSWORD_IN_URL and view.layers[-1:] == ("folding",):
                continue  # a URL at a line's end and an address for mail in the next
            if (kind, opens) not in seen:
                seen.add((kind, opens))
                yield Shape(kind, view.layers, opens)


def may_hold_shape(data: bytes) -> bool:
    """A look at one view of a whole buffer: False means that `shapes` finds nothing in any of its parts."""
    if _has_der_key(data) or _has_keystore(data):
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
        or holds_named(data, lower)
    )


def _in_view(data: bytes) -> Iterator[tuple[Kind, Kubeconfig | None]]:
    if PEM.search(data) or _has_der_key(data):
        yield Kind.PRIVATE_KEY, None
    if _has_keystore(data):
        yield Kind.KEYSTORE, None
    if b"users" in data and b"clusters" in data and (opens := _kubeconfig(data)) is not None:
        yield Kind.KUBECONFIG, opens
    elif CLIENT_KEY.search(data):
        yield Kind.CLIENT_KEY, None
    for found in JWT.finditer(data):
        if not is_example(found[0]):
            yield _token_kind(found.group(1)), None
    if b'"kty"' in data and _OF_PRIVATE_JWK.search(data):
        yield Kind.PRIVATE_KEY, None
    lower = data.lower()
    for signature in SIGNATURES:
        if any(word in lower for word in signature.words) and any(
            not is_placeholder(found) for found in signature.pattern.finditer(data)
        ):
            yield signature.kind, None


def _has_keystore(data: bytes) -> bool:
    """True when a piece of the data is a keystore with a key."""
    if b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c" not in data and b"\xfe\xed\xfe\xed" not in data:
        return False
    return any(has_key(piece) for piece in data.split(BETWEEN))


def _has_der_key(data: bytes) -> bool:
    """True when a piece of the data is a DER private key."""
    start = 0 if data[:1] == b"\x30" else data.find(BETWEEN + b"\x30") + len(BETWEEN)
    while start >= len(BETWEEN) or (start == 0 and data[:1] == b"\x30"):
        if private_numbers(data[start : start + 8192]):
            return True
        start = data.find(BETWEEN + b"\x30", start) + len(BETWEEN)
    start = data.find(OPENSSH)
    return start >= 0 and bool(openssh_numbers(data[start:]))


def _token_kind(payload: bytes) -> Kind:
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return Kind.BEARER_TOKEN
    if isinstance(claims, dict) and any(str(key).startswith("kubernetes.io") for key in claims):
        return Kind.SERVICE_ACCOUNT_TOKEN
    return Kind.BEARER_TOKEN


def _kubeconfig(data: bytes, depth: int = 0) -> Kubeconfig | None:
    """What a kubeconfig with a credential opens; None when there is no such kubeconfig. A kubeconfig may be
    a text inside another document."""
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
            if node.encode() != data and (inner := _kubeconfig(node.encode(), depth + 1)) is not None:
                return inner
        elif isinstance(node, dict):
            if (found := kubeconfig_in(node)) is not None:
                return found
            todo.extend(node.values())
    return None


def kubeconfig_in(node: dict[str, Any]) -> Kubeconfig | None:
    """What a mapping opens when it is a kubeconfig with a credential."""
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


def shapes_in_tree(tree: Tree) -> Iterator[tuple[Path, Shape]]:
    """Credentials that are mappings and not texts: a kubeconfig or a private JWK in a custom resource; and values under
    names of credentials."""
    yield from ((path, Shape(Kind.NAMED, ())) for path in named_in_tree(tree))
    todo: list[tuple[Path, Tree]] = [((), tree)]
    while todo:
        path, node = todo.pop()
        if isinstance(node, dict):
            if (opens := kubeconfig_in(node)) is not None:
                yield path, Shape(Kind.KUBECONFIG, (), opens)
            if "kty" in node and any(isinstance(node.get(key), str) and len(node[key]) >= 16 for key in ("d", "k")):
                yield path, Shape(Kind.PRIVATE_KEY, ())
            todo.extend(((*path, key), value) for key, value in node.items())
        elif isinstance(node, list):
            todo.extend(((*path, number), value) for number, value in enumerate(node))
