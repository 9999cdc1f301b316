"""What has changed, as plain data without anything secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from .trees import Why

SIDES: Final = ("control plane", "data plane", "unknown", "other", "nowhere")
"""Whose a place is. What is no cluster is "other"; keys and passwords go nowhere."""


class Step(StrEnum):
    """What an update would do with a resource."""

    MADE = "made"
    CHANGED = "changed"
    REPLACED = "replaced"
    REMOVED = "removed"


class State(StrEnum):
    """What is known of a stack. NEW and REMOVED: its file is in one version only."""

    CHANGED = "changed"
    NEW = "new"
    REMOVED = "removed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"


_BY_WEIGHT: Final = (Step.REPLACED, Step.REMOVED, Step.CHANGED, Step.MADE)


@dataclass(frozen=True)
class Value:
    """One value. hidden: why it is not shown; file: the path of a file that the engine reads; else `value` is it."""

    value: Any = None
    hidden: Why | None = None
    file: str | None = None


@dataclass(frozen=True)
class Property:
    """One property. old, new: None where a version has none."""

    path: str
    old: Value | None = None
    new: Value | None = None


@dataclass(frozen=True, order=True)
class Cluster:
    """Where a resource goes. side: one of `SIDES`; "other" is what is no cluster."""

    side: str
    name: str = ""


@dataclass(frozen=True)
class Change:
    """One resource. type: Pulumi's token. name: None for one whose name is hidden; count: how many such of one type.
    forced_by: properties whose change replaces it. moved_from: where it was, of one that goes elsewhere now."""

    step: Step
    type: str
    name: str | None
    cluster: Cluster
    properties: tuple[Property, ...] = ()
    forced_by: tuple[str, ...] = ()
    count: int = 1
    moved_from: Cluster | None = None


@dataclass
class Stack:
    """One stack. configuration: what has changed of it and no resource shows. problems: why it is undecided."""

    name: str
    state: State
    changes: list[Change] = field(default_factory=list)
    outputs: list[Property] = field(default_factory=list)
    configuration: list[Property] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def by_cluster(self) -> dict[Cluster, list[Change]]:
        """What changes, by where, control planes first. What moves is in two of them. What weighs most is first: moved,
        replaced, removed, changed, made."""
        found: dict[Cluster, list[Change]] = {}
        for one in sorted(self.changes, key=lambda one: (one.moved_from is None, _BY_WEIGHT.index(one.step))):
            for cluster in dict.fromkeys([one.cluster, one.moved_from or one.cluster]):
                found.setdefault(cluster, []).append(one)
        return dict(sorted(found.items(), key=lambda pair: (SIDES.index(pair[0].side), pair[0].name)))

    @property
    def moved(self) -> int:
        """How many resources go to another cluster."""
        return sum(one.count for one in self.changes if one.moved_from is not None)


@dataclass
class Difference:
    """base: what the working tree was compared with. notes: what holds for all stacks."""

    base: str
    stacks: list[Stack] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, *states: State) -> list[Stack]:
        return [one for one in self.stacks if one.state in states]

    @property
    def shown(self) -> list[Stack]:
        """All stacks but those of which nothing is to be said."""
        return [one for one in self.stacks if one.state is not State.UNCHANGED]

    @property
    def moved(self) -> int:
        """How many resources go to another cluster."""
        return sum(one.moved for one in self.shown)

    def exit_code(self, tells_differences: bool) -> int:
        """2: something is undecided. 1: something differs, where that is to be told. 0: otherwise."""
        if self.of(State.UNDECIDED):
            return 2
        return int(tells_differences and bool(self.shown))
