"""The whole corpus on the real engine, and agreement with the simulated engine in one process.

Programs that are about one object share a stack, fifteen to a preview, each under a component of its own; those that
are about a whole stack, or about two runs, have one each.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from hosted_mesh_policies.rules.configuration import BEFORE_WRITE

from tests.corpus.cases import CASES, batches
from tests.corpus.engine import Engine, Run
from tests.corpus.simulated_engine import simulate

AT_ONCE = 2
RUNNABLE = [name for name, case in CASES.items() if not case.only_simulated]
ALONE = [name for name in RUNNABLE if CASES[name].alone]


@pytest.fixture(scope="module")
def verdicts(corpus_engine: Engine) -> Mapping[str, frozenset[str]]:
    """Per case, the mandatory policies that spoke at the moment that the case is about."""
    produced = corpus_engine.run("up", "producer", stack="producer", policies=False)
    assert produced.code == 0, produced.output
    with ThreadPoolExecutor(AT_ONCE) as pool:
        together = pool.map(lambda pair: _previewed(corpus_engine, *pair), enumerate(batches(RUNNABLE)))
        alone = pool.map(lambda name: (name, _alone(corpus_engine, name)), ALONE)
        found = {name: rules for batch in together for name, rules in batch.items()}
        return found | dict(alone)


def _previewed(engine: Engine, number: int, names: list[str]) -> dict[str, frozenset[str]]:
    run = engine.run("preview", "|".join(names), stack=f"batch{number}")
    _expect_only_policies(run, names)
    found: dict[str, set[str]] = defaultdict(set)
    for said in run.refused:
        owner = re.search(r"::case(\d+)-", said.urn)
        assert owner, f"{said.policy} spoke about {said.urn}"
        found[names[int(owner.group(1))]].add(said.policy.removesuffix(BEFORE_WRITE))
    return {name: frozenset(found[name]) for name in names}


def _alone(engine: Engine, name: str) -> frozenset[str]:
    case = CASES[name]
    prefix = f"alone{ALONE.index(name)}-" if case.before or case.moment == "update" else ""
    stack = case.stack if case.stack != "corpus" else re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    if case.before:
        made = engine.run("up", name, stack=stack, policies=False, before=True, prefix=prefix)
        assert made.code == 0, made.output
    run = engine.run("preview" if case.moment == "preview" else "up", name, stack=stack, prefix=prefix)
    _expect_only_policies(run, [name])
    if case.before or case.moment == "update":
        engine.run("destroy", name, stack=stack, policies=False, prefix=prefix)
    return frozenset(said.policy.removesuffix(BEFORE_WRITE) for said in run.refused)


def _expect_only_policies(run: Run, names: list[str]) -> None:
    """Nothing else went wrong: an object that the API server refuses would end a preview before its end."""
    wrong = [line for line in run.output.splitlines() if "error: " in line and not line.endswith(ENDINGS)]
    assert not wrong, f"{names}: {wrong}"


ENDINGS = ("error: preview failed", "error: update failed", "is invalid")


@pytest.mark.parametrize("name", [name for name in RUNNABLE if not CASES[name].clean])
def test_caught_at_the_earliest_moment(name: str, verdicts: Mapping[str, frozenset[str]]) -> None:
    assert verdicts[name] & CASES[name].rules


@pytest.mark.parametrize("name", [name for name in RUNNABLE if CASES[name].clean])
def test_clean_programs_pass(name: str, verdicts: Mapping[str, frozenset[str]]) -> None:
    assert verdicts[name] == frozenset()


def test_the_simulated_engine_says_the_same(verdicts: Mapping[str, frozenset[str]]) -> None:
    differences = dict(_differences(verdicts))
    assert differences == {}


def _differences(verdicts: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    for name in RUNNABLE:
        simulated = simulate(CASES[name])
        said = simulated.preview if CASES[name].moment == "preview" else simulated.before_write
        rules = {finding.rule for finding in said}
        if rules != verdicts[name]:
            yield name, (sorted(rules), sorted(verdicts[name]))


UPDATED = [
    name
    for name in RUNNABLE
    if CASES[name].clean
    and CASES[name].family in {"user's own", "declassified", "public half"}
    and not CASES[name].alone
]


def test_clean_programs_are_written_too(corpus_engine: Engine, verdicts: Mapping[str, frozenset[str]]) -> None:
    """An update with its preview, then one without changes: nobody stops them."""
    assert corpus_engine.run("up", "widgets", stack="widgets", policies=False).code == 0
    first = corpus_engine.run("up", "|".join(UPDATED), stack="clean")
    assert (first.code, first.refused) == (0, ()), first.output
    second = corpus_engine.run("up", "|".join(UPDATED), stack="clean")
    assert (second.code, second.refused) == (0, ()), second.output
    assert corpus_engine.run("destroy", "|".join(UPDATED), stack="clean", policies=False).code == 0
    assert corpus_engine.run("destroy", "widgets", stack="widgets", policies=False).code == 0
