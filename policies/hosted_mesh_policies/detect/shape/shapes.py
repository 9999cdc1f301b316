"""The shape detector: credentials of any origin, by their structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hosted_mesh_plan.tree import Path, Tree

from ..decoders.layers import views
from ..decoders.text import BETWEEN, printable
from ..keys.der import OPENSSH, openssh_numbers, private_numbers
from ..keys.keystores import has_key
from ..leaf.jwt_claims import claims_in, opens_nothing
from ..leaf.placeholders import is_example
from ..secrets.named_credentials import holds_named, named_in_tree
from .credential_forms import CLIENT_KEY, JWT, PEM, Kind, is_placeholder, matches
from .kubeconfigs import Kubeconfig, kubeconfig_in, kubeconfig_in_text, may_hold_kubeconfig

_PAGES_KEY: Final = re.compile(rb"(?<!\w)apiKey[\"']?\s{0,4}:\s{0,4}[\"']?AIza[\w-]{35}(?=[\"',\s]{0,12}authDomain)")
"""Firebase's public key in a page's settings: it names a project and opens nothing."""
_OF_PRIVATE_JWK: Final = re.compile(rb"\"(?:d|k)\"\s*:\s*\"[A-Za-z0-9_-]{16,}\"")


@dataclass(frozen=True, slots=True)
class Shape:
    """A recognised credential, its decoders, and for a kubeconfig its target."""

    kind: Kind
    layers: tuple[str, ...]
    opens: Kubeconfig | None = None


def shapes(data: bytes) -> Iterator[Shape]:
    """Every credential in a value, at every layer; each kind once. Raises TooMuchError."""
    seen: set[tuple[Kind, Kubeconfig | None]] = set()
    for view in views(data):
        text = _PAGES_KEY.sub(b"", view.data) if b"authDomain" in view.data else view.data
        named = "folding" not in view.layers and holds_named(text, text.lower())
        for kind, opens in (*_in_view(text), *([(Kind.NAMED, None)] if named else [])):
            if kind is Kind.KUBECONFIG and "folding" in view.layers:
                continue  # unreadable without its line breaks, which the view before had
            if kind is Kind.PASSWORD_IN_URL and view.layers[-1:] == ("folding",):
                continue  # a URL at a line's end and a mail address in the next
            if (kind, opens) not in seen:
                seen.add((kind, opens))
                yield Shape(kind, view.layers, opens)


def may_hold_shape(data: bytes) -> bool:
    """A precheck of one view of a whole buffer: False means that `shapes` finds nothing in any of its parts."""
    if _has_der_key(data) or _has_keystore(data):
        return True
    data = printable(data)
    lower = data.lower()
    return (
        (b"PRIVATE" in data and bool(PEM.search(data)))
        or may_hold_kubeconfig(data)
        or b"client-key-data" in data
        or (b"eyJ" in data and bool(JWT.search(data)))
        or b'"kty"' in data
        or next(matches(data, lower), None) is not None
        or holds_named(data, lower)
    )


def _in_view(data: bytes) -> Iterator[tuple[Kind, Kubeconfig | None]]:
    if PEM.search(data) or _has_der_key(data):
        yield Kind.PRIVATE_KEY, None
    if _has_keystore(data):
        yield Kind.KEYSTORE, None
    if b"users" in data and b"clusters" in data and (opens := kubeconfig_in_text(data)) is not None:
        yield Kind.KUBECONFIG, opens
    elif CLIENT_KEY.search(data):
        yield Kind.CLIENT_KEY, None
    for found in JWT.finditer(data):
        header, _, _ = found[0].partition(b".")
        if not is_example(found[0]) and not opens_nothing(header, claims := claims_in(found[1])):
            yield _token_kind(claims), None
    if b'"kty"' in data and _OF_PRIVATE_JWK.search(data):
        yield Kind.PRIVATE_KEY, None
    yield from ((kind, None) for kind, found in matches(data, data.lower()) if not is_placeholder(found))


def _has_keystore(data: bytes) -> bool:
    if b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c" not in data and b"\xfe\xed\xfe\xed" not in data:
        return False
    return any(has_key(piece) for piece in data.split(BETWEEN))


def _has_der_key(data: bytes) -> bool:
    start = 0 if data[:1] == b"\x30" else data.find(BETWEEN + b"\x30") + len(BETWEEN)
    while start >= len(BETWEEN) or (start == 0 and data[:1] == b"\x30"):
        if private_numbers(data[start : start + 8192]):
            return True
        start = data.find(BETWEEN + b"\x30", start) + len(BETWEEN)
    start = data.find(OPENSSH)
    return start >= 0 and bool(openssh_numbers(data[start:]))


def _token_kind(claims: Mapping[str, Any]) -> Kind:
    of_cluster = any(key.startswith("kubernetes.io") for key in claims)
    return Kind.SERVICE_ACCOUNT_TOKEN if of_cluster else Kind.BEARER_TOKEN


def shapes_in_tree(tree: Tree) -> Iterator[tuple[Path, Shape]]:
    """Credentials that are mappings: a kubeconfig or a private JWK in a custom resource; and values under names of
    credentials."""
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
