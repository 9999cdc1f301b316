"""The status of a TrafficIntents: compiled, applied, the clusters, and public facts only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh import Problem
from sqlalchemy import Row

from hosted_mesh_controller.vocabulary import ObjectState
from hosted_mesh_controller.watcher.status import REFUSED, condition, failure, in_sync, refusal, timed

Config = dict[str, Any]


def intents_status(
    resource: Mapping[str, Any], row: Row[Any] | None, problems: Sequence[Problem], waiting: str, moment: str
) -> Config:
    """The status. row: the accepted part. problems: those of a refused generation.

    waiting: the reason of a wait for the mesh, or nothing. moment: the present, RFC 3339.
    """
    facts = json.loads(row.facts) if row else {}
    found: Config = {
        "observedGeneration": resource["metadata"]["generation"],
        "state": _state(row, problems),
        "problems": [{"field": one.field, "rule": one.rule, "fix": one.fix} for one in problems],
        "pending": facts.get("pending", []),
        "clusters": facts.get("clusters", []) if row and _is_applied(row) else [],
    }
    conditions = [_accepted(row, problems, waiting), _compiled(facts), _ready(row)]
    if row is not None:
        found |= {"mesh": facts["mesh"], "intents": facts["intents"]}
        before = (resource.get("status") or {}).get("operation")
        if operation := (before if before and _is_applied(row) else row.operation):
            # An order of another resource is none of this one.
            found["operation"] = operation
        if row.checked is not None:
            found |= {"drift": len(json.loads(row.drift)), "repairs": len(json.loads(row.repairs))}
            conditions.append(in_sync(found["drift"]))
    return {**found, "conditions": timed(resource, conditions, moment)}


def _is_applied(row: Row[Any]) -> bool:
    """Whether the clusters have the accepted part. A later order of another resource does not change that."""
    return bool(row.ready_generation >= row.ordered and not row.leaving)


def _state(row: Row[Any] | None, problems: Sequence[Problem]) -> str:
    if row is not None and row.leaving:
        return str(ObjectState.FAILED if row.state == ObjectState.FAILED else ObjectState.DELETING)
    if problems:
        return REFUSED
    if row is None:
        return str(ObjectState.PENDING)
    if _is_applied(row):
        return str(ObjectState.READY)
    return str(ObjectState.FAILED if row.state == ObjectState.FAILED else ObjectState.PENDING)


def _accepted(row: Row[Any] | None, problems: Sequence[Problem], waiting: str) -> Config:
    if problems:
        return refusal(problems)
    if row is None:
        return condition("Accepted", "Unknown", "Waiting", waiting or "The controller has not ordered it yet.")
    if row.leaving:
        return condition("Accepted", "True", "Deleting", f"Operation {row.operation} removes the objects.")
    return condition("Accepted", "True", "Ordered", f"Order {row.ordered}.")


def _compiled(facts: Mapping[str, Any]) -> Config:
    if not facts:
        return condition("Compiled", "Unknown", "Waiting", "There is no accepted generation.")
    if waiting := facts["pending"]:
        text = "; ".join(f"{one['intent']}: {one['reason']}" for one in waiting)
        return condition("Compiled", "False", "Pending", text)
    return condition("Compiled", "True", "Compiled", f"All {facts['intents']} intents have objects.")


def _ready(row: Row[Any] | None) -> Config:
    if row is None:
        return condition("Ready", "False", "Waiting", "There is no order of it.")
    if _is_applied(row):
        return condition("Ready", "True", "Ready", "The clusters have the intents as ordered.")
    if row.state == ObjectState.FAILED:
        return failure(row)
    return condition("Ready", "False", "Deleting" if row.leaving else "Pending", "Its operation has not ended.")
