"""A row gets its tick from an observation and from nothing else."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sandbox.proof.deployed import NotObserved, eventually
from sandbox.proof.table import Check, observe, render


def seen(_scene):
    return "Pod x is ready"


def not_seen(_scene):
    raise NotObserved("no Pod is ready")


def broken(_scene):
    raise KeyError("proof")


@pytest.mark.parametrize(
    ("look", "holds", "evidence"),
    [
        (seen, True, "Pod x is ready"),
        (not_seen, False, "no Pod is ready"),
        (broken, False, "the check itself failed: KeyError: 'proof'"),
    ],
)
def test_only_evidence_makes_a_tick(look, holds, evidence):
    row = observe(Check("pods", "a claim", look), deployed=None)
    assert (row.holds, row.evidence) == (holds, evidence)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render([row]))
    text = console.export_text()
    assert ("✔" in text) is holds
    assert ("✘" in text) is not holds


def test_eventually_gives_up_with_the_last_reason():
    reasons = iter(["first", "second", *["last"] * 100])

    def look():
        raise NotObserved(next(reasons))

    with pytest.raises(NotObserved, match="last"):
        eventually(look, seconds=0.2, every=0.05)
