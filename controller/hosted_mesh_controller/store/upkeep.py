"""The upkeep of objects in the database: policies, facts for the schedule, results of its operations."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, delete, insert, select, tuple_, update

from hosted_mesh_controller.store import offers
from hosted_mesh_controller.store.tables import events, objects, of_object, operations, upkeep
from hosted_mesh_controller.vocabulary import OPEN, Action, KindName, ObjectState, Repair, State

_KEPT_REPAIRS: Final = 1000
"""As many as the largest budget."""


@dataclass(frozen=True)
class Certificate:
    """A certificate of an authority. ends, renew_from: seconds since 1970."""

    resource: str
    ends: float
    renew_from: float


@dataclass(frozen=True)
class Facts:
    """The upkeep of an object. Times are seconds since 1970.

    repair: its own policy. repairs: times of repairs. checked: end of the last check or change. renewed: the last
    attempt. behind: since when its last run has other offers than a run would have now.
    """

    tenant: str
    kind: str
    name: str
    generation: int
    changed: float
    is_busy: bool = False
    repair: Repair | None = None
    checked: float | None = None
    has_drift: bool = False
    repairs: tuple[float, ...] = ()
    renewed: float | None = None
    certificates: tuple[Certificate, ...] = ()
    behind: float | None = None


def find(connection: Connection, tenant: str, kind: str, name: str) -> Row[Any] | None:
    """The row of an object's upkeep."""
    return connection.execute(select(upkeep).where(*of_object(upkeep, tenant, kind, name))).one_or_none()


def find_all(
    connection: Connection, tenant: str, names: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Row[Any]]:
    """The rows of some objects of a tenant, by kind and name."""
    named = tuple_(upkeep.c.kind, upkeep.c.name).in_(names)
    found = connection.execute(select(upkeep).where(upkeep.c.tenant == tenant, named))
    return {(row.kind, row.name): row for row in found}


def set_repair(connection: Connection, tenant: str, kind: str, name: str, repair: Repair | None) -> None:
    """Sets an object's own policy; None for the one of the settings."""
    _write(connection, tenant, kind, name, {"repair": None if repair is None else str(repair)})


def facts(connection: Connection, *, of_all: bool = False) -> list[Facts]:
    """The facts of the objects that are ready. of_all: of all objects, without `behind`, as metrics use them."""
    same = [objects.c[part] == upkeep.c[part] for part in ("tenant", "kind", "name")]
    # Once for all objects: a query for each would read the tenant's whole history.
    is_open = operations.c.state.in_(OPEN)
    working = select(operations.c.tenant, operations.c.kind, operations.c.name).where(is_open)
    busy = {tuple(row) for row in connection.execute(working)}
    found = select(
        objects.c.tenant,
        objects.c.kind,
        objects.c.name,
        objects.c.generation,
        objects.c.changed,
        *[upkeep.c[part] for part in ("repair", "checked", "drift", "repairs", "renewed", "certificates")],
    ).select_from(objects.outerjoin(upkeep, and_(*same)))
    if not of_all:
        found = found.where(objects.c.state == str(ObjectState.READY))
    behind = {} if of_all else offers.behind(connection)
    return [
        _facts(
            row,
            is_busy=(row.tenant, row.kind, row.name) in busy,
            behind=behind.get((row.tenant, row.name)) if row.kind == KindName.FEDERATIONS else None,
        )
        for row in connection.execute(found)
    ]


def open_operations(connection: Connection) -> int:
    """The number of upkeep's operations that have not ended."""
    names = [str(action) for action in Action if action.is_upkeep]
    found = select(operations.c.id).where(operations.c.state.in_(OPEN), operations.c.action.in_(names))
    return len(connection.execute(found).all())


def record(connection: Connection, row: Row[Any], state: State, result: Mapping[str, Any], error: str | None) -> None:
    """Records the end of an operation. A cancelled or replaced one leaves the facts, and is due again."""
    if state not in (State.SUCCEEDED, State.FAILED):
        return
    now, action, succeeded = time.time(), Action(row.action), state is State.SUCCEEDED
    values: dict[str, Any] = {"error": error}
    if action is not Action.FOLLOW:  # it may run every minute, and must not put off checks
        # A plain `up` does not read objects, so only the other two are checks.
        values["checked"] = now if action in (Action.CHECK, Action.REPAIR) else None
    if succeeded and action is not Action.FOLLOW:
        drift = result.get("drift", []) if action is Action.CHECK else []
        values["drift"] = json.dumps(drift)
    if "certificates" in result:
        values["certificates"] = json.dumps(result["certificates"])
    before = find(connection, row.tenant, row.kind, row.name)
    if action is Action.REPAIR:
        times = [*(json.loads(before.repairs) if before else []), now]
        values["repairs"] = json.dumps(times[-_KEPT_REPAIRS:])
    if action is Action.RENEW:
        values["renewed"] = now
    _write(connection, row.tenant, row.kind, row.name, values)
    # The last success of `follow` has the offers that the cluster has.
    if action is Action.CHECK or (action is Action.FOLLOW and succeeded):
        _forget_earlier(connection, row)


def _forget_earlier(connection: Connection, row: Row[Any]) -> None:
    """Deletes the stack's earlier operations of this kind with their events: there would be more of them for ever."""
    earlier = [operations.c.stack == row.stack, operations.c.action == row.action, operations.c.id != row.id]
    earlier.append(operations.c.state.not_in(OPEN))
    ids = select(operations.c.id).where(*earlier)
    connection.execute(delete(events).where(events.c.operation.in_(ids)))
    connection.execute(delete(operations).where(*earlier))


def _facts(row: Row[Any], *, is_busy: bool, behind: float | None) -> Facts:
    return Facts(
        tenant=row.tenant,
        kind=row.kind,
        name=row.name,
        generation=row.generation,
        changed=row.changed,
        is_busy=is_busy,
        repair=Repair(row.repair) if row.repair else None,
        checked=row.checked,
        has_drift=bool(json.loads(row.drift or "[]")),
        repairs=tuple(json.loads(row.repairs or "[]")),
        renewed=row.renewed,
        certificates=tuple(Certificate(**one) for one in json.loads(row.certificates or "[]")),
        behind=behind,
    )


def _write(connection: Connection, tenant: str, kind: str, name: str, values: Mapping[str, Any]) -> None:
    changed = connection.execute(update(upkeep).where(*of_object(upkeep, tenant, kind, name)).values(**values))
    if not changed.rowcount:
        row = {"tenant": tenant, "kind": kind, "name": name, "drift": "[]", "repairs": "[]", "certificates": "[]"}
        connection.execute(insert(upkeep).values(row | dict(values)))
