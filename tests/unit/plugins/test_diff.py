"""What counts as a change, and which changes replace."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.plugins.kubernetes.fields.diff import Change, changes, prune
from sandbox.plugins.kubernetes.fields.replacement import rules_for
from sandbox.plugins.protocol.naming import format_path
from sandbox.plugins.protocol.values import UNKNOWN

ADD, DELETE, UPDATE = (Change("ADD", False), Change("DELETE", False), Change("UPDATE", False))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": 1}, {"a": True}, {"a": UPDATE}),
        ({"a": 1}, {"a": 2}, {"a": UPDATE}),
        ({}, {"a": {"b": 1}}, {"a": ADD}),
        ({"a": {"b": 1}}, {}, {"a": DELETE}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a.c": DELETE}),
        ({"a": [1, 2]}, {"a": [1]}, {"a[1]": DELETE}),
        ({"a": [1]}, {"a": [1, 2]}, {"a[1]": ADD}),
        ({"a": [{"b": 1, "c": 1}]}, {"a": [{"b": 2}]}, {"a[0].b": UPDATE, "a[0].c": DELETE}),
        ({"a": {}}, {"a": []}, {"a": UPDATE}),
        ({}, {"a": UNKNOWN}, {"a": ADD}),
        ({"a": 1}, {"a": UNKNOWN}, {"a": UPDATE}),
        ({"a": {"b": 1}}, {"a": UNKNOWN}, {"a": UPDATE}),
        ({}, {"a": None}, {}),
        ({"a": 1}, {"a": None}, {"a": DELETE}),
        ({"l": {"x.y/z": "1"}}, {"l": {"x.y/z": "2"}}, {'l["x.y/z"]': UPDATE}),
    ],
)
def test_changes(old: dict[str, Any], new: dict[str, Any], expected: dict[str, Change]) -> None:
    assert {format_path(path): change for path, change in changes(old, new, ()).items()} == expected


def _object(kind: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}, **fields}


def _spec(kind: str, api_version: str, **spec: Any) -> dict[str, Any]:
    return _object(kind, api_version, spec=spec)


@pytest.mark.parametrize(
    ("old", "new", "replaces"),
    [
        (_object("ConfigMap", data={"a": "1"}), _object("ConfigMap", data={"a": "2"}), True),
        (_object("ConfigMap", data={"a": "1"}), _object("ConfigMap", data={"a": UNKNOWN}), True),
        (_object("ConfigMap", data={"a": "1"}), _object("ConfigMap", binaryData={"a": ""}, data={"a": "1"}), True),
        (_object("Secret", type="Opaque"), _object("Secret", type="other"), True),
        (_object("Secret", data={"a": "1"}), _object("Secret", data={}), True),
        (_object("ServiceAccount"), _object("ServiceAccount", secrets=[]), False),
        (
            _spec("Deployment", "apps/v1", selector={"matchLabels": {"a": "1"}}),
            _spec("Deployment", "apps/v1", selector={"matchLabels": {"a": "2"}}),
            True,
        ),
        (_spec("Deployment", "apps/v1", replicas=1), _spec("Deployment", "apps/v1", replicas=2), False),
        (_spec("Service", "v1", clusterIP="None"), _spec("Service", "v1"), True),
        (_spec("Service", "v1", type="ClusterIP"), _spec("Service", "v1", type="LoadBalancer"), False),
        (
            _spec("Pod", "v1", containers=[{"name": "a", "image": "1"}]),
            _spec("Pod", "v1", containers=[{"name": "a", "image": "2"}]),
            True,
        ),
        (_spec("Pod", "v1", containers=[]), _spec("Pod", "v1", containers=[{"image": "2"}]), True),
        (_spec("Pod", "v1", tolerations=[]), _spec("Pod", "v1", tolerations=[{}]), False),
        (
            _object("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", roleRef={"name": "a"}),
            _object("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", roleRef={"name": "b"}),
            True,
        ),
        (_spec("Widget", "tests.example/v1", size=1), _spec("Widget", "tests.example/v1", size=2), False),
    ],
)
def test_what_replaces(old: dict[str, Any], new: dict[str, Any], replaces: bool) -> None:
    found = changes(old, new, rules_for(new))
    assert found
    assert any(change.replaces for change in found.values()) is replaces


@pytest.mark.parametrize("field", ["name", "namespace"])
def test_another_identity_replaces_any_kind(field: str) -> None:
    new = _object("Widget", "tests.example/v1")
    old = {**new, "metadata": {**new["metadata"], field: "other"}}
    assert changes(old, new, rules_for(new)) == {("metadata", field): Change("UPDATE", True)}


def test_data_may_be_mutable() -> None:
    old, new = (_object("ConfigMap", data={"a": value}) for value in "12")
    rules = rules_for(new, mutable_config_maps=True)
    assert changes(old, new, rules) == {("data", "a"): UPDATE}
    frozen = {**new, "immutable": True}
    assert any(change.replaces for change in changes(old, frozen, rules_for(frozen, mutable_config_maps=True)).values())
    old, new = (_object("Secret", data={"a": value}) for value in "12")
    assert changes(old, new, rules_for(new, mutable_secrets=True)) == {("data", "a"): UPDATE}


@pytest.mark.parametrize(
    ("live", "inputs", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 3}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 0}}, {"a": {"b": 1}}),
        ({"a": [{"b": 1, "c": 2}, {"b": 3}]}, {"a": [{"b": 0}]}, {"a": [{"b": 1}]}),
        ({"a": [1, 2]}, {"a": []}, {"a": []}),
        ({"a": "text"}, {"a": {"b": 1}}, {"a": "text"}),
        ({}, {"a": 1}, {}),
    ],
)
def test_pruning_keeps_what_the_inputs_have(
    live: dict[str, Any], inputs: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert prune(live, inputs) == expected
