"""The oracle is the pack's judge: programs as data, a verdict of each, and a disagreement fails."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_policies.rules.rule import Rule

from tests.unit.policies.prove import judge
from tests.unit.policies.prove.programs import Flow


def _flow(**given: Any) -> Flow:
    plain = {"source": "password", "owner": "nobody's component", "kept": True, "kept_first": True}
    return Flow(**{**plain, "use": "as it is", "way": "ConfigMap", **given})


KEPT = [
    _flow(),
    _flow(source="key", use="public half"),
    _flow(source="configuration", use="gzip"),
    _flow(source="stack", kept=False, use="exclusive-or"),
    _flow(source="user's Secret", kept=False, way="Secret"),
    _flow(owner="DataPlaneAccess", way="Secret"),
    _flow(kept=False, way="Secret"),
    _flow(owner="MeshTrust", kept=False, way="Secret"),
]
"""Programs that stand for a class each."""


def test_kept_programs_are_judged_alike() -> None:
    assert judge.leaking(KEPT, 0) == {0, 2, 3, 7}
    assert judge.Tally().judge(KEPT, 0) == []


def test_a_pack_without_a_rule_is_caught_by_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutation check: with its detectors gone, the pack misses what the oracle sees."""
    silent: tuple[Rule, ...] = ()
    monkeypatch.setattr(judge, "_RULES", silent)
    tally = judge.Tally()
    lines = tally.judge(KEPT, 0)
    assert len(lines) == tally.missed.total() == 4


def test_a_pack_that_refuses_everything_is_caught_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "refused", lambda flows: {place: {judge.FLOW} for place in range(len(flows))})
    tally = judge.Tally()
    tally.judge(KEPT, 0)
    assert tally.false_alarms.total() == 4
