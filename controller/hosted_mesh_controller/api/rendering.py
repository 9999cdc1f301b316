"""Rows of the database as the interface's models."""

from __future__ import annotations

import json
import time
from typing import Any

from sqlalchemy import Row

from hosted_mesh_controller.settings import Upkeep
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.views import (
    AuditEntry,
    CertificateEnd,
    DriftStep,
    Operation,
    OrderedObject,
    UpkeepState,
)
from hosted_mesh_controller.vocabulary import Repair


def ordered_object(row: Row[Any], kept: Row[Any] | None, rules: Upkeep) -> OrderedObject:
    """An object. kept: the row of its upkeep, if there is one. rules: of the settings."""
    own = {key: getattr(row, key) for key in ("tenant", "kind", "name", "generation", "ready_generation", "state")}
    return OrderedObject(
        **own,
        operation=row.operation,
        documents=json.loads(row.documents),
        outputs=json.loads(row.outputs),
        upkeep=upkeep_state(kept, rules),
        created=moment(row.created),
        changed=moment(row.changed),
    )


def upkeep_state(row: Row[Any] | None, rules: Upkeep) -> UpkeepState:
    """The upkeep of an object."""
    if row is None:
        return UpkeepState(
            repair=rules.repair, checked=None, drift=[], error=None, repairs=0, held=False, certificates=[]
        )
    repairs = rules.used(json.loads(row.repairs), time.time())
    drift = [DriftStep(**one) for one in json.loads(row.drift)]
    ends = [
        CertificateEnd(resource=one["resource"], ends=moment(one["ends"]), renew_from=moment(one["renew_from"]))
        for one in json.loads(row.certificates)
    ]
    return UpkeepState(
        repair=Repair(row.repair) if row.repair else rules.repair,
        checked=None if row.checked is None else moment(row.checked),
        drift=drift,
        error=row.error,
        repairs=repairs,
        held=bool(drift) and repairs >= rules.repairs,
        certificates=ends,
    )


def operation(row: Row[Any]) -> Operation:
    """An operation."""
    own = {key: getattr(row, key) for key in ("id", "tenant", "kind", "name", "action", "state", "generation", "error")}
    return Operation(
        **own,
        attempts=row.attempts,
        created=moment(row.created),
        started=None if row.started is None else moment(row.started),
        ended=None if row.ended is None else moment(row.ended),
        result=json.loads(row.result) if row.result else None,
    )


def audit_entry(row: Row[Any]) -> AuditEntry:
    """An entry of the audit log."""
    names = ("number", "token", "issuer", "subject", "role", "tenant", "act", "object", "operation")
    own = {key: getattr(row, key) for key in names}
    return AuditEntry(**own, time=moment(row.time), changed=json.loads(row.changed))
