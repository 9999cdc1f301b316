"""Trees of values, some of them hidden, and the differences of two."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

from hosted_mesh_plan.tree import Path as Keys

UNNAMED: Final = "\0"
"""The key of resources with different keys in each run."""
ORDER: Final = "(order)"
"""The last step of a path to a list with another order."""


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""A missing value of a version."""


class Why(StrEnum):
    """The reason for hiding a value."""

    SECRET = "secret"  # noqa: S105 no secret
    FORM = "secret by its form"
    EACH_RUN = "another in each run"
    ENCRYPTED = "encrypted"
    MACHINE = "a secret of this machine"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A hidden value. runs: the value in each of the two runs, to be compared, never printed."""

    why: Why
    runs: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """A file or folder that the engine would read. digest: of its content, to be compared, never printed."""

    path: str
    digest: str = field(default="", repr=False)


class Item(str):
    """A step of a path: an element of a list, by its own `name`."""

    __slots__ = ()


def is_same(old: Any, new: Any) -> bool:
    """True if two versions have the same value, run by run. A value that differs in each run is no change."""
    if isinstance(old, Hidden) and isinstance(new, Hidden):
        return old.runs == new.runs or old.why is new.why is Why.EACH_RUN
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def hidden_in(tree: Any, path: Keys = ()) -> Iterator[tuple[Keys, Hidden]]:
    """The hidden values of a tree, with their paths."""
    if isinstance(tree, Hidden):
        yield path, tree
    elif isinstance(tree, dict | list):
        for key, one in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from hidden_in(one, (*path, key))


def relabelled(tree: Any, paths: set[Keys], path: Keys = ()) -> Any:
    """A tree with the hidden values at some paths marked as different in each run."""
    if isinstance(tree, Hidden):
        return Hidden(Why.EACH_RUN, tree.runs) if path in paths else tree
    if isinstance(tree, dict):
        return {key: relabelled(one, paths, (*path, key)) for key, one in tree.items()}
    if isinstance(tree, list):
        return [relabelled(one, paths, (*path, place)) for place, one in enumerate(tree)]
    return tree


def differences(old: Any, new: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any, Any]]:
    """The differences of two trees: the path, and both values, `ABSENT` for a missing one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):  # the protocol has no order of its own
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _in_lists(old, new, path)
    elif _holds_more(old) or _holds_more(new):
        yield from ((at, one, ABSENT) for at, one in _leaves(old, path))
        yield from ((at, ABSENT, one) for at, one in _leaves(new, path))
    elif not is_same(old, new):
        yield path, old, new


def _holds_more(one: Any) -> bool:
    return isinstance(one, dict | list) and bool(one)


def _leaves(one: Any, path: Keys) -> Iterator[tuple[Keys, Any]]:
    if _holds_more(one):
        steps = sorted(one.items()) if isinstance(one, dict) else zip(_steps(one), one, strict=True)
        for step, inner in steps:
            yield from _leaves(inner, (*path, step))
    elif one is not ABSENT:
        yield path, one


def _steps(items: list[Any]) -> list[str | int]:
    """The names of a list's elements: their own names if unique, else their places."""
    names = [one.get("name") if isinstance(one, dict) else None for one in items]
    if all(isinstance(name, str) for name in names) and len(set(map(str, names))) == len(names):
        return [Item(name) for name in names]
    return list(range(len(items)))


def _in_lists(old: list[Any], new: list[Any], path: Keys) -> Iterator[tuple[Keys, Any, Any]]:
    """By names if all elements have one, as containers and variables do; else the list's additional and missing
    elements."""
    here, there = _steps(old), _steps(new)
    if all(isinstance(step, Item) for step in (*here, *there)):
        before, after = dict(zip(here, old, strict=True)), dict(zip(there, new, strict=True))
        for step in dict.fromkeys([*here, *there]):
            yield from differences(before.get(step, ABSENT), after.get(step, ABSENT), (*path, step))
        common = [[step for step in steps if step in before and step in after] for steps in (here, there)]
        if common[0] != common[1]:
            yield (*path, ORDER), ", ".join(map(str, common[0])), ", ".join(map(str, common[1]))
        return
    keys, others = list(map(_key, old)), list(map(_key, new))
    for how, i, j, k, m in difflib.SequenceMatcher(None, keys, others, autojunk=False).get_opcodes():
        if how == "replace" and j - i == m - k:
            for a, b in zip(range(i, j), range(k, m), strict=True):
                yield from differences(old[a], new[b], (*path, b))
        elif how != "equal":
            for place in range(i, j):
                yield from differences(old[place], ABSENT, (*path, place))
            for place in range(k, m):
                yield from differences(ABSENT, new[place], (*path, place))


def _key(one: Any) -> str:
    """The key of an element in the other version's list. Compared, never printed."""
    return json.dumps(one, sort_keys=True, default=lambda other: f"{other!r} {getattr(other, 'runs', '')}")
