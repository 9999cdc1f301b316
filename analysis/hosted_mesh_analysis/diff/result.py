"""The changes, as plain data without secrets."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from hosted_mesh_plan.topology_svg import Link, TopologyPart

from ..runner.charts import RemoteChart
from .trees import Why

SIDES: Final = ("control plane", "data plane", "unknown", "other", "nowhere")
"""Owners of places. "other" is no cluster; keys and passwords go nowhere."""


class Step(StrEnum):
    """An update's action on a resource."""

    MADE = "made"
    CHANGED = "changed"
    REPLACED = "replaced"
    REMOVED = "removed"


class StackChange(StrEnum):
    """The state of a stack. NEW and REMOVED: its file is in one version only."""

    CHANGED = "changed"
    NEW = "new"
    REMOVED = "removed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"


class EffectKind(StrEnum):
    """The kind of an effect, in the order of reports."""

    OPENS = "opens"
    CLOSES = "closes"
    REPLACES = "replaces"
    RESTARTS = "restarts"
    TOUCHES = "touches"
    READ = "is read"
    LIVE = "live"


@dataclass(frozen=True)
class Effect:
    """The meaning of a change, in a sentence."""

    kind: EffectKind
    text: str


@dataclass(frozen=True, order=True)
class Cause:
    """A line of the new version that causes changes. path: in the repository."""

    path: str
    line: int


@dataclass(frozen=True)
class Verdict:
    """A policy's verdict on a resource that one version has. added: True for the new version."""

    rule: str
    mandatory: bool
    resource: str
    text: str
    added: bool


_BY_WEIGHT: Final = (Step.REPLACED, Step.REMOVED, Step.CHANGED, Step.MADE)


@dataclass(frozen=True)
class Value:
    """One value. hidden: the reason for hiding it; file: the path of a file that the engine reads; else `value` is
    it."""

    value: Any = None
    hidden: Why | None = None
    file: str | None = None


@dataclass(frozen=True)
class Property:
    """One property. old, new: None in a version without it."""

    path: str
    old: Value | None = None
    new: Value | None = None


@dataclass(frozen=True, order=True)
class Cluster:
    """A resource's place. side: one of `SIDES`."""

    side: str
    name: str = ""


@dataclass(frozen=True)
class Change:
    """One resource. type: Pulumi's token. name: None if hidden; count: the number of such resources of one type.
    forced_by: properties with a change that replaces it. moved_from: the former place of a moved resource. chart: the
    chart that has it; empty for none."""

    step: Step
    type: str
    name: str | None
    cluster: Cluster
    properties: tuple[Property, ...] = ()
    forced_by: tuple[str, ...] = ()
    count: int = 1
    moved_from: Cluster | None = None
    chart: str = ""


@dataclass
class Stack:
    """One stack. configuration: changes that no resource shows. problems: the reasons that it is undecided.

    effects: the meaning of the changes. verdicts: of the policies, those of one version alone; kept: the number of
    those of both. parts, links: all objects of both versions, with marks, and the arrows between them. causes:
    the lines that cause the changes.
    """

    name: str
    state: StackChange
    changes: list[Change] = field(default_factory=list)
    outputs: list[Property] = field(default_factory=list)
    configuration: list[Property] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    kept: int = 0
    parts: list[TopologyPart] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)

    def by_cluster(self) -> dict[Cluster, list[Change]]:
        """The changes by cluster, control planes first. A move is in two clusters. Heaviest first: moved, replaced,
        removed, changed, made."""
        found: dict[Cluster, list[Change]] = {}
        for one in sorted(self.changes, key=lambda one: (one.moved_from is None, _BY_WEIGHT.index(one.step))):
            for cluster in dict.fromkeys([one.cluster, one.moved_from or one.cluster]):
                found.setdefault(cluster, []).append(one)
        return dict(sorted(found.items(), key=lambda pair: (SIDES.index(pair[0].side), pair[0].name)))

    @property
    def moved(self) -> int:
        """Number of resources that move to another cluster."""
        return sum(one.count for one in self.changes if one.moved_from is not None)


@dataclass
class Difference:
    """base: the other version. notes: for all stacks. charts_wanted: charts of repositories that were not there."""

    base: str
    stacks: list[Stack] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    charts_wanted: list[RemoteChart] = field(default_factory=list)

    def of(self, *states: StackChange) -> list[Stack]:
        return [one for one in self.stacks if one.state in states]

    @property
    def shown(self) -> list[Stack]:
        """All stacks but the unchanged ones."""
        return [one for one in self.stacks if one.state is not StackChange.UNCHANGED]

    @property
    def moved(self) -> int:
        """Number of resources that move to another cluster."""
        return sum(one.moved for one in self.shown)

    def exit_code(self, tells_differences: bool) -> int:
        """2: a stack is undecided. 1: a stack differs, if tells_differences. 0: otherwise."""
        if self.of(StackChange.UNDECIDED):
            return 2
        return int(tells_differences and bool(self.shown))
