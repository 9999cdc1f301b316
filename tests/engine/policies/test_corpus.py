"""The corpus on the real engine, and agreement with the simulated engine in one process.

Programs that are about one object share a stack, some seventy to a preview, each under a component of its own; those
that are about a whole stack, or about two runs, have one each. 25 programs run with each change, a leak for each rule
among them; all others are nightly.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache

import pytest
from hosted_mesh_policies.configuration import BEFORE_WRITE

from tests.corpus.cases import CASES, batches
from tests.corpus.engine import Engine, Run
from tests.corpus.simulated_engine import simulate
from tests.support.nightly import nightly_if

RUNNABLE = [name for name, case in CASES.items() if not case.only_simulated]
ALONE = [name for name in RUNNABLE if CASES[name].alone]
DAILY = [
    "direct: key in ConfigMap",
    "direct: password in Secret",
    "direct: Secret of the provider's cluster in environment",
    "wrapped value: token under base64 of gzip of base64",
    "indirect: through components",
    "shape: kubeconfig in ConfigMap",
    "stack reference: another stack's secret in ConfigMap",
    "nearest: a private key, disguised, where a public half is expected",
    "timing: program differs in the update",
    "timing: second update",
    "provider: data plane's name, control plane's address",
    "istiod's CA: no cacerts",
    "webhook: Mutating webhook by Service",
    "rights: reads Secrets",
    "exposure: plaintext xDS on a load balancer",
    "tenant: another's namespace",
    "output: a secret in a plain output",
    "operator: operand on the other side",
    "operator: a user's catalog on the control plane",
    "public half: certificate in ConfigMap",
    "user's own: password",
    "user's own: TLS pair",
    "look-alike: sha256 in ConfigMap",
    "declassified: a hash, with its reason",
    "right object: a whole mesh",
    "known public half: publicKeyPem in ConfigMap",
]
BATCHES = [*batches(DAILY), *batches([name for name in RUNNABLE if name not in DAILY])]
BATCH_OF = {name: number for number, names in enumerate(BATCHES) for name in names}
Judged = Callable[[str], frozenset[str]]


@pytest.fixture(scope="module")
def producer(corpus_engine: Engine) -> None:
    """The stack whose outputs some programs read."""
    produced = corpus_engine.run("up", "producer", stack="producer", policies=False)
    assert produced.code == 0, produced.output


@pytest.fixture(scope="module")
def judged(corpus_engine: Engine, producer: None) -> Judged:
    """Per case, the mandatory policies that spoke at the moment that the case is about.

    Each preview runs for the first test that asks for one of its cases.
    """
    together = cache(lambda number: _previewed(corpus_engine, number, BATCHES[number]))
    alone = cache(lambda name: _alone(corpus_engine, name))
    return lambda name: alone(name) if CASES[name].alone else together(BATCH_OF[name])[name]


def _of_one_process(names: Iterable[str]) -> list[object]:
    """Parameters such that tests about one preview run in one process. Those beside `DAILY` are nightly."""
    return [
        pytest.param(
            name,
            marks=[
                pytest.mark.xdist_group(f"corpus-{BATCH_OF.get(name, name)}"),
                *nightly_if(name not in DAILY, "alone" if CASES[name].alone else "together"),
            ],
        )
        for name in names
    ]


def test_each_rule_has_a_leak_that_runs_with_each_change() -> None:
    every = {rule for name in RUNNABLE for rule in CASES[name].rules}
    assert {rule for name in DAILY for rule in CASES[name].rules} == every
    assert len(DAILY) == 26
    assert sum(CASES[name].clean for name in DAILY) >= 5


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


@pytest.mark.parametrize("name", _of_one_process(name for name in RUNNABLE if not CASES[name].clean))
def test_caught_at_the_earliest_moment(name: str, judged: Judged) -> None:
    assert judged(name) & CASES[name].rules


@pytest.mark.parametrize("name", _of_one_process(name for name in RUNNABLE if CASES[name].clean))
def test_clean_programs_pass(name: str, judged: Judged) -> None:
    assert judged(name) == frozenset()


@pytest.mark.parametrize("name", _of_one_process(RUNNABLE))
def test_the_simulated_engine_says_the_same(name: str, judged: Judged) -> None:
    simulated = simulate(CASES[name])
    said = simulated.preview if CASES[name].moment == "preview" else simulated.before_write
    assert {finding.rule for finding in said} == judged(name)


UPDATED = [
    name
    for name in RUNNABLE
    if CASES[name].clean
    and CASES[name].family in {"user's own", "declassified", "public half"}
    and not CASES[name].alone
]


@pytest.mark.nightly("together")
@pytest.mark.usefixtures("producer")
def test_clean_programs_are_written_too(corpus_engine: Engine) -> None:
    """An update with its preview, then one without changes: nobody stops them."""
    assert corpus_engine.run("up", "definitions", stack="definitions", policies=False).code == 0
    first = corpus_engine.run("up", "|".join(UPDATED), stack="clean")
    assert (first.code, first.refused) == (0, ()), first.output
    second = corpus_engine.run("up", "|".join(UPDATED), stack="clean")
    assert (second.code, second.refused) == (0, ()), second.output
    assert corpus_engine.run("destroy", "|".join(UPDATED), stack="clean", policies=False).code == 0
    assert corpus_engine.run("destroy", "definitions", stack="definitions", policies=False).code == 0
