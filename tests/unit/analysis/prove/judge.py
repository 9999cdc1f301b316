"""The oracle judges the pack: the same programs, what leaks by experiment and what is refused by rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from hosted_mesh_policies.prove.experiment import Experiment
from hosted_mesh_policies.prove.places import Known
from hosted_mesh_policies.prove.program.monitor import Surroundings
from hosted_mesh_policies.prove.secrets.vault import Vault, World
from hosted_mesh_policies.prove.verdict import Kind, verdict
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus.case import FLOW, SHAPE, UNPROVEN, VALUE
from tests.unit.policies.prove.in_process import Outputs
from tests.unit.policies.prove.programs import SERVERS, TIMES, Batch, Program
from tests.unit.policies.prove.quick import PROJECT, captured, judged

SECRETS: Final = frozenset({FLOW, VALUE, UNPROVEN})
"""The rules that say that a control-plane secret arrives. Shape says only that a credential does, whoever's."""
KNOWN: Final = Known((SERVERS["cp"],), (SERVERS["dp"], SERVERS["other"]))
MISSED: Final = "missed"
TOO_LATE: Final = "seen when it was written"
FALSE_ALARM: Final = "false alarm"
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


def leaking(programs: Sequence[Program], seed: int) -> set[int]:
    """Which of some programs leak, by experiment."""
    vault = Vault(seed=seed)
    surroundings = Surroundings(PROJECT, "corpus", KNOWN, Outputs())
    batch = Batch(programs)

    def run_all(worlds: Sequence[World]) -> list[Any]:
        return [captured(batch, world, vault, surroundings) for world in worlds]

    found = verdict(SideBySide(run_all, vault, rounds=1), KNOWN)
    unproven = [*found.problems, *found.unsure, *found.of(Kind.UNDECIDED)]
    assert unproven == [], unproven[:3]
    return {program for one in found.of(Kind.LEAK) if (program := _program(one.resource)) is not None}


def refused(programs: Sequence[Program]) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Which of some programs the pack refuses, and by which rules: in a preview or before a write in the update after
    it; and at the update's end, when all is written."""
    found: dict[int, set[str]] = {}
    late: dict[int, set[str]] = {}
    for when in TIMES:
        places = [place for place, program in enumerate(programs) if program.when == when]
        state: dict[str, Any] = {}
        if when == TIMES[1]:
            judged(_batch(programs, places), (), state, preview=False)
        said, _, evidence, _ = judged(_batch(programs, places), _RULES, state, preview=True)
        _note(found, said)
        left = [place for place in places if place not in found]
        before, after, *_ = judged(_batch(programs, left), _RULES, state, preview=False, evidence=evidence)
        _note(found, before)
        _note(late, after)
    return found, late


def _batch(programs: Sequence[Program], places: Sequence[int]) -> Batch:
    return Batch([programs[place] for place in places], places)


def _note(found: dict[int, set[str]], said: Iterable[Any]) -> None:
    for finding in said:
        program = _program(finding.urn)
        assert program is not None, f"{finding.rule} speaks about none of the programs"
        found.setdefault(program, set()).add(finding.rule)


class Disagreement(NamedTuple):
    """how: a miss or a false alarm. rules: what the pack said."""

    program: Program
    how: str
    rules: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.how}{' of ' * bool(self.rules)}{', '.join(sorted(self.rules))}: {self.program}"


def disagreements(programs: Sequence[Program], seed: int = 0) -> list[Disagreement]:
    """The programs about which the oracle and the pack disagree, each in a stack of its own."""
    found = _compared(programs, seed)
    if len(programs) == 1:
        return found
    return [alone for one in found for alone in _compared([one.program], seed)]


def _compared(programs: Sequence[Program], seed: int) -> list[Disagreement]:
    leaks, (said, late) = leaking(programs, seed), refused(programs)
    found = []
    for place, program in enumerate(programs):
        if place in leaks and place not in said:
            found.append(Disagreement(program, TOO_LATE if place in late else MISSED))
        rules = frozenset(said.get(place, set()) | late.get(place, set()))
        if place not in leaks and rules & SECRETS:
            found.append(Disagreement(program, FALSE_ALARM, rules & SECRETS))
    return found
