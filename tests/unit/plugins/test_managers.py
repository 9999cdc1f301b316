"""Field managers: taking over and forcing."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.plugins.kubernetes.fields.managers import CREATOR, must_force, taken_over

OURS = "pulumi-kubernetes-01234567"


def _entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def _live(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}, **fields}


def test_what_was_made_by_post_becomes_ours() -> None:
    status = _entry("controller", "Update", {"f:status": {}}, subresource="status")
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    assert taken_over(_live(_entry(CREATOR, "Update", fields), status), OURS) == [
        status,
        _entry(OURS, "Apply", fields),
    ]


@pytest.mark.parametrize(("manager", "operation"), [("kubectl", "Apply"), ("kubectl-patch", "Update")])
def test_what_kubectl_owns_is_added_to_ours(manager: str, operation: str) -> None:
    own = _entry(OURS, "Apply", {"f:spec": {"f:a": {}}})
    other = _entry(manager, operation, {"f:spec": {"f:b": {}}})
    assert taken_over(_live(own, other), OURS) == [_entry(OURS, "Apply", {"f:spec": {"f:a": {}, "f:b": {}}})]


@pytest.mark.parametrize(
    "entry",
    [
        _entry("somebody", "Update", {}),
        _entry(OURS, "Apply", {}),
        _entry(CREATOR, "Update", {}, subresource="status"),
    ],
)
def test_nothing_to_take_over(entry: dict[str, Any]) -> None:
    assert taken_over(_live(entry), OURS) is None


@pytest.mark.parametrize(
    ("live", "preview", "expected"),
    [
        (None, True, True),
        (None, False, False),
        (_live(_entry(CREATOR, "Update", {})), True, True),
        (_live(_entry(CREATOR, "Update", {})), False, False),
        (_live(_entry("somebody", "Update", {})), True, False),
        (_live(), False, True),
    ],
)
def test_force(live: dict[str, Any] | None, preview: bool, expected: bool) -> None:
    assert must_force(live, preview=preview, asked=False) is expected


def test_force_where_it_is_asked_for() -> None:
    assert must_force(_live(_entry("somebody", "Update", {})), preview=False, asked=True)
