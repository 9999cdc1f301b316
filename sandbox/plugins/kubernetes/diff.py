"""What changes between an object's old inputs, as the API server keeps them, and its new inputs. Pure.

The official plug-in makes a JSON merge patch and reads the changes out of it; this walks the two objects and comes to
the same changes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sandbox.plugins.kubernetes.replacement import Pattern, replaces
from sandbox.plugins.protocol.values import UNKNOWN

Path = tuple[str | int, ...]
_MISSING: Final = object()


class Kind(enum.Enum):
    """What happens to a property."""

    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True)
class Change:
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
        kind = Kind.ADD if old is _MISSING else Kind.UPDATE
    elif new is _MISSING or (new is None and old is not _MISSING):
        if old is None:
            return
        kind = Kind.DELETE
    elif old is _MISSING:
        if new is None:
            return
        kind = Kind.ADD
    elif isinstance(old, dict) and isinstance(new, dict):
        _maps(path, old, new, rules, found)
        return
    elif isinstance(old, list) and isinstance(new, list):
        _lists(path, old, new, rules, found)
        return
    elif _equal(old, new):
        return
    else:
        kind = Kind.UPDATE
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
