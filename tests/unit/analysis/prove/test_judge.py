"""The oracle is the pack's judge: hypothesis makes programs, both give a verdict of each, and a disagreement fails.

HOSTED_MESH_PROGRAMS: how many programs; without it 100 with each change, and 2,000 in a slice of the nightly tests.
HOSTED_MESH_SEED: the first seed; the same each time, except in `make nightly`. That run judges 100,000 programs on all
cores and writes each new disagreement, shrunk, to kept.json.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import pytest
from hosted_mesh_plan.owners import Owners
from hosted_mesh_policies.detect.flow.taint import TaintGraph
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.corpus.case import FLOW, SHAPE, UNPROVEN, VALUE
from tests.support.nightly import all_but
from tests.unit.analysis.prove import cases, judge
from tests.unit.analysis.prove.judge import FALSE_ALARM, MISSED, TOO_LATE, Disagreement, disagreements, leaking
from tests.unit.analysis.prove.programs import Program, programs

AT_ONCE = 60
OF_ONE_SEED = 5000
"""More are of several seeds, side by side, and are told of as each is done."""
FEW, MANY = 100, 2000
GIVEN = int(os.environ.get("HOSTED_MESH_PROGRAMS", "0"))
SEED = int(os.environ.get("HOSTED_MESH_SEED", "1"))
MOST_NEW = 20
"""New disagreements after which a run ends: somebody has to read them."""
KNOWN = cases.known()
KEPT = cases.kept()


def _new(found: list[Disagreement]) -> list[Disagreement]:
    return [one for one in found if not any(known.covers(one) for known in KNOWN)]


class Disagreed(AssertionError):
    """New disagreements; the last that is raised has the smallest program."""

    def __init__(self, found: list[Disagreement]) -> None:
        super().__init__("\n".join(map(str, found)))
        self.found = found


def _judged_by_the_thousand(number: int, start: int) -> tuple[Counter[str], list[Disagreement]]:
    """Judges programs until there are enough. Returns how often they agreed, and each new class's smallest program."""
    counted, new, seen, turn = Counter[str](), list[Disagreement](), set[tuple[str, str]](), 0

    def agree(some: list[Program]) -> None:
        found = disagreements(some, start)
        fresh = [one for one in _new(found) if (one.program.kind, one.how) not in seen]
        counted.update(one.how for one in found)
        counted["programs"] += len(some)
        if fresh:
            raise Disagreed(fresh)

    while counted["programs"] < number and len(new) < MOST_NEW:
        turn += 1
        several = settings(
            max_examples=max(1, (number - counted["programs"]) // AT_ONCE),
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        strategy = st.lists(programs, min_size=1, max_size=2 * AT_ONCE)
        try:
            seed(start + turn)(several(given(strategy)(agree)))()
        except Disagreed as problem:
            new += problem.found
            seen |= {(one.program.kind, one.how) for one in problem.found}
    return counted, new


def _judged_side_by_side(
    number: int, start: int, tell: Callable[[Counter[str]], None]
) -> tuple[Counter[str], list[Disagreement]]:
    """The same by several processes."""
    counted, new = Counter[str](), dict[tuple[str, str], Disagreement]()
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
        shares = [min(OF_ONE_SEED, number - done) for done in range(0, number, OF_ONE_SEED)]
        runs = [pool.submit(_judged_by_the_thousand, share, start + 1000 * at) for at, share in enumerate(shares)]
        for run in as_completed(runs):
            counts, found = run.result()
            counted += counts
            new = {(one.program.kind, one.how): one for one in found} | new
            tell(counted)
            if len(new) >= MOST_NEW:
                pool.shutdown(cancel_futures=True)
                break
    return counted, list(new.values())


@pytest.mark.parametrize("number", [GIVEN] if GIVEN else all_but({FEW}, [FEW, MANY]))
def test_the_pack_says_what_the_oracle_has_seen(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    def tell(counted: Counter[str]) -> None:
        with capsys.disabled():
            print(f"\nseed {SEED}: {dict(counted)}", flush=True)

    if number > OF_ONE_SEED:
        counted, new = _judged_side_by_side(number, SEED, tell)
    else:
        counted, new = _judged_by_the_thousand(number, SEED)
    tell(counted)
    if new and "HOSTED_MESH_SEED" in os.environ:
        cases.keep([one.program for one in new])
    assert [str(one) for one in new] == []


def test_kept_programs_are_judged_alike() -> None:
    assert [str(one) for one in disagreements(KEPT)] == []
    assert 5 <= len(leaking(KEPT, 0)) <= len(KEPT) - 5, "kept programs are of both kinds"


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_a_known_disagreement_still_stands(number: int) -> None:
    """A class that the pack has learned to judge must leave known.json, and so must one that another class covers."""
    known = KNOWN[number]
    [found] = disagreements([known.example])
    assert [other for other in KNOWN if other.covers(found)] == [known]
    assert len(known.reason) > 40


# Can the judge fail? Break what it judges, and see it speak. ---------------------------------------------------


def _hows(programs: list[Program]) -> set[str]:
    return {one.how for one in _new(disagreements(programs))}


@pytest.mark.parametrize("rule", [FLOW, VALUE, UNPROVEN])
def test_without_a_rule_the_pack_misses_a_kept_program(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_RULES", tuple(one for one in judge._RULES if one.name not in {rule, SHAPE}))
    assert _hows(KEPT) & {MISSED, TOO_LATE}


def test_a_pack_that_refuses_everything_raises_false_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "refused", lambda some: ({place: {FLOW} for place in range(len(some))}, {}))
    assert _hows(KEPT) == {FALSE_ALARM}


BROKEN: dict[str, tuple[Any, str, Any, str]] = {
    "no neighbours": (TaintGraph, "neighbours", {}, MISSED),
    "every place is its own": (Owners, "is_given_away", lambda *_: False, MISSED),
    "nobody stays out of what a data plane makes": (Owners, "maker", lambda *_: "the control plane", FALSE_ALARM),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_detector_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, instead, how = BROKEN[name]
    monkeypatch.setattr(where, what, instead)
    assert how in _hows(KEPT)


@pytest.mark.nightly
def test_hypothesis_finds_and_shrinks_what_a_broken_pack_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_RULES", ())
    counted, new = _judged_by_the_thousand(120, 1)
    assert counted[MISSED]
    assert min(len(one.program.steps) for one in new) == 0
