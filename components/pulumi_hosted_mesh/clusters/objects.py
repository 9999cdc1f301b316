"""Checks the form of objects in an API server's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MARKS: Final = ("labels", "annotations")
PARTS: Final = ("spec", "status", "data")


def misshapen(found: Mapping[str, Any]) -> str | None:
    """The first invalid part of an object, such as `metadata.labels`; None for a valid object."""
    metadata = found.get("metadata")
    if not isinstance(metadata, Mapping):
        return "metadata"
    for name, without in (("name", None), ("namespace", "")):
        if not isinstance(metadata.get(name, without), str):
            return f"metadata.{name}"
    for name in MARKS:
        marks = metadata.get(name) or {}
        if not isinstance(marks, Mapping) or not all(isinstance(one, str) for one in marks.values()):
            return f"metadata.{name}"
    return next((part for part in PARTS if not isinstance(found.get(part) or {}, Mapping)), None)
