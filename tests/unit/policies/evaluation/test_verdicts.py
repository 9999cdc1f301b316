"""Whatever comes, there is a verdict; and no verdict holds a value."""

from __future__ import annotations

import gzip
from base64 import b64encode
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule, judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.catalogue import RULES

from tests.corpus import literals
from tests.corpus.cases import CASES
from tests.corpus.simulated_engine import simulate

SETTINGS = Settings(clusters=ClusterConfig(data_plane_providers=("users",), control_plane_providers=("ours",)))
USERS = Provider("urn:pulumi:s::p::pulumi:providers:kubernetes::users", "pulumi:providers:kubernetes", "users", {})


def _on_data_plane(kind: str, inputs: Any, **more: Any) -> Resource:
    return Resource(f"urn:pulumi:s::p::{kind}::x", kind, "x", inputs=inputs, provider=USERS, **more)


def _verdict(*resources: Resource) -> list[Finding]:
    context = Context(Stack("s", resources), SETTINGS)
    return [finding for rule in RULES for finding in judge(rule, context)]


def test_an_empty_plan_passes() -> None:
    assert _verdict() == []


@pytest.mark.parametrize("inputs", [UNKNOWN, Secret(UNKNOWN), None, {}, {"data": UNKNOWN}, {"metadata": UNKNOWN}])
@pytest.mark.parametrize("kind", ["kubernetes:core/v1:ConfigMap", "kubernetes:x.example.com/v1:NeverSeen", "other:a:B"])
def test_unknown_and_empty_properties_pass_where_nothing_must_be_known(kind: str, inputs: Any) -> None:
    assert _verdict(_on_data_plane(kind, inputs)) == []


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "webhooks"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "rules"),
    ],
)
def test_a_field_that_must_be_known_and_is_not_is_a_violation(kind: str, field: str) -> None:
    found = _verdict(_on_data_plane(kind, {"metadata": {"name": "istiod"}, field: UNKNOWN}))
    assert ["could not evaluate" in finding.what for finding in found] == [True]


def test_a_rule_that_breaks_is_a_violation_without_the_exceptions_text() -> None:
    def broken(_: Context, __: Resource) -> Any:
        raise ValueError("hunter2-is-the-password")

    rule = Rule(**{**vars(RULES[1]), "check": broken})
    found = judge(rule, Context(Stack("s", (_on_data_plane("kubernetes:core/v1:ConfigMap", {}),)), SETTINGS))
    assert [finding.what.startswith("could not evaluate (ValueError") for finding in found] == [True]
    assert "hunter2" not in found[0].message


def test_a_cycle_of_containers_and_of_dependencies_ends() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = [loop]
    one = _on_data_plane("kubernetes:core/v1:ConfigMap", loop, dependencies={"data": ("urn:b",)})
    other = Resource(
        "urn:b",
        "random:index/randomPassword:RandomPassword",
        "b",
        {},
        {},
        "urn:b",
        dependencies={"x": (one.urn, "urn:b")},
    )
    assert any("could not evaluate" in finding.what for finding in _verdict(one, other))


def test_a_bomb_is_refused() -> None:
    bomb = b64encode(gzip.compress(b"\0" * (200 << 20))).decode()
    found = _verdict(_on_data_plane("kubernetes:core/v1:ConfigMap", {"data": {"x": bomb}}))
    assert {finding.what.split(":")[0] for finding in found} == {"could not evaluate"}


def test_five_megabytes_are_searched() -> None:
    token = literals.opaque("five")
    theirs = Provider("urn:pulumi:s::p::pulumi:providers:kubernetes::ours", "pulumi:providers:kubernetes", "ours", {})
    kept = Resource("urn:k", "kubernetes:core/v1:Secret", "k", inputs={"stringData": {"x": token}}, provider=theirs)
    text = literals.filler(2_500_000) + b64encode(token.encode()).decode() + literals.filler(2_500_000)
    found = _verdict(kept, _on_data_plane("kubernetes:core/v1:ConfigMap", {"data": {"x": text}}))
    assert [finding.path for finding in found] == ["data.x"]


def test_no_message_holds_a_value_or_a_part_of_one() -> None:
    for name, case in CASES.items():
        if case.family in {"direct", "wrapped value", "odd place", "cut"}:
            said = " ".join(finding.message for finding in simulate(case).preview)
            for token in {
                literals.opaque(n) for n in ("token", "admin", "cut", "key", "binary", "deep", "large", "data")
            }:
                assert not any(token[i : i + 8] in said for i in range(len(token) - 8)), name
