"""What a resource says about its secrets: declassified, the user's own, beside their certificate."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final, Literal

from .. import vocabulary
from ..detect.der import is_certificate_authority
from ..detect.places import as_bytes
from ..plan.model import Resource
from ..plan.tree import at, leaves

LEAST_REASON: Final = 8
"""A reason of fewer characters is none."""
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


def is_annotated(resource: Resource, annotation: str) -> bool:
    """True when an annotation gives a reason."""
    value = at(resource.body, "metadata", "annotations", annotation)
    return isinstance(value, str) and len(value.strip()) >= LEAST_REASON


def declassified(resource: Resource) -> tuple[str, ...]:
    """Property paths that the resource declassifies: `data.digest: sha256 of the root key; another.path: reason`. An
    entry without a reason does not count."""
    value = at(resource.body, "metadata", "annotations", vocabulary.DECLASSIFY_ANNOTATION)
    if not isinstance(value, str):
        return ()
    entries = [entry.partition(":") for entry in value.split(";")]
    return tuple(path.strip() for path, _, reason in entries if path.strip() and len(reason.strip()) >= LEAST_REASON)


def covers(declared: str, path: str) -> bool:
    """True when a declared path is a property or holds it: `data` and `data.a` cover `data.a`; `data.a` does not cover
    `data.ab`."""
    return path == declared or path.startswith((f"{declared}.", f"{declared}["))


def holds_certificate_of_its_key(resource: Resource) -> Literal["leaf", "authority", "istiod", ""]:
    """What certificate a Secret keeps beside its key. "" when there is none."""
    found: Literal["leaf", "authority", "istiod", ""] = ""
    for leaf in leaves(resource.body):
        if leaf.path[:1] not in {("data",), ("stringData",)}:
            continue
        data = as_bytes(leaf.value)
        if leaf.path[0] == "data":
            try:
                data = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                continue
        name = str(leaf.path[-1])
        for block in _PEM.findall(data):
            try:
                der = base64.b64decode(block)
            except binascii.Error:
                continue
            if is_certificate_authority(der) and name not in {"ca.crt", "root-cert.pem", "ca.pem"}:
                return "authority"
            if b"istiod" in der and name not in {"ca.crt", "root-cert.pem", "ca.pem"}:
                return "istiod"
            if name not in {"ca.crt", "root-cert.pem", "ca.pem"}:
                found = "leaf"
    return found
