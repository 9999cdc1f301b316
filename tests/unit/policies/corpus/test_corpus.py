"""Every case of the corpus, in this process. The real engine runs the same ones in tests/engine/policies."""

from __future__ import annotations

import pytest
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus.cases import CASES, CLEAN, FAULTS, LEAKS
from tests.corpus.simulated_engine import simulate


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.clean])
def test_a_leak_or_fault_is_caught_at_the_earliest_moment(name: str) -> None:
    case = CASES[name]
    verdict = simulate(case)
    said = verdict.preview if case.moment == "preview" else verdict.before_write
    assert {finding.rule for finding in said} & case.rules
    assert not any("could not evaluate (" in finding.what for finding in said)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.clean])
def test_a_clean_program_passes(name: str) -> None:
    verdict = simulate(CASES[name])
    assert [*verdict.preview, *verdict.before_write, *verdict.after] == []


def test_the_corpus_is_as_large_as_it_claims() -> None:
    assert len(LEAKS) >= 120
    assert len(CLEAN) >= 60
    assert {rule.name for rule in RULES if rule.mandatory} <= {
        name for case in (*LEAKS, *FAULTS) for name in case.rules
    }
