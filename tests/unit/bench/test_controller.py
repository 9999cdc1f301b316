"""The resource and the table of `make bench ARGS=controller`."""

from __future__ import annotations

from bench.controller import Reaction, reaction_grid, spec
from bench.samples import Samples


def test_an_edit_changes_one_path() -> None:
    before, after = spec("/0"), spec("/1")
    assert before != after
    (rule,) = after["groups"][0]["intents"][0]["access"]
    rule["paths"] = ["/0"]
    assert before == after


def test_the_table() -> None:
    found = Reaction(Samples([0.1, 0.2, 0.3]), Samples([0.4] * 3), Samples([2.0] * 3))
    assert reaction_grid(found).rows[0][1:] == ["0.20 s", "0.30 s", "0.30 s"]
