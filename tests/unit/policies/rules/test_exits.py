"""Every verdict has an exit: where a person may decide, an annotation with a reason; else a setting or a mark."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_plan import vocabulary
from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus.case import (
    EXPOSURE,
    FLOW,
    OPERATORS,
    OUTPUTS,
    PROVIDERS,
    RIGHTS,
    SHAPE,
    TENANTS,
    TRUST,
    UNPROVEN,
    USER_IMAGES,
    VALUE,
    WEBHOOKS,
    Case,
)
from tests.corpus.cases import CASES
from tests.corpus.simulated_engine import simulate
from tests.corpus.world import World

OWN_EXITS = {
    FLOW: vocabulary.DECLASSIFY_ANNOTATION,
    SHAPE: vocabulary.DATA_PLANE_OWNED_ANNOTATION,
    UNPROVEN: vocabulary.DATA_PLANE_OWNED_ANNOTATION,
    VALUE: "no annotation allows",
    PROVIDERS: "Declare clusters",
    TRUST: "authoritiesElsewhere",
    OUTPUTS: "Output.secret",
}
"""What a rule's cure or settings name. A secret that is there byte for byte has no exit, and its cure says so."""
ACCEPTED = [WEBHOOKS, RIGHTS, EXPOSURE, TENANTS, OPERATORS, USER_IMAGES]
BY_NAME = {rule.name: rule for rule in RULES}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.mandatory], ids=lambda rule: rule.name)
def test_each_mandatory_rule_names_its_exit(rule: Rule) -> None:
    exit_ = vocabulary.ACCEPT_ANNOTATION if rule.name in ACCEPTED else OWN_EXITS[rule.name]
    assert exit_ in rule.remedy or exit_ in rule.schema


def _spoken(case: Case) -> set[str]:
    verdict = simulate(case, [BY_NAME[name] for name in case.rules])
    return {one.rule for one in (*verdict.preview, *verdict.before_write, *verdict.after)}


def _accepting(monkeypatch: pytest.MonkeyPatch, case: Case, reason: str) -> None:
    """Has every object of a program accept the verdicts of the case's rules."""
    plainly = World.object
    said = "; ".join(f"{rule}: {reason}" for rule in sorted(case.rules))

    def accepting(world: World, side: str, kind: str, name: str, body: Any, **more: Any) -> Any:
        metadata = dict(body.get("metadata") or {})
        notes = {**(metadata.get("annotations") or {}), vocabulary.ACCEPT_ANNOTATION: said}
        return plainly(world, side, kind, name, {**body, "metadata": {**metadata, "annotations": notes}}, **more)

    monkeypatch.setattr(World, "object", accepting)


DECIDABLE = [case for case in CASES.values() if case.rules and case.rules <= {*ACCEPTED}]
LEAKS = [case for case in CASES.values() if case.rules & {FLOW, VALUE, SHAPE} and not case.before][::40]


@pytest.mark.parametrize("case", DECIDABLE, ids=lambda case: case.name)
@pytest.mark.parametrize(("reason", "passes"), [("the team decided so", True), ("yes", False), ("", False)])
def test_a_verdict_that_a_person_may_decide_ends_with_a_reason(
    case: Case, reason: str, passes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _accepting(monkeypatch, case, reason)
    assert (_spoken(case) == set()) is passes


@pytest.mark.parametrize("case", LEAKS, ids=lambda case: case.name)
def test_a_secret_is_not_accepted(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    _accepting(monkeypatch, case, "the team decided so")
    assert _spoken(case)
