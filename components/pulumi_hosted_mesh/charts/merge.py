"""Merging Helm values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


def merged(under: Mapping[str, Any], over: Mapping[str, Any], *, joined: Collection[str] = ()) -> dict[str, Any]:
    """Both, merged recursively; on a conflict `over` wins. Lists are replaced, as in Helm.

    joined: names of top-level lists to join instead, `over` last.
    """
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(below, value)
        elif key in joined and isinstance(below, list) and isinstance(value, list):
            result[key] = [*below, *value]
        else:
            result[key] = value
    return result
