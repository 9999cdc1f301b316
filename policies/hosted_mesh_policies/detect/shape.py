"""The shape detector: credentials by their structure, whoever made them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import yaml

from .atoms import YAML_LOADER
from .der import openssh_numbers, private_numbers
from .unwrap import BETWEEN, views


class Kind(Enum):
    """What a credential is. The value is how messages call it."""

    PRIVATE_KEY = "a private key"
    KUBECONFIG = "a kubeconfig with a credential"
    CLIENT_KEY = "a client key of a kubeconfig"
    SERVICE_ACCOUNT_TOKEN = "a service-account token"  # noqa: S105 a name, not a password
    BEARER_TOKEN = "a bearer token"  # noqa: S105
    CLOUD = "a cloud or DNS credential"
    ACCESS_TOKEN = "an access token of a known service"  # noqa: S105
    PASSWORD_IN_URL = "a password in a URL"  # noqa: S105
    PASSWORD_HASH = "a password file entry"  # noqa: S105
    REGISTRY_LOGIN = "a registry login"
    ARGUMENT = "a credential given as an argument"


@dataclass(frozen=True, slots=True)
class Shape:
    """A credential that was recognised, the decoders that it was under, and for a kubeconfig the servers that it opens."""

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
    """A quick look at one view, for a whole buffer: False means that `shapes` finds nothing in it."""
    return bool(_HINTS.search(data)) or _has_der_key(data) or bool(_USER_INFO.search(data) or _HTPASSWD.search(data))


_HINTS = re.compile(
    rb"PRIVATE ?KEY|client-key-data|(?i:users)|eyJ|AKIA|ASIA|AIza|(?i:secret)|(?i:token)|(?i:api[-_]?key)|(?i:passw)|"
    rb"(?i:private_key)|\"kty\"|(?i:bearer)|(?i:basic )|(?i:auth)|AccountKey=|gh[pousr]_|xox[abprs]-|hvs\.|pul-|dop_v1_|"
    rb"glpat-|npm_|github_pat_|(?i:[-_]key)"
)
_PEM = re.compile(rb"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE ?KEY(?: ?BLOCK)?-----[\s\S]{0,300}?[A-Za-z0-9+/]{24}")
_JWT = re.compile(rb"eyJ[A-Za-z0-9_-]{8,}\.(eyJ[A-Za-z0-9_-]{8,})\.[A-Za-z0-9_-]{16,}")
_USER_INFO = re.compile(rb"[a-z][a-z0-9+.-]{1,20}://[^/@:\s\"']{0,64}:([^/@\s\"'${}<>*]{4,128})@[A-Za-z0-9\[]")
_HTPASSWD = re.compile(
    rb"(?:^|[\n\0])[A-Za-z0-9_.@-]{1,64}:(?:\$(?:apr1|2[aby]|5|6)\$[./A-Za-z0-9$=]{20,}|\{S?SHA\}[A-Za-z0-9+/=]{20,})"
)
_CLIENT_KEY = re.compile(rb"client-key-data[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9+/]{24,}")
_CLOUD = re.compile(
    rb"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|AIza[0-9A-Za-z_-]{35}"
    rb"|(?i:aws_?secret_?access_?key|secret_?access_?key)[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
    rb"|AccountKey=[A-Za-z0-9+/]{40,}={0,2}|[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"
    rb"|(?i:tsig|algorithm\s+hmac-)[^\n]{0,80}(?i:secret)[\"']?\s*[=:\s]\s*[\"']?[A-Za-z0-9+/]{16,}={0,2}"
    rb"|dop_v1_[0-9a-f]{40,}|(?i:(?:cf|cloudflare)[-_]api[-_](?:token|key))[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9_-]{30,}"
)
_ACCESS = re.compile(
    rb"gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,}|xox[abprs]-[A-Za-z0-9-]{20,}|hvs\.[A-Za-z0-9_-]{24,}"
    rb"|pul-[0-9a-f]{40}|glpat-[A-Za-z0-9_-]{20}|npm_[A-Za-z0-9]{36}"
)
_BEARER = re.compile(
    rb"(?i:authorization)[\"']?\s*[:=]?\s*[\"']?(?i:bearer|basic)\s+([A-Za-z0-9._~+/-]{16,}=*)"
    rb"|(?i:bearer)\s+([A-Za-z0-9._~+/-]{24,}=*)"
)
_ARGUMENT = re.compile(
    rb"--?[a-z0-9-]{0,40}(?:token|secret|password|passwd|api-?key|access-?key|private-?key)(?:=|\s+|\"?,\s*\")([^\s\"',$({/<][^\s\"',]{7,512})"
)
_REGISTRY = re.compile(
    rb"\"auths\"\s*:\s*\{.{0,400}?\"(?:auth|password|identitytoken)\"\s*:\s*\"[^\"]{6,}\"", re.DOTALL
)


def _in_view(data: bytes) -> Iterator[tuple[Kind, tuple[str, ...]]]:
    if _PEM.search(data) or _has_der_key(data) or b"openssh-key-v1\0" in data:
        yield Kind.PRIVATE_KEY, ()
    if b"users" in data and b"clusters" in data and (servers := _kubeconfig(data)) is not None:
        yield Kind.KUBECONFIG, servers
    elif _CLIENT_KEY.search(data):
        yield Kind.CLIENT_KEY, ()
    for found in _JWT.finditer(data):
        yield _token_kind(found.group(1)), ()
    if b'"kty"' in data and _is_private_jwk(data):
        yield Kind.PRIVATE_KEY, ()
    for kind, pattern in (
        (Kind.CLOUD, _CLOUD),
        (Kind.ACCESS_TOKEN, _ACCESS),
        (Kind.PASSWORD_IN_URL, _USER_INFO),
        (Kind.PASSWORD_HASH, _HTPASSWD),
        (Kind.REGISTRY_LOGIN, _REGISTRY),
        (Kind.ARGUMENT, _ARGUMENT),
        (Kind.BEARER_TOKEN, _BEARER),
    ):
        if any(not _is_placeholder(found) for found in pattern.finditer(data)):
            yield kind, ()


_PLACEHOLDER = re.compile(
    rb"^[\[<{$*/]|^(?:x{4,}|redacted|changeme|example|your[-_ ]|placeholder|null|none|true|false)", re.IGNORECASE
)


def _is_placeholder(found: re.Match[bytes]) -> bool:
    value = next((group for group in found.groups() if group), b"")
    return bool(value and _PLACEHOLDER.match(value))


def _has_der_key(data: bytes) -> bool:
    """True when a piece of the data is a DER private key."""
    start = 0 if data[:1] == b"\x30" else data.find(BETWEEN + b"\x30") + len(BETWEEN)
    while start >= len(BETWEEN) or (start == 0 and data[:1] == b"\x30"):
        if private_numbers(data[start : start + 8192]):
            return True
        start = data.find(BETWEEN + b"\x30", start) + len(BETWEEN)
    return bool(data.startswith(b"openssh-key-v1\0") and openssh_numbers(data))


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


_CREDENTIALS: Final = ("token", "client-key-data", "password")


def _kubeconfig(data: bytes, depth: int = 0) -> tuple[str, ...] | None:
    """The servers that a kubeconfig with a credential opens; None when there is no such kubeconfig. A kubeconfig may be
    a text inside another document."""
    try:
        tree: Any = yaml.load(data, Loader=YAML_LOADER)  # noqa: S506 a safe loader
    except (yaml.YAMLError, RecursionError, ValueError):
        return ("",) if _CLIENT_KEY.search(data) else None
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
