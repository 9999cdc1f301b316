"""What one run of a program registered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from ..plan.carriers import carried
from ..plan.decode import from_plain
from ..plan.model import Resource
from ..plan.owners import BUILDERS
from ..plan.tree import Path
from .places import Place, Places, Side, default_name
from .values import UNKNOWN, Leaf, leaves

KEPT: Final = "(kept)"
"""How a remark ends on what somebody says need not be another in each run."""


def is_kept(name: str, remarks: Iterable[str]) -> bool:
    """Whether a remark says that what is called so was kept."""
    return any(name in text for text in remarks if text.endswith(KEPT))


@dataclass(frozen=True)
class Registered:
    """A resource as the program asked for it.

    place: where its inputs are written; None for what goes nowhere. sources: URNs that its inputs come from, told where
    a run does not know all values. options: what the engine is told of it, by the protocol's names. aliases: its other
    URNs.
    """

    urn: str
    type: str
    name: str
    inputs: dict[str, Any]
    place: Place | None
    sources: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    @property
    def asked(self) -> Resource:
        """The same as the policies have it."""
        return Resource(self.urn, self.type, self.name, from_plain(self.inputs), dependencies={"": self.sources})

    def leaves(self) -> dict[Path, Leaf]:
        """Of what is sent to its place. By what the deployer logs in to push an image is sent to none."""
        inputs, login = self.inputs, BUILDERS.get(self.type)
        if login and self.place == Place(Side.UNKNOWN, default_name(self.type.split(":")[0])):
            inputs = {key: value for key, value in inputs.items() if key != login}
        return dict(leaves(inputs))


class Spot(NamedTuple):
    """One leaf of one resource. An empty path means that the resource is there at all."""

    urn: str
    path: Path


@dataclass
class Capture:
    """Everything from one run.

    providers: by URN; they are no resources of a place, but lead to one. outputs: the stack's. problems: what ended it;
    the run proves nothing. unsure: what could not be run as it would be.
    """

    resources: dict[str, Registered] = field(default_factory=dict)
    providers: dict[str, Registered] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    places: Places = field(default_factory=Places)

    def tell(self, text: str, names: Set[str], keep: Collection[str]) -> None:
        """Takes down, once, what could not be run as it would be; a remark if somebody says of one of its names that it
        does not matter."""
        told, text = (self.remarks, f"{text} {KEPT}") if names & {*keep} else (self.unsure, text)
        if text not in told:
            told.append(text)

    @cached_property
    def _carried(self) -> Mapping[str, Place]:
        """Where operators of the control plane's carry what its clusters have, by URN. Known when the run has ended."""
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
        """Whose each place is, by its name."""
        return {**self.places.sides, **{place.name: place.side for place in self._carried.values()}}

    def place(self, urn: str) -> Place | None:
        """Where a resource's inputs get to; None for what goes nowhere."""
        return self._carried.get(urn) or (self.resources[urn].place if urn in self.resources else None)

    def side(self, urn: str) -> Side | None:
        """Whose a resource's place is; None for what goes nowhere."""
        place = self.place(urn)
        return self.places.side(place) if place else None

    def unknown(self) -> set[Spot]:
        """What a preview does not know."""
        return {
            Spot(urn, path)
            for urn, one in self.resources.items()
            for path, leaf in one.leaves().items()
            if leaf.value == UNKNOWN
        }

    def count(self) -> int:
        """How many values went to data planes."""
        return sum(
            len(one.leaves())
            for one in self.resources.values()
            if self.side(one.urn) in {Side.DATA_PLANE, Side.UNKNOWN}
        )
