"""Mesh documents for tests."""

from __future__ import annotations

import copy
from typing import Any

SMALLEST: dict[str, Any] = {
    "name": "demo",
    "controlPlane": {
        "host": "istiod.demo.example.com",
        "exposure": {"sourceRanges": ["203.0.113.0/24"]},
    },
    "dataPlane": {"access": {"apiServer": "https://api.user.example.com:6443"}},
}


def document(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The smallest document with values set, or removed where None is given: `{"dataPlane.network": "east"}`."""
    result = copy.deepcopy(SMALLEST)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        part = result
        for step in parents:
            part = part.setdefault(step, {})
        if value is None:
            part.pop(last)
        else:
            part[last] = value
    return result
