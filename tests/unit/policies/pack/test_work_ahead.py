"""What is read ahead changes no verdict: done or not, in part or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.value import cleared_texts
from hosted_mesh_policies.detect.value.cleared_texts import Read, cleared, reading
from hosted_mesh_policies.evaluation import context
from hosted_mesh_policies.evaluation.context import Ahead
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.pack import work_ahead
from hosted_mesh_policies.pack.server import Analyzer
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.pack.work_ahead import WorkAhead
from hosted_mesh_policies.plan.evidence import Evidence
from hosted_mesh_policies.plan.model import Resource
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus import growing, literals, simulated_engine
from tests.corpus.cases import CASES
from tests.corpus.simulated_engine import simulate

SECRET = literals.opaque("ahead")
OTHERS = [f"setting {number}: the quick brown fox".encode() for number in range(40)]
GUILTY = f"x: {SECRET}".encode()


def previewing(plan: list[Resource], ahead: WorkAhead | None) -> Session:
    """A first preview that has seen each resource, and not its end."""
    session = replace(growing.session(preview=True), work_ahead=ahead)
    for one in plan:
        session.before_write(growing.before(one), growing.BEFORE)
    return session


def verdict(plan: list[Resource], ahead: WorkAhead | None) -> list[Finding]:
    """All that rules say at the end of a first preview."""
    return previewing(plan, ahead).at_end([replace(one, inputs=None) for one in plan], RULES)[0]


def added(plan: list[Resource], ahead: WorkAhead) -> Ahead:
    for one in plan:
        ahead.add(one)
    return ahead.done()


def objects(plan: list[Resource]) -> set[str]:
    return {one.urn for one in plan if one.is_kubernetes and one.kind != "Secret"}


class Twice(Session):
    """A session that works ahead in previews, and judges each end again without."""

    def at_end(self, resources: Sequence[Resource], rules: Sequence[Rule]) -> tuple[list[Finding], Evidence]:
        found, shown = Session.at_end(replace(self, work_ahead=None), resources, rules)
        ahead, shown_ahead = super().at_end(resources, rules)
        assert ahead == found
        assert replace(shown_ahead, shown={}, salt="") == replace(shown, shown={}, salt="")  # salted, each with its own
        return ahead, shown_ahead


@pytest.mark.parametrize("name", CASES)
def test_the_corpus_is_judged_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = lambda *given, **named: Twice(*given, **named, work_ahead=WorkAhead())  # noqa: E731
    monkeypatch.setattr(simulated_engine, "Session", twice)
    simulate(CASES[name])


@pytest.mark.parametrize("growth", [one for one in growing.GROWTHS if one != "leaks"])
def test_all_objects_are_read_ahead(growth: str) -> None:
    plan = growing.GROWTHS[growth](8)
    ahead = added(plan, WorkAhead())
    texts = {urn: text.buffer for urn, (_, text) in ahead.texts.items()}
    assert texts.keys() == objects(plan)
    read = frozenset[bytes]().union(*(one.texts for one in ahead.read))
    assert read == set(texts.values())


def test_an_end_reads_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = growing.meshes(8)
    ahead = WorkAhead()
    session = previewing(plan, ahead)
    ahead.done()
    for module, name in ((cleared_texts, "reading"), (context, "asked_text")):
        monkeypatch.setattr(module, name, lambda _: pytest.fail("read again"))
    session.at_end([replace(one, inputs=None) for one in plan if one.urn in objects(plan)], RULES)


def test_the_pack_works_ahead() -> None:
    assert Analyzer({}).session.work_ahead is not None


def _breaks(*_: Any) -> Any:
    raise RuntimeError(SECRET)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")  # it would be told on standard error
@pytest.mark.parametrize("part", ["asked_text", "reading", "batches", "Read"])
def test_what_breaks_ahead_is_neither_told_nor_missed(
    part: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = growing.leaks(8)
    expected = verdict(plan, None)
    monkeypatch.setattr(work_ahead, part, _breaks)
    assert verdict(plan, WorkAhead()) == expected != []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("most", [0, 5_000])
def test_what_has_no_room_is_read_at_the_end(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleared_texts, "TOGETHER", 1)
    plan = [*growing.meshes(20), *growing.leaks(8)]
    ahead = WorkAhead(most)
    assert verdict(plan, ahead) == verdict(plan, None) != []
    assert most // 2 <= sum(len(said) for read in ahead._read for said in read.said) <= most


def test_what_says_too_much_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_ahead, "MOST_KEPT_OF_ONE", 1)
    assert added(growing.meshes(8), WorkAhead()).read == []


def test_the_last_that_a_program_asks_for_counts() -> None:
    """An object of the same name, first without the secret."""
    plan = growing.leaks(2)
    (given,) = (one for one in plan if one.kind == "ConfigMap")
    harmless = replace(given, inputs={**(given.inputs or {}), "data": {"key": "nothing"}})
    assert verdict([harmless, *plan], WorkAhead()) == verdict([harmless, *plan], None)
    ahead = added([harmless], WorkAhead())
    assert ahead.text(harmless) is ahead.texts[given.urn][1]
    assert ahead.text(given).buffer != ahead.text(harmless).buffer
    assert ahead.text(replace(harmless, name="another")).buffer != ahead.text(harmless).buffer


def index() -> Index:
    found = Index()
    found.add(fingerprints(SECRET.encode()), "made here")
    return found


def test_what_was_read_with_a_secret_is_cleared_without_it() -> None:
    """A text that nobody asks about, of the control plane's own."""
    together = [*OTHERS, GUILTY]
    ahead = [Read(frozenset(together), tuple(reading(together)))]
    named = [(text.decode(), text) for text in together]
    assert cleared(named[:-1], index(), ahead) == {name for name, _ in named[:-1]}
    assert cleared(named, index(), ahead) == cleared(named, index()) == set()


def test_what_was_read_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text's reading, to see that nothing else is looked at."""
    monkeypatch.setattr(cleared_texts, "_is_clean", lambda *_: False)
    texts = [("a", OTHERS[0])]
    for said, expected in ((OTHERS[0], {"a"}), (GUILTY, set())):
        assert cleared(texts, index(), [Read(frozenset({OTHERS[0]}), (said,))]) == expected
    assert cleared(texts, index(), [Read(frozenset({OTHERS[1]}), ())]) == set()
