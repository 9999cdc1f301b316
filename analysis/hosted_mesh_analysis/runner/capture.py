"""The resources of one run of a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple

from hosted_mesh_plan.carriers import carried
from hosted_mesh_plan.decode import from_plain
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.owners import BUILDERS
from hosted_mesh_plan.tree import Path

from .places import Place, Places, Side, default_name
from .values import UNKNOWN, Leaf, leaves

KEPT: Final = "(kept)"
"""The end of a remark on a part that may stay the same in all runs."""


def is_kept(name: str, remarks: Iterable[str]) -> bool:
    """True if a remark names this part as kept."""
    return any(name in text for text in remarks if text.endswith(KEPT))


@dataclass(frozen=True)
class Registered:
    """A resource as the program registered it.

    place: the destination of its inputs; None for none. sources: URNs that its inputs come from, for runs with unknown
    values. options: for the engine, by the protocol's names. aliases: its other URNs. chart: the name of the chart that
    has it; empty for none. provider: the URN of its provider; empty for the default one. dependencies: by property, the
    URNs of its value's sources.
    """

    urn: str
    type: str
    name: str
    inputs: dict[str, Any]
    place: Place | None
    sources: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    chart: str = ""
    provider: str = ""
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def asked(self) -> Resource:
        """The same in the policies' form."""
        return Resource(self.urn, self.type, self.name, from_plain(self.inputs), dependencies={"": self.sources})

    def leaves(self) -> dict[Path, Leaf]:
        """The values for its place. The login for pushing an image goes to none."""
        inputs, login = self.inputs, BUILDERS.get(self.type)
        if login and self.place == Place(Side.UNKNOWN, default_name(self.type.split(":")[0])):
            inputs = {key: value for key, value in inputs.items() if key != login}
        return dict(leaves(inputs))


class PropertyRef(NamedTuple):
    """One leaf of one resource. An empty path means the resource's existence."""

    urn: str
    path: Path


@dataclass
class Capture:
    """Everything from one run.

    providers: by URN; they lead to a place and are no resources of it. outputs: the stack's. problems: the reasons that
    it ended, so that it proves nothing. unsure: parts that could not run as in an update. answers: the outputs of
    resources, by URN. trace: the files that it read (`program.traced`); None if it did not end. chart_places: the
    rendered charts. made_up: True if it got a made-up secret.
    """

    resources: dict[str, Registered] = field(default_factory=dict)
    providers: dict[str, Registered] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    places: Places = field(default_factory=Places)
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    trace: Mapping[str, Any] | None = None
    chart_places: set[FilePath] = field(default_factory=set)
    made_up: bool = False

    def tell(self, text: str, names: Set[str], keep: Collection[str]) -> None:
        """Records, once, a part that could not run as in an update; as a remark if one of its names is kept."""
        told, text = (self.remarks, f"{text} {KEPT}") if names & {*keep} else (self.unsure, text)
        if text not in told:
            told.append(text)

    @cached_property
    def _carried(self) -> Mapping[str, Place]:
        """Destinations of the control plane's objects that operators carry, by URN. Complete after the run."""
        clusters: dict[str, list[Resource]] = {}
        for one in self.resources.values():
            if one.place and self.places.side(one.place) is Side.CONTROL_PLANE:
                clusters.setdefault(one.place.name, []).append(one.asked)
        away = [carried(here, self._elsewhere) for here in clusters.values()]
        return {urn: self.places.called(name) for found in away for urn, name in found.items()}

    def _elsewhere(self, name: str) -> str:
        return "" if self.places.called(name).side is Side.CONTROL_PLANE else name

    @property
    def sides(self) -> dict[str, Side]:
        """The owner of each place, by its name."""
        return {**self.places.sides, **{place.name: place.side for place in self._carried.values()}}

    def place(self, urn: str) -> Place | None:
        """The place of a resource's inputs; None for none."""
        return self._carried.get(urn) or (self.resources[urn].place if urn in self.resources else None)

    def side(self, urn: str) -> Side | None:
        """The owner of a resource's place; None without a place."""
        place = self.place(urn)
        return self.places.side(place) if place else None

    def unknown(self) -> set[PropertyRef]:
        """The properties that a preview does not compute."""
        return {
            PropertyRef(urn, path)
            for urn, one in self.resources.items()
            for path, leaf in one.leaves().items()
            if leaf.value == UNKNOWN
        }

    def count(self) -> int:
        """The number of values for data planes."""
        return sum(
            len(one.leaves())
            for one in self.resources.values()
            if self.side(one.urn) in {Side.DATA_PLANE, Side.UNKNOWN}
        )
