"""Runs a program with different secrets, and finds the secrets that each property of a data plane depends on.

1. Twice with the same secrets: a difference is noise, or undecided.
2. With fresh secrets, several times: a difference depends on a secret.
3. With fresh secrets but the same public halves: a vanished difference depends on public keys and certificates alone.
4. With some of the secrets fresh, by halves: the smallest set that each property depends on, and the secrets' owners.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hosted_mesh_plan.model import Resource

from ..runner.capture import Capture, PropertyRef
from ..runner.places import Side
from ..runner.secrets.generator import FIRST, SecretGenerator, SecretVariant
from .compare import Noise, difference, value_at
from .public_facts import PublicFacts

Run = Callable[[SecretVariant], Capture]
RunAll = Callable[[Sequence[SecretVariant]], list[Capture]]


@dataclass
class Experiment:
    """One program. run_all: runs it in each of some variants. rounds: the number of sets of fresh secrets."""

    run_all: RunAll
    generator: SecretGenerator
    rounds: int = 3
    users: Sequence[str] = ()
    runs: int = 0
    first: Capture = field(default_factory=Capture)
    again: Capture = field(default_factory=Capture)
    public: set[PropertyRef] = field(default_factory=set)
    undecided: set[PropertyRef] = field(default_factory=set)
    unknown: set[PropertyRef] = field(default_factory=set)
    depends: dict[PropertyRef, set[str]] = field(default_factory=dict)
    unsure: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _alone: dict[str, set[PropertyRef]] = field(default_factory=dict)
    _since: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    _captures: dict[str, Capture] = field(default_factory=dict)
    _facts: PublicFacts | None = None

    def perform(self) -> Experiment:
        """Fills `public`, `undecided` and `depends`, or `problems` if the program does not run.

        `unknown` is the part of `undecided` that a preview does not compute.
        """
        self.first, self.again = self._run([FIRST, FIRST])
        if self.first.problems or self.again.problems:
            self.problems = self.first.problems or self.again.problems
            return self
        self.unsure += self.first.unsure
        worlds = [SecretVariant(variant) for variant in range(1, self.rounds + 1)]
        others = self._run(worlds)
        self._noise = Noise(self._since, datetime.datetime.now(datetime.UTC))
        noisy = difference(self.first, self.again)
        self.undecided = {spot for spot in noisy if self.is_on_data_plane(spot) and not self._decided(spot)}
        self.unknown = set(filter(self.is_on_data_plane, self.first.unknown() | self.again.unknown()))
        self.undecided |= self.unknown
        kept: dict[int, set[PropertyRef]] = {}
        for world, other in zip(worlds, others, strict=True):
            if other.problems:
                self.unsure.append("with other secrets the program ends differently: " + "; ".join(other.problems))
            else:
                kept[world.variant] = self._differing(other)
        suspects = {variant: spots for variant, spots in kept.items() if any(map(self.is_on_data_plane, spots))}
        if suspects:
            self._tell_private_from_public(suspects)
        return self

    def _tell_private_from_public(self, suspects: Mapping[int, set[PropertyRef]]) -> None:
        worlds = [SecretVariant(variant, held=True) for variant in suspects]
        private: dict[int, set[PropertyRef]] = {}
        for world, held in zip(worlds, self._run(worlds), strict=True):
            spots = {spot for spot in suspects[world.variant] if self.is_on_data_plane(spot)}
            if held.problems:
                self.unsure.append("it checks keys against certificates, so these were judged by structure alone")
            else:
                spots &= self._differing(held)
            private[world.variant] = {spot for spot in spots if not self._same_facts(spot, held)}
        everything = set().union(*private.values()) if private else set()
        on_data_plane = {spot for spots in suspects.values() for spot in spots if self.is_on_data_plane(spot)}
        self.public = on_data_plane - everything
        done: set[PropertyRef] = set()
        for variant, spots in private.items():
            self._attribute(variant, spots - done)
            done |= spots

    def _same_facts(self, spot: PropertyRef, other: Capture) -> bool:
        here, there = value_at(self.first, spot), value_at(other, spot)
        return isinstance(here, str) and isinstance(there, str) and self._canonical(here) == self._canonical(there)

    def _canonical(self, value: Any) -> Any:
        """A value with public facts replaced by names. Their keys appear in the run that used them."""
        if self._facts is None or self._facts.size != self.generator.size:
            self._facts = PublicFacts(self.generator)
        return self._facts.canonical(value)

    def _attribute(self, variant: int, spots: set[PropertyRef]) -> None:
        """By halves: a half without effect takes one run."""
        if not spots:
            return
        everything = sorted(self.generator.sources)
        for spot in spots:
            self.depends.setdefault(spot, set())
        self._split(everything, spots, variant, known=True)
        for spot in spots:
            if not self.depends[spot]:
                self.depends[spot] = self._together(everything, spot, variant)

    def _split(self, ids: Sequence[str], spots: set[PropertyRef], variant: int, *, known: bool = False) -> None:
        seen = spots
        if not known or len(ids) == 1:
            changed = self._changed(ids, variant)
            seen = spots & changed
            if len(ids) == 1:
                self._alone[ids[0]] = self._alone.get(ids[0], set()) | changed
        if not seen:
            return
        if len(ids) == 1:
            for spot in seen:
                self.depends[spot].add(ids[0])
            return
        middle = len(ids) // 2
        self._split(ids[:middle], seen, variant)
        self._split(ids[middle:], seen, variant)

    def _together(self, ids: Sequence[str], spot: PropertyRef, variant: int) -> set[str]:
        """The smallest set that a property depends on only as a whole: dispensable secrets are left out."""
        needed = list(ids)
        for one in ids:
            without = [other for other in needed if other != one]
            if without and spot in self._changed(without, variant):
                needed = without
        return set(needed)

    def _changed(self, ids: Iterable[str], variant: int) -> set[PropertyRef]:
        [found] = self._run([SecretVariant(variant, frozenset(ids), held=True)])
        if found.problems:
            self.unsure.append("with some other secrets the program ends differently: " + "; ".join(found.problems))
            return set()
        return self._differing(found)

    def alone(self, source_id: str) -> set[PropertyRef]:
        """The properties, on either side, that change with this secret alone."""
        if source_id not in self._alone:
            self._alone[source_id] = set().union(*(self._changed([source_id], v) for v in range(1, self.rounds + 1)))
        return self._alone[source_id]

    def _run(self, worlds: Sequence[SecretVariant]) -> list[Capture]:
        self.runs += len(worlds)
        found = self.run_all(worlds)
        for one in found:
            for urn in one.resources.keys() - self._captures.keys():
                self._captures[urn] = one
        return found

    def _differing(self, other: Capture) -> set[PropertyRef]:
        """The differences of a run from the first, without noise and undecided ones."""
        return {
            spot for spot in difference(self.first, other) if spot not in self.undecided and self._differs(spot, other)
        }

    def _differs(self, spot: PropertyRef, other: Capture) -> bool:
        first, again = value_at(self.first, spot), value_at(self.again, spot)
        if first == again:
            return True
        values = (first, again, value_at(other, spot))
        return self._noise.differs(*map(self._canonical, values))

    def _decided(self, spot: PropertyRef) -> bool:
        first, again = value_at(self.first, spot), value_at(self.again, spot)
        if first is None or again is None:
            return False
        return self._noise.decides(self._canonical(first), self._canonical(again))

    def side(self, spot: PropertyRef) -> Side | None:
        return self._captures[spot.urn].side(spot.urn)

    def place_name(self, spot: PropertyRef) -> str:
        place = self._captures[spot.urn].place(spot.urn)
        return place.name if place else ""

    def asked(self, spot: PropertyRef) -> Resource | None:
        """The resource of a property in the first run; None if only others have it."""
        found = self.first.resources.get(spot.urn)
        return found.asked if found else None

    def is_on_data_plane(self, spot: PropertyRef) -> bool:
        """True also for a place without a declared owner."""
        return self.side(spot) in {Side.DATA_PLANE, Side.UNKNOWN}
