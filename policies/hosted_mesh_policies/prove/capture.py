"""What one run of a program registered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..plan.owners import BUILDERS
from .places import Place, Side, default_name
from .values import UNKNOWN, Leaf, Path, leaves


@dataclass(frozen=True)
class Registered:
    """A resource as the program asked for it. place: where its inputs go; None for what goes nowhere."""

    urn: str
    type: str
    name: str
    inputs: dict[str, Any]
    place: Place | None

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

    problems: what ended it; the run proves nothing. unsure: what could not be run as it would be.
    sides: whose each place is, by its name.
    """

    resources: dict[str, Registered] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    sides: dict[str, Side] = field(default_factory=dict)

    def side(self, urn: str) -> Side | None:
        """Whose a resource's place is; None for what goes nowhere."""
        place = self.resources[urn].place if urn in self.resources else None
        return self.sides.get(place.name, place.side) if place else None

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
