"""The expected content of a place, by its name and its resource: a key's public half, its private half, a secret."""

from __future__ import annotations

import re
from typing import Final

from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import Leaf, Path, at

from ..leaf.content import as_bytes
from ..leaf.names import names_credential, names_digest_of_public, names_key, names_public_half
from ..leaf.public_structure import is_bare_digest

_CHECKS_SIGNATURES: Final = re.compile(r"(?:Image|Signature)\w*Policy$|^TrustRoot$")
"""Kinds of objects that hold only the public half of a key."""
_PUBLIC_KEYS: Final = re.compile(r"(?:Deploy|Ssh|Public)Key$|Key[pP]air$|(?:Record|RecordSet)$")
"""Types of clouds and forges made from a public key, `github:index/userSshKey:UserSshKey`, and DNS records."""


def expects_public_half(resource: Resource, place: Path) -> bool:
    """True if only a key's public half belongs in a place, or its digest where marks distinguish: all data of a Secret
    are marked."""
    named = [key for key in place if isinstance(key, str)]
    if resource.is_kubernetes and len(named) < 2:
        return False
    if _CHECKS_SIGNATURES.search(resource.kind) or (not resource.is_kubernetes and _PUBLIC_KEYS.search(resource.type)):
        return True
    return any(map(names_public_half, named[-2:])) or (resource.kind != "Secret" and names_digest_of_public(named[-1]))


_PINNED: Final = re.compile(rb"(?:\d{1,3} ){2,3}([0-9A-Fa-f]+)")
"""A TLSA or SSHFP record: two or three numbers, and a key's digest."""


def pinned_in_record(resource: Resource, value: bytes) -> bytes:
    """The possible digest of a key in a DNS record that pins keys; else empty."""
    found = _PINNED.fullmatch(value) if resource.body.get("type") in ("TLSA", "SSHFP") else None
    return found[1] if found else b""


def is_pin(resource: Resource, leaf: Leaf) -> bool:
    """True for an unmarked value with the form of a digest, in a place of public keys."""
    value = as_bytes(leaf.value)
    digest = pinned_in_record(resource, value) or value
    return not leaf.secret and expects_public_half(resource, leaf.path) and is_bare_digest(digest)


def is_private_half(resource: Resource, place: Path) -> bool:
    """True for a place with the name of a private key, or of a key beside its certificate."""
    name, beside = str(place[-1]), at(resource.asked, *place[:-1])
    if "private" in name.lower():
        return True
    named = names_key(name) and isinstance(beside, dict)
    return named and any(re.search(r"cert|crt", str(key), re.IGNORECASE) for key in beside)


def called(resource: Resource, place: Path) -> str:
    """The name of a value: its key, or the `name` beside it (of PostgreSQL's variables without PG)."""
    name = str(place[-1])
    beside = at(resource.asked, *place[:-1], "name") if name in {"value", "secureValue"} else None
    return beside.removeprefix("PG") if isinstance(beside, str) else name


def expects_secret(resource: Resource, place: Path) -> bool:
    """True for a place with a credential's name. A `...secret` may be a Secret's name."""
    words = called(resource, place).lower()
    return names_credential(words) and (not words.endswith("secret") or "client" in words)
