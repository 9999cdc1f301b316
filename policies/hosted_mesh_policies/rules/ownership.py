"""What a resource says about its secrets: declassified, the data plane's own, beside their certificate."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator
from typing import Final, Literal

from .. import vocabulary
from ..detect.keys.der import is_certificate_authority, private_numbers, public_key_of
from ..detect.leaf.content import held
from ..plan.model import IN_SECRET, Resource
from ..plan.tree import Leaf, at, leaves

LEAST_REASON: Final = 8
"""A reason of fewer characters is none."""
_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----([^-]*)-----END \1-----")
ED25519_BYTES: Final = 32
RSA_TAIL: Final = 64
"""An RSA public key ends with its modulus and 5 bytes of exponent; a private key has the modulus."""


def is_annotated(resource: Resource, annotation: str) -> bool:
    """True when an annotation gives a reason."""
    value = at(resource.body, "metadata", "annotations", annotation)
    return isinstance(value, str) and len(value.strip()) >= LEAST_REASON


def declassified(resource: Resource) -> frozenset[str]:
    """Property paths that the resource declassifies: `data.digest: sha256 of the root key; another.path: reason`. An
    entry without a reason does not count."""
    return _with_reasons(resource, vocabulary.DECLASSIFY_ANNOTATION)


def is_accepted(resource: Resource, policy: str) -> bool:
    """True when the resource says why a policy's verdict on it is accepted."""
    return policy in _with_reasons(resource, vocabulary.ACCEPT_ANNOTATION)


def _with_reasons(resource: Resource, annotation: str) -> frozenset[str]:
    value = at(resource.body, "metadata", "annotations", annotation)
    return with_reasons(value) if isinstance(value, str) else frozenset()


def with_reasons(annotation: str) -> frozenset[str]:
    """What has a reason in `what: reason; ...`."""
    entries = [entry.partition(":") for entry in annotation.split(";")]
    return frozenset(
        what.strip() for what, _, reason in entries if what.strip() and len(reason.strip()) >= LEAST_REASON
    )


def holds_certificate_of_its_key(resource: Resource) -> Literal["leaf", "authority", "istiod", ""]:
    """What certificate a Secret keeps for the private key in it. "" when there is none, or it is another key's."""
    blocks = [(label, der) for leaf in leaves(resource.body) for label, der in _blocks(leaf)]
    keys = [der for label, der in blocks if b"PRIVATE KEY" in label]
    found: set[Literal["leaf", "authority", "istiod"]] = set()
    for label, der in blocks:
        if label == b"CERTIFICATE" and any(_is_for(public_key_of(der), key) for key in keys):
            found.add("authority" if is_certificate_authority(der) else "istiod" if b"istiod" in der else "leaf")
    return next((kind for kind in ("authority", "istiod", "leaf") if kind in found), "")


def _is_for(public: bytes, key: bytes) -> bool:
    """True when a private key is that of a public key. RSA and EC keys repeat theirs; an Ed25519 key does not, so there
    the form has to do."""
    if len(public) == ED25519_BYTES:
        return public in key or [len(number) for number in private_numbers(key)] == [ED25519_BYTES]
    return bool(public) and (public in key or public[-RSA_TAIL - 5 : -5] in key)


def _blocks(leaf: Leaf) -> Iterator[tuple[bytes, bytes]]:
    """The PEM blocks of one value of a Secret: label and DER."""
    for label, block in _PEM.findall(held(leaf)) if leaf.path[:1] in IN_SECRET else ():
        with contextlib.suppress(ValueError):
            yield label, base64.b64decode(block)
