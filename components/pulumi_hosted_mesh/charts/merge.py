"""Merging Helm values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


def merged(under: Mapping[str, Any], over: Mapping[str, Any], *, joined: Collection[str] = ()) -> dict[str, Any]:
    """Both, mapping by mapping; where they disagree, `over` wins. Lists are replaced, as Helm does.

    joined: names of lists at the top that are joined instead, `over` last.
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
