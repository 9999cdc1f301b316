"""Programs by somebody who has not read the rules: each claim is proven, and each verdict is as it is known to be."""

from __future__ import annotations

import base64
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.corpus.strangers.advised import advised
from tests.corpus.strangers.judge import play
from tests.corpus.strangers.programs import CLEAN, LEAKS, SETS
from tests.corpus.strangers.score import graded, known, table, verdict

KNOWN = known()
EVERY = {**LEAKS, **CLEAN}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leaks_verdict_is_the_known_one_and_it_leaks(name: str) -> None:
    """Fails when a leak that was stopped passes, when one is mended that still stands in known.json, and when the
    secret cannot be had from what is sent."""
    leak = LEAKS[name]
    assert verdict(leak) == KNOWN.get(name, "right"), leak.why
    _, sent, provider = play(leak, judged=False)
    found = leak.recover(sent.leaves())
    assert any(secret.encode() in found for secret in provider.given if len(secret) >= 8)


def _forms(secret: str) -> set[bytes]:
    text = secret.encode()
    coded = base64.b64encode(text).rstrip(b"=")
    return {text, coded, base64.urlsafe_b64encode(text).rstrip(b"="), text.hex().encode(), text[::-1]}


@pytest.mark.parametrize("name", CLEAN)
def test_a_harmless_programs_verdict_is_the_known_one_and_it_sends_nothing_of_the_providers(name: str) -> None:
    """It sends the same whatever the provider's secrets are; where it rightly does not, no secret is in it."""
    stranger = CLEAN[name]
    outcome, *judged = play(stranger)
    assert graded(stranger, outcome) == KNOWN.get(name, "right"), stranger.why
    if name in KNOWN:  # it was refused, so not all was sent
        _, *judged = play(stranger, judged=False)
    sides = [judged, play(stranger, seed=1, judged=False)[1:]]
    sent = [{name: tree for name, tree in each[0].inputs.items() if _goes_out(name, stranger)} for each in sides]
    assert (sent[0] == sent[1]) is not bool(stranger.rightly)
    leaves = [leaf for place, leaf in sides[0][0].leaves().items() if _goes_out(place.partition(".")[0], stranger)]
    for secret in sides[0][1].given:
        assert len(secret) < 8 or not any(form in leaf for form in _forms(secret) for leaf in leaves)


def _goes_out(name: str, stranger: object) -> bool:
    return name != "outputs" or stranger.stack != "corpus"


@pytest.mark.parametrize(
    "name",
    [
        "eleventh-own-stack-of-its-database",
        "eighth-own-database-roles",
        "eighth-command-with-a-public-answer",
        "eighth-up-login-of-the-tenants-metrics",
        "tenth-secret-copied-in-the-tenants-cluster",
        "fourteenth-own-two-istiods",
        "twelfth-own-mesh-of-two-clusters",
    ],
    ids=[
        "another stack",
        "an account",
        "a command",
        "a login of both sides",
        "a copy",
        "two clusters",
        "an unknown one",
    ],
)
def test_a_harmless_program_that_is_refused_passes_when_its_author_says_what_the_verdict_asks(name: str) -> None:
    stranger = CLEAN[name]
    assert (verdict(stranger), verdict(advised(stranger))) == ("refused", "right")


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(LEAKS) >= 150
    assert len(CLEAN) >= 80
    assert not LEAKS.keys() & CLEAN.keys()
    assert KNOWN.keys() <= EVERY.keys()


def test_a_program_is_in_the_folder_of_the_set_that_its_name_says() -> None:
    """From the third set on a program's name begins with its set's."""
    without = {"first", "daily practice"}
    assert [name for name, one in EVERY.items() if one.set not in without and not name.startswith(f"{one.set}-")] == []
    assert [name for name, one in EVERY.items() if one.set in without and name.partition("-")[0] in SETS] == []


def test_the_score_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    some = list(LEAKS.values())[:2]
    print(table({stranger.name: play(stranger)[0] for stranger in some}, some))
    assert some[0].theme in capsys.readouterr().out


def _row(which: str) -> list[str]:
    """The score of a set, as the documentation has it."""
    leaks, clean = ([name for name, one in kept.items() if one.set == which] for kept in (LEAKS, CLEAN))
    late = Counter(KNOWN.get(name, "right") for name in leaks)
    refused = sum(name in KNOWN for name in clean)
    stages = [late[stage] for stage in ("right", "before write", "end", "never")]
    return [str(number) for number in (len(leaks), *stages, len(clean), refused)]


@pytest.mark.parametrize("which", SETS)
def test_the_documentation_has_the_score(which: str) -> None:
    text = (Path(__file__).parents[4] / "docs/policies/score.md").read_text()
    now = text.partition("<!-- strangers -->")[2].partition("<!-- end -->")[0]
    (row,) = re.findall(rf"(?m)^\| {which} \| (.*) \|$", now)
    assert row.split(" | ") == _row(which)
