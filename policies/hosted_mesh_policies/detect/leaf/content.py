"""A leaf's bytes: its own text, and the decoded content of a Secret's `data`."""

from __future__ import annotations

import base64
from typing import Any

from hosted_mesh_plan.tree import Leaf


def as_bytes(value: Any) -> bytes:
    """A leaf's own text. Empty for booleans, small numbers and nothing."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**7:
        return str(value).encode()
    return b""


def from_base64(data: bytes) -> bytes:
    """A Secret's `data` decoded; unchanged if it is not base64."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return data


def held(leaf: Leaf) -> bytes:
    """A Secret's value as its readers get it: `data` is in base64."""
    data = as_bytes(leaf.value)
    return from_base64(data) if leaf.path[:1] == ("data",) else data
