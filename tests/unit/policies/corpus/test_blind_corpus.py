"""Programs by authors without knowledge of the rules: each claim is proven, and each verdict is the known one."""

from __future__ import annotations

import base64
from collections import Counter

import pytest

from tests.corpus.blind_corpus.judge import play
from tests.corpus.blind_corpus.programs import CLEAN, LEAKS, SUBJECTS
from tests.corpus.blind_corpus.score import graded, known, table, verdict
from tests.corpus.blind_corpus.suggested_settings import with_suggested_settings

KNOWN = known()


def _by_subject(names: dict[str, object]) -> list[object]:
    return [pytest.param(name, id=f"{SUBJECTS[name]}: {name}") for name in names]


@pytest.mark.parametrize("name", _by_subject(LEAKS))
def test_a_leaks_verdict_is_the_known_one_and_it_leaks(name: str) -> None:
    """Fails when the pack passes a leak that it stopped, when it stops one that still stands in known.json, and when
    nothing that is sent gives the secret back."""
    leak = LEAKS[name]
    assert verdict(leak) == KNOWN.get(name, "right"), leak.why
    _, sent, provider = play(leak, judged=False)
    found = leak.recover(sent.leaves())
    assert any(secret.encode() in found for secret in provider.given if len(secret) >= 8)


def _forms(secret: str) -> set[bytes]:
    text = secret.encode()
    coded = base64.b64encode(text).rstrip(b"=")
    return {text, coded, base64.urlsafe_b64encode(text).rstrip(b"="), text.hex().encode(), text[::-1]}


@pytest.mark.parametrize("name", _by_subject(CLEAN))
def test_a_harmless_programs_verdict_is_the_known_one_and_it_sends_no_secret(name: str) -> None:
    """Other control-plane secrets change nothing that is sent. Where they rightly do, no secret is in it."""
    program = CLEAN[name]
    outcome, *judged = play(program)
    assert graded(program, outcome) == KNOWN.get(name, "right"), program.why
    if name in KNOWN:  # it was refused, so not all was sent
        _, *judged = play(program, judged=False)
    sides = [judged, play(program, seed=1, judged=False)[1:]]
    sent = [{name: tree for name, tree in each[0].inputs.items() if _goes_out(name, program)} for each in sides]
    assert (sent[0] == sent[1]) is not bool(program.rightly)
    leaves = [leaf for place, leaf in sides[0][0].leaves().items() if _goes_out(place.partition(".")[0], program)]
    for secret in sides[0][1].given:
        assert len(secret) < 8 or not any(form in leaf for form in _forms(secret) for leaf in leaves)


def _goes_out(name: str, program: object) -> bool:
    return name != "outputs" or program.stack != "corpus"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("own-stack-of-its-database", id="another stack"),
        pytest.param("own-database-roles", id="an account"),
        pytest.param("command-with-a-public-answer", id="a command"),
        pytest.param("up-login-of-the-tenants-metrics", id="a login of both sides"),
        pytest.param("secret-copied-in-the-tenants-cluster", id="a copy"),
        pytest.param("own-two-istiods", id="two clusters"),
        pytest.param("own-mesh-of-two-clusters", id="an unknown one"),
    ],
)
def test_a_refused_harmless_program_passes_with_the_settings_that_its_verdict_suggests(name: str) -> None:
    program = CLEAN[name]
    assert (verdict(program), verdict(with_suggested_settings(program))) == ("refused", "right")


def test_the_kept_programs_are_counted() -> None:
    """Documentation states these numbers."""
    assert (len(LEAKS), len(CLEAN)) == (117, 134)
    assert Counter(KNOWN[name] for name in LEAKS if name in KNOWN) == {"never": 11, "before write": 9}
    assert Counter(KNOWN[name] for name in CLEAN if name in KNOWN) == {"refused": 33}
    assert KNOWN.keys() <= LEAKS.keys() | CLEAN.keys()


@pytest.mark.parametrize("subject", sorted(set(SUBJECTS.values())))
def test_each_subject_has_leaks_and_harmless_neighbours(subject: str) -> None:
    names = {name for name, its in SUBJECTS.items() if its == subject}
    assert names & LEAKS.keys()
    assert names & CLEAN.keys()


def test_the_score_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    some = list(LEAKS.values())[:2]
    print(table({program.name: play(program)[0] for program in some}, some))
    assert some[0].theme in capsys.readouterr().out
