"""What is expected in a place by its name and by what it is in: a key's public half, its private half, a secret."""

from __future__ import annotations

import re
from typing import Final

from ...plan.model import Resource
from ...plan.tree import Leaf, Path, at
from ..leaf.content import as_bytes
from ..leaf.names import names_credential, names_digest_of_public, names_key, names_public_half
from ..leaf.public_structure import is_bare_digest

_CHECKS_SIGNATURES: Final = re.compile(r"(?:Image|Signature)\w*Policy$|^TrustRoot$")
"""Kinds of objects that have nothing of a key but its public half."""
_PUBLIC_KEYS: Final = re.compile(r"(?:Deploy|Ssh|Public)Key$|Key[pP]air$|(?:Record|RecordSet)$")
"""Types of clouds and forges that are made of one, `github:index/userSshKey:UserSshKey`, and records of DNS."""


def expects_public_half(resource: Resource, place: Path) -> bool:
    """Whether nothing but a key's public half belongs in a place, or a digest of one where a mark would tell of what it
    is: all data of a Secret are marked."""
    named = [key for key in place if isinstance(key, str)]
    if resource.is_kubernetes and len(named) < 2:
        return False
    if _CHECKS_SIGNATURES.search(resource.kind) or (not resource.is_kubernetes and _PUBLIC_KEYS.search(resource.type)):
        return True
    return any(map(names_public_half, named[-2:])) or (resource.kind != "Secret" and names_digest_of_public(named[-1]))


_PINNED: Final = re.compile(rb"(?:\d{1,3} ){2,3}([0-9A-Fa-f]+)")
"""What a record TLSA or SSHFP says: two or three numbers, and a key's digest."""


def pinned_in_record(resource: Resource, value: bytes) -> bytes:
    """What should be a key's digest in a record of DNS that pins keys; empty elsewhere."""
    found = _PINNED.fullmatch(value) if resource.body.get("type") in ("TLSA", "SSHFP") else None
    return found[1] if found else b""


def is_pin(resource: Resource, leaf: Leaf) -> bool:
    """Whether a value is the digest of a public key: by its form, where one is expected, and nobody marks it."""
    value = as_bytes(leaf.value)
    digest = pinned_in_record(resource, value) or value
    return not leaf.secret and expects_public_half(resource, leaf.path) and is_bare_digest(digest)


def is_private_half(resource: Resource, place: Path) -> bool:
    """Whether a place is called a private key's, or a key's with its certificate beside it."""
    name, beside = str(place[-1]), at(resource.asked, *place[:-1])
    if "private" in name.lower():
        return True
    named = names_key(name) and isinstance(beside, dict)
    return named and any(re.search(r"cert|crt", str(key), re.IGNORECASE) for key in beside)


def called(resource: Resource, place: Path) -> str:
    """The name of a value in a place: its key, or what stands beside it, as the name of a variable does (of
    PostgreSQL's without its PG)."""
    name = str(place[-1])
    beside = at(resource.asked, *place[:-1], "name") if name in {"value", "secureValue"} else None
    return beside.removeprefix("PG") if isinstance(beside, str) else name


def expects_secret(resource: Resource, place: Path) -> bool:
    """Whether a place is called a credential's. What is called a secret may be the name of one."""
    words = called(resource, place).lower()
    return names_credential(words) and (not words.endswith("secret") or "client" in words)
