"""Writes a difference as JSON, and reads it from a file of unknown origin."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from hosted_mesh_plan.topology_svg import MARKS, Link, TopologyPart

from ..runner.charts import RemoteChart
from .result import (
    SIDES,
    Cause,
    Change,
    Cluster,
    Difference,
    Effect,
    EffectKind,
    Property,
    Stack,
    StackChange,
    Step,
    Value,
    Verdict,
)
from .trees import Why

VERSION: Final = 1
LONGEST: Final = 16 * 1024 * 1024
"""Most bytes of a file."""
_PATH: Final = re.compile(r"[\w.@+ ,=()-][\w./@+ ,=()-]{0,400}")
"""A path in a repository, of ordinary characters."""
_COLUMNS: Final = ("keys", "control", "data")
MOST: Final = 1_000_000
"""Most resources with hidden names, of one type, in one cluster."""


class UnreadableError(Exception):
    """A text that `as_json` did not write. The message has the place, never the content."""


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
            "effects": [dataclasses.asdict(effect) for effect in one.effects],
            "verdicts": [dataclasses.asdict(verdict) for verdict in one.verdicts],
            "verdictsOfBoth": one.kept,
            "parts": [list(dataclasses.astuple(part)) for part in one.parts],
            "links": _links(one),
            "causes": [[cause.path, cause.line] for cause in one.causes],
        }
        for one in found.stacks
    ]
    whole: dict[str, Any] = {"version": VERSION, "base": found.base, "notes": found.notes, "stacks": stacks}
    if found.charts_wanted:
        whole["chartsWanted"] = [dataclasses.asdict(one) for one in found.charts_wanted]
    return json.dumps(whole)


def _links(one: Stack) -> list[list[Any]]:
    """By the numbers of their parts."""
    numbers = {part: number for number, part in enumerate(one.parts)}
    return [[numbers[two.source], numbers[two.target], two.label, two.calls, two.mark] for two in one.links]


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
        **({"chart": one.chart} if one.chart else {}),
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
    """Reads the output of `as_json`. Raises: UnreadableError for any other text."""
    try:
        tree = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        tree = None
    if tree is None:
        raise UnreadableError("is not JSON that can be read")
    return from_tree(tree)


def from_tree(tree: Any) -> Difference:
    """The same from parsed JSON."""
    told = _Told(tree, "the file")
    if told.get("version", int) != VERSION:
        raise UnreadableError(f"is of another version than {VERSION}")
    stacks = [
        Stack(
            one.get("name", str),
            one.one_of("state", StackChange),
            [_read_change(change) for change in one.each("changes")],
            [_read_property(output) for output in one.each("outputs")],
            [_read_property(key) for key in one.each("configuration")],
            one.texts("notes"),
            one.texts("problems"),
            [Effect(two.one_of("kind", EffectKind), two.get("text", str)) for two in one.optional("effects")],
            [_read_verdict(two) for two in one.optional("verdicts")],
            one.get("verdictsOfBoth", int) if "verdictsOfBoth" in one.tree else 0,
        )
        for one in told.each("stacks")
    ]
    for stack, one in zip(stacks, told.each("stacks"), strict=True):
        stack.parts = [_read_part(one, part) for part in one.rows("parts", 6)]
        stack.causes = [_read_cause(one, cause) for cause in one.rows("causes", 2)]
        stack.links = [_read_link(one, link, stack.parts) for link in one.rows("links", 5)]
    for place, stack in enumerate(stacks):
        if stack.state is StackChange.UNCHANGED and (
            stack.changes or stack.outputs or stack.configuration or stack.problems
        ):
            raise UnreadableError(
                f"the file.stacks[{place}].state: is {StackChange.UNCHANGED}, and the stack has changes"
            )
    wanted = told.optional("chartsWanted")
    charts = [RemoteChart(*(one.get(key, str) for key in ("repository", "name", "version"))) for one in wanted]
    return Difference(told.get("base", str), stacks, told.texts("notes"), charts)


def _read_part(told: _Told, row: list[Any]) -> TopologyPart:
    if not all(isinstance(text, str) for text in row) or row[0] not in _COLUMNS or row[5] not in ("", *MARKS):
        raise UnreadableError(f"{told.where}.parts: has another form")
    return TopologyPart(*row)


def _read_cause(told: _Told, row: list[Any]) -> Cause:
    path, line = row
    fits = isinstance(path, str) and _PATH.fullmatch(path) and not {"..", ".", ""} & {*path.split("/")}
    if not fits or type(line) is not int or not 1 <= line <= MOST:
        raise UnreadableError(f"{told.where}.causes: has another form")
    return Cause(path, line)


def _read_link(told: _Told, row: list[Any], parts: list[TopologyPart]) -> Link:
    source, target, label, calls, mark = row
    fits = isinstance(label, str) and isinstance(calls, bool) and mark in ("", *MARKS)
    if not fits or not all(type(number) is int and 0 <= number < len(parts) for number in (source, target)):
        raise UnreadableError(f"{told.where}.links: has another form")
    return Link(parts[source], parts[target], label, calls, mark)


def _read_verdict(told: _Told) -> Verdict:
    texts = (told.get(key, str) for key in ("rule", "resource", "text"))
    rule, resource, text = texts
    return Verdict(rule, told.flag("mandatory"), resource, text, told.flag("added"))


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
        told.get("chart", str) if "chart" in told.tree else "",
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
    """An unchecked mapping. where: its place, for messages."""

    tree: Mapping[str, Any]
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.tree, dict):
            raise UnreadableError(f"{self.where}: is no mapping")

    def has(self, key: str) -> bool:
        """True; a missing key ends the reading."""
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

    def optional(self, key: str) -> Iterator[_Told]:
        """The same; nothing for a file of an earlier version, without the key."""
        return self.each(key) if key in self.tree else iter(())

    def rows(self, key: str, length: int) -> Iterator[list[Any]]:
        """Rows of a table; none for a file of an earlier version."""
        found = self.tree.get(key, [])
        if not isinstance(found, list) or not all(isinstance(row, list) and len(row) == length for row in found):
            raise UnreadableError(f"{self.where}.{key}: has another form")
        yield from found

    def flag(self, key: str) -> bool:
        found = self.tree[key] if self.has(key) else None
        if not isinstance(found, bool):
            raise UnreadableError(f"{self.where}.{key}: is no bool")
        return found

    def texts(self, key: str) -> list[str]:
        found = self.get(key, list)
        if not all(isinstance(one, str) for one in found):
            raise UnreadableError(f"{self.where}.{key}: are not all texts")
        return list(found)
