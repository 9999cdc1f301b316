"""A difference as JSON, and read from it: from a file that anybody may have written."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from .result import SIDES, Change, Cluster, Difference, Property, Stack, State, Step, Value
from .trees import Why

VERSION: Final = 1
LONGEST: Final = 16 * 1024 * 1024
"""Bytes of a file that is read."""
MOST: Final = 1_000_000
"""Resources with hidden names, of one type, in one cluster."""


class UnreadableError(Exception):
    """A text that is not what `as_json` writes. The message says where, never what stands there."""


def as_json(found: Difference) -> str:
    """One object: `version`, `base`, `notes`, and `stacks` (docs/pull-requests.md#json)."""
    stacks = [
        {
            "name": one.name,
            "state": one.state,
            "changes": [_change(change) for change in one.changes],
            "outputs": [_property(output) for output in one.outputs],
            "configuration": [_property(key) for key in one.configuration],
            "notes": one.notes,
            "problems": one.problems,
        }
        for one in found.stacks
    ]
    return json.dumps({"version": VERSION, "base": found.base, "notes": found.notes, "stacks": stacks}, indent=2)


def _change(one: Change) -> dict[str, Any]:
    return {
        "step": one.step,
        "type": one.type,
        "name": one.name,
        "count": one.count,
        "cluster": dataclasses.asdict(one.cluster),
        "movedFrom": dataclasses.asdict(one.moved_from) if one.moved_from else None,
        "forcedBy": list(one.forced_by),
        "properties": [_property(two) for two in one.properties],
    }


def _property(one: Property) -> dict[str, Any]:
    return {"path": one.path, "old": _value(one.old), "new": _value(one.new)}


def _value(one: Value | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return (
        {"hidden": one.hidden} if one.hidden else {"file": one.file} if one.file is not None else {"value": one.value}
    )


def from_json(text: str) -> Difference:
    """What `as_json` wrote. Raises: UnreadableError for any other text, whoever wrote it."""
    try:
        tree = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        tree = None
    if tree is None:
        raise UnreadableError("is not JSON that can be read")
    return from_tree(tree)


def from_tree(tree: Any) -> Difference:
    """The same of JSON that has been parsed."""
    told = _Told(tree, "the file")
    if told.get("version", int) != VERSION:
        raise UnreadableError(f"is of another version than {VERSION}")
    stacks = [
        Stack(
            one.get("name", str),
            one.one_of("state", State),
            [_read_change(change) for change in one.each("changes")],
            [_read_property(output) for output in one.each("outputs")],
            [_read_property(key) for key in one.each("configuration")],
            one.texts("notes"),
            one.texts("problems"),
        )
        for one in told.each("stacks")
    ]
    for place, stack in enumerate(stacks):
        if stack.state is State.UNCHANGED and (stack.changes or stack.outputs or stack.configuration or stack.problems):
            raise UnreadableError(f"the file.stacks[{place}].state: is {State.UNCHANGED}, and the stack has changes")
    return Difference(told.get("base", str), stacks, told.texts("notes"))


def _read_change(told: _Told) -> Change:
    count = told.get("count", int)
    if not 1 <= count <= MOST:
        raise UnreadableError(f"{told.where}.count: is not between 1 and {MOST:,}")
    return Change(
        told.one_of("step", Step),
        told.get("type", str),
        told.get("name", str, None),
        _read_cluster(told.inner("cluster")),
        tuple(_read_property(one) for one in told.each("properties")),
        tuple(told.texts("forcedBy")),
        count,
        _read_cluster(told.inner("movedFrom"))
        if told.has("movedFrom") and told.tree["movedFrom"] is not None
        else None,
    )


def _read_cluster(told: _Told) -> Cluster:
    side = told.get("side", str)
    if side not in SIDES:
        raise UnreadableError(f"{told.where}.side: is none of {', '.join(SIDES)}")
    return Cluster(side, told.get("name", str))


def _read_property(told: _Told) -> Property:
    values = [
        _read_value(told.inner(side)) if told.tree[side] is not None else None
        for side in ("old", "new")
        if told.has(side)
    ]
    return Property(told.get("path", str), *values)


def _read_value(told: _Told) -> Value:
    if "hidden" in told.tree:
        return Value(hidden=told.one_of("hidden", Why))
    if "file" in told.tree:
        return Value(file=told.get("file", str))
    value = told.tree["value"] if told.has("value") else None
    if isinstance(value, dict | list) and value:
        raise UnreadableError(f"{told.where}.value: is not one value")
    return Value(value)


@dataclass(frozen=True)
class _Told:
    """A mapping of which nothing is sure yet. where: its place, for messages."""

    tree: Mapping[str, Any]
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.tree, dict):
            raise UnreadableError(f"{self.where}: is no mapping")

    def has(self, key: str) -> bool:
        """True; what is missing ends the reading."""
        if key not in self.tree:
            raise UnreadableError(f"{self.where}.{key}: is missing")
        return True

    def get(self, key: str, kind: type, *also: None) -> Any:
        found = self.tree[key] if self.has(key) else None
        if (found is None and also) or (isinstance(found, kind) and not isinstance(found, bool)):
            return found
        raise UnreadableError(f"{self.where}.{key}: is no {kind.__name__}")

    def one_of(self, key: str, kind: type[StrEnum]) -> Any:
        try:
            return kind(self.get(key, str))
        except ValueError:
            raise UnreadableError(f"{self.where}.{key}: is none of {', '.join(kind)}") from None

    def inner(self, key: str) -> _Told:
        return _Told(self.tree[key] if self.has(key) else {}, f"{self.where}.{key}")

    def each(self, key: str) -> Iterator[_Told]:
        for place, one in enumerate(self.get(key, list)):
            yield _Told(one, f"{self.where}.{key}[{place}]")

    def texts(self, key: str) -> list[str]:
        found = self.get(key, list)
        if not all(isinstance(one, str) for one in found):
            raise UnreadableError(f"{self.where}.{key}: are not all texts")
        return list(found)
