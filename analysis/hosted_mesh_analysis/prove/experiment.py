"""Runs a program with other secrets, and says what of the data planes' depends on which of them.

1. Twice with the same secrets: what differs by itself is noise, or undecided.
2. With fresh secrets, several times over: what differs depends on a secret.
3. With fresh secrets but the same public halves: what no longer differs depends on public keys and certificates alone.
4. With some of the secrets fresh, by halves: the smallest set that each property depends on; and whose each of them is.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..plan.model import Resource
from .capture import Capture, Spot
from .compare import Noise, difference, value_at
from .places import Side
from .public_facts import PublicFacts
from .secrets.vault import FIRST, Vault, World

Run = Callable[[World], Capture]
RunAll = Callable[[Sequence[World]], list[Capture]]


@dataclass
class Experiment:
    """One program. run_all: runs it in each of some worlds. rounds: how many sets of fresh secrets."""

    run_all: RunAll
    vault: Vault
    rounds: int = 3
    users: Sequence[str] = ()
    runs: int = 0
    first: Capture = field(default_factory=Capture)
    again: Capture = field(default_factory=Capture)
    public: set[Spot] = field(default_factory=set)
    undecided: set[Spot] = field(default_factory=set)
    unknown: set[Spot] = field(default_factory=set)
    depends: dict[Spot, set[str]] = field(default_factory=dict)
    unsure: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _alone: dict[str, set[Spot]] = field(default_factory=dict)
    _since: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    _captures: dict[str, Capture] = field(default_factory=dict)
    _facts: PublicFacts | None = None

    def perform(self) -> Experiment:
        """Fills `public`, `undecided` and `depends`, or `problems` if the program does not run.

        Of what is undecided, `unknown` is what a preview does not know.
        """
        self.first, self.again = self._run([FIRST, FIRST])
        if self.first.problems or self.again.problems:
            self.problems = self.first.problems or self.again.problems
            return self
        self.unsure += self.first.unsure
        worlds = [World(variant) for variant in range(1, self.rounds + 1)]
        others = self._run(worlds)
        self._noise = Noise(self._since, datetime.datetime.now(datetime.UTC))
        noisy = difference(self.first, self.again)
        self.undecided = {spot for spot in noisy if self.is_on_data_plane(spot) and not self._decided(spot)}
        self.unknown = set(filter(self.is_on_data_plane, self.first.unknown() | self.again.unknown()))
        self.undecided |= self.unknown
        kept: dict[int, set[Spot]] = {}
        for world, other in zip(worlds, others, strict=True):
            if other.problems:
                self.unsure.append("with other secrets the program ends otherwise: " + "; ".join(other.problems))
            else:
                kept[world.variant] = self._differing(other)
        suspects = {variant: spots for variant, spots in kept.items() if any(map(self.is_on_data_plane, spots))}
        if suspects:
            self._tell_private_from_public(suspects)
        return self

    def _tell_private_from_public(self, suspects: Mapping[int, set[Spot]]) -> None:
        worlds = [World(variant, held=True) for variant in suspects]
        private: dict[int, set[Spot]] = {}
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
        done: set[Spot] = set()
        for variant, spots in private.items():
            self._attribute(variant, spots - done)
            done |= spots

    def _same_facts(self, spot: Spot, other: Capture) -> bool:
        here, there = value_at(self.first, spot), value_at(other, spot)
        return isinstance(here, str) and isinstance(there, str) and self._canonical(here) == self._canonical(there)

    def _canonical(self, value: Any) -> Any:
        """A value in which public facts are told by name. What they are of is known once a run has asked for it."""
        if self._facts is None or self._facts.size != self.vault.size:
            self._facts = PublicFacts(self.vault)
        return self._facts.canonical(value)

    # Which of them ------------------------------------------------------------------------------------------------

    def _attribute(self, variant: int, spots: set[Spot]) -> None:
        """By halves: a half that changes nothing is done with in one run."""
        if not spots:
            return
        everything = sorted(self.vault.sources)
        for spot in spots:
            self.depends.setdefault(spot, set())
        self._split(everything, spots, variant, known=True)
        for spot in spots:
            if not self.depends[spot]:
                self.depends[spot] = self._together(everything, spot, variant)

    def _split(self, ids: Sequence[str], spots: set[Spot], variant: int, *, known: bool = False) -> None:
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

    def _together(self, ids: Sequence[str], spot: Spot, variant: int) -> set[str]:
        """The smallest set that a property depends on only as a whole: what can be left out is left out."""
        needed = list(ids)
        for one in ids:
            without = [other for other in needed if other != one]
            if without and spot in self._changed(without, variant):
                needed = without
        return set(needed)

    def _changed(self, ids: Iterable[str], variant: int) -> set[Spot]:
        [found] = self._run([World(variant, frozenset(ids), held=True)])
        if found.problems:
            self.unsure.append("with some other secrets the program ends otherwise: " + "; ".join(found.problems))
            return set()
        return self._differing(found)

    def alone(self, source_id: str) -> set[Spot]:
        """What changes, on either side, if this secret alone is another."""
        if source_id not in self._alone:
            self._alone[source_id] = set().union(*(self._changed([source_id], v) for v in range(1, self.rounds + 1)))
        return self._alone[source_id]

    # What is compared ---------------------------------------------------------------------------------------------

    def _run(self, worlds: Sequence[World]) -> list[Capture]:
        self.runs += len(worlds)
        found = self.run_all(worlds)
        for one in found:
            for urn in one.resources.keys() - self._captures.keys():
                self._captures[urn] = one
        return found

    def _differing(self, other: Capture) -> set[Spot]:
        """Where a run differs from the first, but for noise and for what nobody can decide."""
        return {
            spot for spot in difference(self.first, other) if spot not in self.undecided and self._differs(spot, other)
        }

    def _differs(self, spot: Spot, other: Capture) -> bool:
        first, again = value_at(self.first, spot), value_at(self.again, spot)
        if first == again:
            return True
        values = (first, again, value_at(other, spot))
        return self._noise.differs(*map(self._canonical, values))

    def _decided(self, spot: Spot) -> bool:
        first, again = value_at(self.first, spot), value_at(self.again, spot)
        if first is None or again is None:
            return False
        return self._noise.decides(self._canonical(first), self._canonical(again))

    def side(self, spot: Spot) -> Side | None:
        return self._captures[spot.urn].side(spot.urn)

    def place_name(self, spot: Spot) -> str:
        place = self._captures[spot.urn].place(spot.urn)
        return place.name if place else ""

    def asked(self, spot: Spot) -> Resource | None:
        """The resource of a spot, as the first run asks for it; None if only others do."""
        found = self.first.resources.get(spot.urn)
        return found.asked if found else None

    def is_on_data_plane(self, spot: Spot) -> bool:
        """True for a place that nobody knows too."""
        return self.side(spot) in {Side.DATA_PLANE, Side.UNKNOWN}
