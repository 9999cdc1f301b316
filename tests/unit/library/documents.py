"""Mesh documents for tests."""

from __future__ import annotations

import copy
import re
from typing import Any

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBIjCByKADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHRlc3QwIBcN
MjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHRlc3Qw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR5nVQVwy6viA/m7nU753j23yTtiQUo
Irg4xt3h5dXwxSC9WPmKsJIIuWmsjiKt7CW66uq7TNwpCrgfJZ51Wi2hoxMwETAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDQYrY1dot4Mnfhc93t
4TuFI+BYxhcvcuz3Acl9ey3vkAIhAIO0sOqM32ukN/yD3EIc92AWJdNx9QGJlQW/
H3OR2yvE
-----END CERTIFICATE-----
"""
"""Of an authority of its own, whose key was thrown away."""
SMALLEST: dict[str, Any] = {
    "name": "demo",
    "revisions": [{"host": "istiod.demo.example.com", "exposure": {"sourceRanges": ["203.0.113.0/24"]}}],
    "memberships": [{"access": {"apiServer": "https://api.user.example.com:6443"}}],
}


def document(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The smallest document with values set, or removed where None is given: `{"memberships.0.network": "east"}`.

    In a list the next position adds one.
    """
    result = copy.deepcopy(SMALLEST)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        part: Any = result
        for step in parents:
            part = part[int(step)] if isinstance(part, list) else part.setdefault(step, {})
        if value is None:
            part.pop(last)
        elif isinstance(part, list):
            part[int(last) :] = [value, *part[int(last) + 1 :]]
        else:
            part[last] = value
    return result


LOCAL: dict[str, Any] = {
    "split": False,
    "revisions.0.host": None,
    "revisions.0.exposure": None,
    "memberships.0.access": None,
}
"""The changes that make the smallest document one of a single cluster."""


def as_field(path: str) -> str:
    """`memberships.0.network` as errors write it, `memberships[0].network`."""
    return re.sub(r"\.(\d+)", r"[\1]", path)
