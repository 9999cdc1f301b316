"""Objects as an API server answers with them: the parts that are read of every kind have the form they should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MARKS: Final = ("labels", "annotations")
PARTS: Final = ("spec", "status", "data")


def misshapen(found: Mapping[str, Any]) -> str | None:
    """The first part of an object that Kubernetes would not store so, `metadata.labels`; None if all is well."""
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
