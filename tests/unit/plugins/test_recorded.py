"""The stand-ins for tls and random answer what was recorded of Pulumi's own plug-ins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox.plugins
from tests.recorded import cases, facts
from tests.recorded.bridged_world import BridgedWorld
from tests.recorded.replay import NAMES, Replay

BIN = Path(sandbox.plugins.__file__).parent / "bin"
PACKAGES = [name for name in NAMES if name != "kubernetes"]
FILES = [name for names in NAMES.values() for name in names]


@pytest.fixture(scope="module", params=PACKAGES)
def replay(request: pytest.FixtureRequest) -> Iterator[tuple[str, Replay]]:
    with Replay(BIN, request.param, BridgedWorld()) as running:
        yield request.param, running


def test_answers_are_those_of_the_official_plug_in(replay: tuple[str, Replay]) -> None:
    package, plugin = replay
    recorded = facts.read(package)
    played = {facts.ABILITIES: plugin.abilities(), **{case.name: plugin.play(case) for case in cases.load(package)}}
    facts.require_same(package, recorded, played, meant=facts.intended(package))


@pytest.mark.parametrize("name", FILES)
def test_facts_and_cases_are_the_same_ones(name: str) -> None:
    assert list(facts.read(name)) == [facts.ABILITIES, *(case.name for case in cases.load(name))]


def test_what_differs_is_told_with_both_values() -> None:
    recorded = {"one": {"diff": {"changes": "DIFF_NONE", "replaces": ["a"]}}, "two": {}}
    played = {"one": {"diff": {"changes": "DIFF_SOME"}}, "two": {}}
    with pytest.raises(AssertionError) as failure:
        facts.require_same("random", recorded, played, meant=[])
    assert "one/diff/changes: recorded 'DIFF_NONE', now 'DIFF_SOME'" in str(failure.value)
    assert "one/diff/replaces: recorded ['a'], now '<nothing>'" in str(failure.value)


def test_a_difference_that_is_meant_has_to_be_there() -> None:
    meant: list[facts.Difference] = [facts.Intended("one/diff", "b", "because")]
    facts.require_same("random", {"one": {"diff": "a"}}, {"one": {"diff": "b"}}, meant=meant)
    with pytest.raises(AssertionError, match="one/diff: recorded 'a', now 'c'"):
        facts.require_same("random", {"one": {"diff": "a"}}, {"one": {"diff": "c"}}, meant=meant)
    with pytest.raises(AssertionError, match=r"no longer.*one/diff"):
        facts.require_same("random", {"one": {"diff": "a"}}, {"one": {"diff": "a"}}, meant=meant)


def test_of_a_text_in_other_words_all_else_has_to_be_the_same() -> None:
    meant: list[facts.Difference] = [facts.Reworded({"it is taken": "Taken", "no": "No"}, "because")]
    recorded = {"one": {"error": "no: it is taken by a"}}
    facts.require_same("random", recorded, {"one": {"error": "No: Taken by a"}}, meant=meant)
    with pytest.raises(AssertionError, match="now 'No: Taken by b'"):
        facts.require_same("random", recorded, {"one": {"error": "No: Taken by b"}}, meant=meant)
    with pytest.raises(AssertionError, match=r"no longer.*it is taken"):
        facts.require_same("random", recorded, recorded, meant=meant)


def test_no_case_is_left_out() -> None:
    with pytest.raises(AssertionError, match="two"):
        facts.require_same("random", {"one": {}, "two": {}}, {"one": {}}, meant=[])


OWN_OF_A_RUN = (
    r"-----BEGIN",
    r"\b127\.0\.0\.1\b|localhost",
    r"(?<![\w.])/(root|home|tmp|usr|work|var/folders)/",
    r"\beyJ[\w-]{10}",  # a token
    r"[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-",  # digests, identities
    r"[A-Za-z0-9+/]{44}",  # keys, fingerprints
    r"20\d\d-\d\d-\d\dT",
)


@pytest.mark.parametrize("name", [cases.PROVIDER, *FILES])
def test_facts_hold_nothing_of_the_run_that_gave_them(name: str) -> None:
    text = (Path(facts.__file__).parent / "facts" / f"{name}.yaml").read_text()
    assert [found[0] for pattern in OWN_OF_A_RUN for found in re.finditer(pattern, text)] == []
