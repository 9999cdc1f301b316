"""The oracle judges the pack: the same programs, what leaks by experiment and what is refused by rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from hosted_mesh_policies.prove.experiment import Experiment
from hosted_mesh_policies.prove.monitor import Surroundings
from hosted_mesh_policies.prove.vault import Vault, World
from hosted_mesh_policies.prove.verdict import Kind, verdict
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus import simulated_engine
from tests.corpus.case import FLOW, SHAPE, UNPROVEN, VALUE
from tests.unit.policies.prove.in_process import KNOWN, Outputs, captured
from tests.unit.policies.prove.programs import Batch, Flow

SECRETS: Final = frozenset({FLOW, VALUE, UNPROVEN})
"""The rules that say that a control-plane secret arrives. Shape says only that a credential does, whoever's."""
_PREFIX: Final = re.compile(r"\bp(\d+)-")
_RULES: Final = tuple(rule for rule in RULES if rule.name in SECRETS | {SHAPE})


def _program(text: str) -> int | None:
    found = _PREFIX.search(text)
    return int(found.group(1)) if found else None


class SideBySide(Experiment):
    """An experiment on programs that share nothing: one run tries one secret of every program."""

    def _attribute(self, variant: int, spots: Any) -> None:
        mine: dict[int, list[str]] = {}
        for one in sorted(self.vault.sources):
            if (program := _program(one)) is not None:
                mine.setdefault(program, []).append(one)
        for turn in range(max(map(len, mine.values()), default=0)):
            fresh = {ids[turn]: program for program, ids in mine.items() if turn < len(ids)}
            changed = self._changed(fresh, variant)
            for one, program in fresh.items():
                self._alone.setdefault(one, set()).update(s for s in changed if _program(s.urn) == program)
        for spot in spots:
            ids = {one for one in mine.get(_program(spot.urn) or 0, ()) if spot in self._alone[one]}
            self.depends[spot] = self.depends.get(spot, set()) | ids


def leaking(flows: Sequence[Flow], seed: int) -> set[int]:
    """Which of some programs leak, by experiment."""
    vault = Vault(seed=seed)
    surroundings = Surroundings("corpus", "corpus", KNOWN, Outputs())
    batch = Batch(flows)

    def run_all(worlds: Sequence[World]) -> list[Any]:
        return [captured(batch.build, world, vault, surroundings) for world in worlds]

    found = verdict(SideBySide(run_all, vault, rounds=1), KNOWN)
    unproven = [*found.problems, *found.unsure, *found.of(Kind.UNDECIDED)]
    assert unproven == []
    return {program for one in found.of(Kind.LEAK) if (program := _program(one.resource)) is not None}


def refused(flows: Sequence[Flow]) -> dict[int, set[str]]:
    """Which of some programs the pack refuses, in a preview or in the update after it, and by which rules."""
    found: dict[int, set[str]] = {}
    left = dict(enumerate(flows))
    while left:
        places = sorted(left)
        batch, state = Batch([left[place] for place in places]), dict[str, Any]()
        _, said, evidence, _ = simulated_engine.run(batch.build, preview=True, state=state, rules=_RULES)
        if not said:
            before, after, *_ = simulated_engine.run(
                batch.build, preview=False, state=state, rules=_RULES, evidence=evidence
            )
            said = [*before, *after]
        if not said:
            break
        for finding in said:
            program = _program(finding.urn)
            assert program is not None, f"{finding.rule} speaks about none of the programs"
            found.setdefault(places[program], set()).add(finding.rule)
        left = {place: flow for place, flow in left.items() if place not in found}
    return found


class Disagreement(NamedTuple):
    """kind: the program's class. said: in a line, with the program."""

    kind: str
    said: str


@dataclass
class Tally:
    """How often both agree, by class of program."""

    agreed: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    false_alarms: Counter[str] = field(default_factory=Counter)

    def judge(self, flows: Sequence[Flow], seed: int) -> list[Disagreement]:
        """Counts, and says each disagreement."""
        leaks, said = leaking(flows, seed), refused(flows)
        lines = []
        for place, flow in enumerate(flows):
            rules = said.get(place, set())
            if place in leaks and not rules:
                self.missed[flow.kind] += 1
                lines.append(Disagreement(flow.kind, f"missed: {flow}"))
            elif place not in leaks and rules & SECRETS:
                self.false_alarms[flow.kind] += 1
                said_by = ", ".join(sorted(rules & SECRETS))
                lines.append(Disagreement(flow.kind, f"false alarm of {said_by}: {flow}"))
            else:
                self.agreed[flow.kind] += 1
        return lines

    def total(self) -> int:
        return sum(map(Counter.total, (self.agreed, self.missed, self.false_alarms)))

    def __str__(self) -> str:
        missed, alarms = self.missed.total(), self.false_alarms.total()
        head = f"{self.total()} programs: {self.agreed.total()} agreed, {missed} missed, {alarms} false alarms"
        return "\n".join([head, *_lines("missed", self.missed), *_lines("false alarm", self.false_alarms)])


def _lines(what: str, counted: Counter[str]) -> Iterable[str]:
    return [f"  {what} {number:6d}  {kind}" for kind, number in counted.most_common()]
