"""The status of a HostedMesh: public facts, conditions, and the events of their changes.

An engine's error is not among them: its text may name objects of the control plane's cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh import Problem
from sqlalchemy import Row

from hosted_mesh_controller.vocabulary import Action, ObjectState, State

Config = dict[str, Any]
REFUSED: Final = "refused"
_LONGEST: Final = 1000  # characters of a message; an event's note admits 1024


@dataclass(frozen=True)
class Event:
    """An event on a resource. kind: `Normal` or `Warning`."""

    kind: str
    reason: str
    message: str


def status_of(resource: Mapping[str, Any], row: Row[Any] | None, problems: Sequence[Problem], moment: str) -> Config:
    """The status. row: the ordered object. problems: those of a refused generation. moment: the present, RFC 3339."""
    found: Config = {
        "observedGeneration": resource["metadata"]["generation"],
        "state": _state(row, problems),
        "endpoints": list(_endpoints(row)) if row else [],
        "problems": [{"field": one.field, "rule": one.rule, "fix": one.fix} for one in problems],
    }
    conditions = [_accepted(row, problems), _ready(row)]
    if row is not None and row.operation:
        found["operation"] = row.operation
    if row is not None and row.checked is not None:
        found |= {"drift": len(json.loads(row.drift)), "repairs": len(json.loads(row.repairs))}
        conditions.append(in_sync(found["drift"]))
    return {**found, "conditions": timed(resource, conditions, moment)}


def timed(resource: Mapping[str, Any], conditions: Sequence[Config], moment: str) -> list[Config]:
    """The conditions with the time of their last change and the resource's generation."""
    before = {one["type"]: one for one in (resource.get("status") or {}).get("conditions", ())}
    made = []
    for one in conditions:
        old = before.get(one["type"], {})
        since = old["lastTransitionTime"] if old.get("status") == one["status"] else moment
        generation = resource["metadata"]["generation"]
        made.append({**one, "lastTransitionTime": since, "observedGeneration": generation})
    return made


def events(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Event]:
    """The events between two statuses."""
    old = {one["type"]: one for one in before.get("conditions", ())}
    for one in after["conditions"]:
        then = old.get(one["type"], {})
        is_new = (one["status"], one["reason"]) != (then.get("status"), then.get("reason"))
        if one["reason"] == "Refused":
            is_new = is_new or one["message"] != then.get("message")
        elif one["type"] == "Accepted":
            # Each order is an event, though the condition stays.
            is_new = is_new or before.get("operation") != after.get("operation")
        if is_new and one["reason"] not in _SILENT and (one["type"], one["reason"]) != ("Ready", "Deleting"):
            yield Event("Warning" if one["reason"] in _WARNINGS else "Normal", one["reason"], one["message"])
    if before.get("repairs") is not None and after.get("repairs", 0) > before["repairs"]:
        yield Event("Normal", "Repaired", "The provider has mended a change by others.")


_SILENT: Final = ("InSync", "Pending", "Waiting")
_WARNINGS: Final = ("Refused", "Failed", "Drift")


def _state(row: Row[Any] | None, problems: Sequence[Problem]) -> str:
    if row is None or (problems and row.state != ObjectState.DELETING):
        return REFUSED if problems else str(ObjectState.PENDING)
    return str(row.state)


def _accepted(row: Row[Any] | None, problems: Sequence[Problem]) -> Config:
    if problems:
        return refusal(problems)
    if row is None:
        return condition("Accepted", "Unknown", "Waiting", "The controller has not ordered it yet.")
    if row.state == ObjectState.DELETING:
        return condition("Accepted", "True", "Deleting", f"Operation {row.operation} removes the mesh.")
    return condition("Accepted", "True", "Ordered", f"Order {row.generation}, operation {row.operation}.")


def refusal(problems: Sequence[Problem]) -> Config:
    """The condition of a refused generation."""
    text = "; ".join(f"{one.field} {one.rule}. {one.fix}" for one in problems)
    return condition("Accepted", "False", "Refused", text)


def _ready(row: Row[Any] | None) -> Config:
    if row is None:
        return condition("Ready", "False", "Waiting", "There is no order of it.")
    if row.state == ObjectState.READY:
        return condition("Ready", "True", "Ready", "The clusters have the mesh as ordered.")
    if row.state == ObjectState.FAILED:
        return failure(row)
    reason = "Deleting" if row.state == ObjectState.DELETING else "Pending"
    return condition("Ready", "False", reason, f"Operation {row.operation} has not ended.")


def failure(row: Row[Any]) -> Config:
    """The condition after an order that failed."""
    verb = "cancelled" if row.progress == State.CANCELLED else "failed"
    what = "removal" if row.action == Action.DESTROY else "order"
    text = f"The {what} {verb}, and is repeated later. Read the reason: hosted-mesh logs {row.operation}"
    return condition("Ready", "False", "Failed", text)


def in_sync(drift: int) -> Config:
    """The condition after a check."""
    if drift:
        return condition("InSync", "False", "Drift", f"Others changed {drift} objects of the mesh.")
    return condition("InSync", "True", "InSync", "The last check found no change by others.")


def condition(kind: str, status: str, reason: str, message: str) -> Config:
    """A condition, with a message that is short enough for an event."""
    shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
    return {"type": kind, "status": status, "reason": reason, "message": shown}


def _endpoints(row: Row[Any]) -> Iterator[Config]:
    """Names of istiod's hosts: the rest of an endpoint is in the stack's objects of this cluster."""
    found = json.loads(row.outputs).get("endpoints")
    for name, one in sorted(found.items()) if isinstance(found, dict) else ():
        if isinstance(one, dict) and isinstance(one.get("host"), str):
            yield {"name": name, "host": one["host"]}
