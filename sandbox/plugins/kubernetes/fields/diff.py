"""What changes between an object's old inputs, as the API server keeps them, and its new inputs. Pure.

The official plug-in makes a JSON merge patch and reads the changes out of it; this walks the two objects and comes to
the same changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, Literal, NamedTuple

from sandbox.plugins.kubernetes.fields.replacement import Pattern, replaces
from sandbox.plugins.protocol.values import UNKNOWN

Path = tuple[str | int, ...]
_MISSING: Final = object()


Kind = Literal["ADD", "DELETE", "UPDATE"]


class Change(NamedTuple):
    """One property's change. replaces: whether it needs a new object."""

    kind: Kind
    replaces: bool


def changes(old: Mapping[str, Any], new: Mapping[str, Any], rules: Sequence[Pattern]) -> dict[Path, Change]:
    """The changes by path. old: the live object pruned to the old inputs. new: the new inputs, may hold UNKNOWN."""
    found: dict[Path, Change] = {}
    _maps((), old, new, rules, found)
    return found


def _maps(
    path: Path, old: Mapping[str, Any], new: Mapping[str, Any], rules: Sequence[Pattern], found: dict[Path, Change]
) -> None:
    for key in {**old, **new}:
        _value((*path, key), old.get(key, _MISSING), new.get(key, _MISSING), rules, found)


def _value(path: Path, old: Any, new: Any, rules: Sequence[Pattern], found: dict[Path, Change]) -> None:
    if new is UNKNOWN:
        kind: Kind = "ADD" if old is _MISSING else "UPDATE"
    elif new is _MISSING or (new is None and old is not _MISSING):
        if old is None:
            return
        kind = "DELETE"
    elif old is _MISSING:
        if new is None:
            return
        kind = "ADD"
    elif isinstance(old, dict) and isinstance(new, dict):
        _maps(path, old, new, rules, found)
        return
    elif isinstance(old, list) and isinstance(new, list):
        _lists(path, old, new, rules, found)
        return
    elif _equal(old, new):
        return
    else:
        kind = "UPDATE"
    value = None if new is _MISSING or new is UNKNOWN else new
    found[path] = Change(kind, replaces(path, value, rules))


def _lists(path: Path, old: list[Any], new: list[Any], rules: Sequence[Pattern], found: dict[Path, Change]) -> None:
    for index in range(max(len(old), len(new))):
        before = old[index] if index < len(old) else _MISSING
        after = new[index] if index < len(new) else _MISSING
        _value((*path, index), before, after, rules, found)


def _equal(old: Any, new: Any) -> bool:
    # In Python True == 1; to Kubernetes they are different things.
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def prune(source: Mapping[str, Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `source` that `shape` has too, all the way down; where the types differ, all of `source`'s."""
    return {key: _pruned(value, shape[key]) for key, value in source.items() if key in shape}


def _pruned(source: Any, shape: Any) -> Any:
    if isinstance(source, dict) and isinstance(shape, dict):
        return prune(source, shape)
    if isinstance(source, list) and isinstance(shape, list):
        return _pruned_list(source, shape)
    return deepcopy(source)


def _pruned_list(source: list[Any], shape: list[Any]) -> list[Any]:
    if not source or not shape:
        return []
    if type(source[0]) is not type(shape[0]):
        return deepcopy(source)
    # Elements beyond those of the inputs were added by somebody else; that shows in no diff.
    return [_pruned(value, wanted) for value, wanted in zip(source, shape, strict=False)]
