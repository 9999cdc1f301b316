"""The certificate of a Secret's private key."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator
from typing import Final, Literal

from hosted_mesh_plan.model import IN_SECRET, Resource
from hosted_mesh_plan.tree import Leaf, leaves

from ..detect.keys.der import is_certificate_authority, private_numbers, public_key_of
from ..detect.leaf.content import held

_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----([^-]*)-----END \1-----")
ED25519_BYTES: Final = 32
RSA_TAIL: Final = 64
"""An RSA public key ends with its modulus and 5 bytes of exponent; a private key has the modulus."""


def holds_certificate_of_its_key(resource: Resource) -> Literal["leaf", "authority", "istiod", ""]:
    """The kind of a Secret's certificate for its private key; "" for none, or one of another key."""
    blocks = [(label, der) for leaf in leaves(resource.body) for label, der in _blocks(leaf)]
    keys = [der for label, der in blocks if b"PRIVATE KEY" in label]
    found: set[Literal["leaf", "authority", "istiod"]] = set()
    for label, der in blocks:
        if label == b"CERTIFICATE" and any(_is_for(public_key_of(der), key) for key in keys):
            found.add("authority" if is_certificate_authority(der) else "istiod" if b"istiod" in der else "leaf")
    return next((kind for kind in ("authority", "istiod", "leaf") if kind in found), "")


def _is_for(public: bytes, key: bytes) -> bool:
    """True for a private key and its public key. RSA and EC private keys repeat theirs; for an Ed25519 key the form
    decides."""
    if len(public) == ED25519_BYTES:
        return public in key or [len(number) for number in private_numbers(key)] == [ED25519_BYTES]
    return bool(public) and (public in key or public[-RSA_TAIL - 5 : -5] in key)


def _blocks(leaf: Leaf) -> Iterator[tuple[bytes, bytes]]:
    for label, block in _PEM.findall(held(leaf)) if leaf.path[:1] in IN_SECRET else ():
        with contextlib.suppress(ValueError):
            yield label, base64.b64decode(block)
