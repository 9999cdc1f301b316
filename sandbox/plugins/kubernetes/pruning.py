"""Cutting a live object down to the shape of the inputs that made it, so that the two can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any


def prune(source: Mapping[str, Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `source` that `shape` has too, all the way down; where the types differ, all of `source`'s."""
    return {key: _value(value, shape[key]) for key, value in source.items() if key in shape}


def _value(source: Any, shape: Any) -> Any:
    if isinstance(source, dict) and isinstance(shape, dict):
        return prune(source, shape)
    if isinstance(source, list) and isinstance(shape, list):
        return _list(source, shape)
    return deepcopy(source)


def _list(source: list[Any], shape: list[Any]) -> list[Any]:
    if not source or not shape:
        return []
    if type(source[0]) is not type(shape[0]):
        return deepcopy(source)
    # Elements beyond those of the inputs were added by somebody else; that shows in no diff.
    return [_value(value, wanted) for value, wanted in zip(source, shape, strict=False)]
