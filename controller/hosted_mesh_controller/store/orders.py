"""Orders: changes of objects, and the operations that carry them out.

One stack has one operation at a time that is queued or runs; a unique index holds it. Of the operations that wait, the
newest replaces the others.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from hosted_mesh_controller.store import executors, offers, upkeep
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.tables import claims, events, objects, of_object, operations, parts, sources
from hosted_mesh_controller.store.tables import upkeep as upkeeps
from hosted_mesh_controller.vocabulary import OPEN, Action, KindName, ObjectState, State, stack_name

LAST: Final = 2**31 - 1
"""Tag of upkeep: behind every order. The greatest priority of DBOS."""
ENDED: Final = tuple(str(state) for state in State if state.ended)
ACTIVE: Final = (str(State.QUEUED), str(State.RUNNING))
_PREVIEWS: Final = tuple(str(action) for action in Action if action.previews)
_UPKEEP: Final = tuple(str(action) for action in Action if action.is_upkeep)


class ClaimedError(Exception):
    """A name that another object has."""

    def __init__(self, claim: str) -> None:
        super().__init__(claim)
        self.claim = claim


class LostExecutorError(Exception):
    """An executor whose operations another one takes over."""


@dataclass(frozen=True)
class Key:
    """An object's place."""

    tenant: str
    kind: str
    name: str

    @property
    def stack(self) -> str:
        """Its stack."""
        return stack_name(self.tenant, self.kind, self.name)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Tenant, kind and name."""
        return self.tenant, self.kind, self.name


@dataclass(frozen=True)
class Outcome:
    """The end of an operation. result: counts, steps or outputs. error: one line for its owner."""

    state: State
    result: Mapping[str, Any]
    error: str | None = None


def find(connection: Connection, key: Key) -> Row[Any] | None:
    """An object's row."""
    return connection.execute(select(objects).where(*_is(objects, key))).one_or_none()


def save(connection: Connection, key: Key, documents: Mapping[str, Any], taken: Sequence[str]) -> int:
    """Creates or changes an object; returns its generation. taken: its claims. Raises: ClaimedError."""
    before = find(connection, key)
    now = time.time()
    values = {"documents": json.dumps(documents), "state": str(ObjectState.PENDING), "changed": now}
    generation = 1 if before is None else before.generation + 1
    if before is None:
        row = {"tenant": key.tenant, "kind": key.kind, "name": key.name, "created": now, "outputs": "{}"}
        connection.execute(insert(objects).values(row | values | {"generation": generation, "ready_generation": 0}))
    else:
        connection.execute(update(objects).where(*_is(objects, key)).values(values | {"generation": generation}))
    _claim(connection, key, taken)
    return generation


def mark_deleting(connection: Connection, key: Key) -> None:
    """Marks an object; its row goes when its stack is gone."""
    values = {"state": str(ObjectState.DELETING), "changed": time.time()}
    connection.execute(update(objects).where(*_is(objects, key)).values(values))


def add_operation(
    connection: Connection, key: Key, action: Action, generation: int, documents: Mapping[str, Any]
) -> str:
    """A new operation; returns its id. It waits if the object has another one."""
    identifier = secrets.token_hex(16)
    if not action.is_upkeep:
        _yield_to_order(connection, key.stack)
    is_busy = _is_busy(connection, key.stack)
    if not action.previews:
        older = [operations.c.stack == key.stack, operations.c.state == str(State.WAITING)]
        values = {"state": str(State.REPLACED), "ended": time.time()}
        connection.execute(update(operations).where(*older, operations.c.action.not_in(_PREVIEWS)).values(values))
    tag = LAST if action.is_upkeep else _fair_tag(connection, key.tenant)
    row: dict[str, Any] = {"id": identifier, "tenant": key.tenant, "kind": key.kind, "name": key.name}
    row |= {"stack": key.stack, "action": str(action), "state": str(State.WAITING if is_busy else State.QUEUED)}
    run = offers.filled(connection, key.tenant, documents) if key.kind == KindName.FEDERATIONS else documents
    row |= {"generation": generation, "documents": json.dumps(run), "tag": tag}
    connection.execute(insert(operations).values({**row, "created": time.time(), "attempts": 0, "cancel": 0}))
    if not (action.previews or action.is_upkeep):
        connection.execute(update(objects).where(*_is(objects, key)).values(operation=identifier))
    return identifier


def _yield_to_order(connection: Connection, stack: str) -> None:
    """Ends the stack's upkeep that has not begun, and interrupts a check: an order does not wait for them."""
    of_stack = [operations.c.stack == stack, operations.c.action.in_(_UPKEEP)]
    queued = [*of_stack, operations.c.state.in_((str(State.WAITING), str(State.QUEUED)))]
    ended = {"state": str(State.REPLACED), "ended": time.time()}
    connection.execute(update(operations).where(*queued).values(ended))
    checks = [*of_stack, operations.c.state == str(State.RUNNING), operations.c.action == str(Action.CHECK)]
    connection.execute(update(operations).where(*checks).values(cancel=1))


def _is_busy(connection: Connection, stack: str) -> bool:
    """Whether an operation of the stack is queued or runs."""
    active = select(operations.c.id).where(operations.c.stack == stack, operations.c.state.in_(ACTIVE))
    return connection.execute(active).first() is not None


def has_open_operation(connection: Connection, stack: str) -> bool:
    """Whether an operation of the stack has not ended."""
    found = select(operations.c.id).where(operations.c.stack == stack, operations.c.state.in_(OPEN))
    return connection.execute(found).first() is not None


def _fair_tag(connection: Connection, tenant: str) -> int:
    """The start tag of start-time fair queueing: one behind the tenant's last order, but not before the present.

    So the first order of a tenant comes before the second of another, in whichever order they arrive.
    """
    newest = select(func.coalesce(func.max(operations.c.tag), 0)).where(operations.c.action.not_in(_UPKEEP))
    present = connection.execute(newest.where(operations.c.started.is_not(None))).scalar_one()
    last = connection.execute(newest.where(operations.c.tenant == tenant)).scalar_one()
    return int(max(present, last + 1))


def start(database: Database, identifier: str, executor: str | None = None) -> Row[Any] | None:
    """Marks an operation as running, and counts the attempt. None if it has ended, such as by cancellation.

    executor: its id with PostgreSQL. Raises: LostExecutorError.
    """
    is_open = [operations.c.id == identifier, operations.c.state.in_(ACTIVE)]
    values = {
        "state": str(State.RUNNING),
        "attempts": operations.c.attempts + 1,
        "started": func.coalesce(operations.c.started, time.time()),
    }
    with database.writing() as connection:
        if executor is not None and not executors.is_live(connection, executor):
            raise LostExecutorError
        connection.execute(update(operations).where(*is_open).values(values))
        return connection.execute(select(operations).where(*is_open)).one_or_none()


def unfinished_since(database: Database, row: Row[Any]) -> float | None:
    """The first start of this stack's operations since its last success; None if none was interrupted or failed."""
    of_stack = [operations.c.stack == row.stack, operations.c.action.not_in(_PREVIEWS)]
    succeeded = select(func.coalesce(func.max(operations.c.ended), 0.0)).where(
        *of_stack, operations.c.state == str(State.SUCCEEDED)
    )
    with database.reading() as connection:
        last = connection.execute(succeeded).scalar_one()
        tried = [*of_stack, operations.c.started >= last]
        first, number, attempts = connection.execute(
            select(func.min(operations.c.started), func.count(), func.sum(operations.c.attempts)).where(*tried)
        ).one()
    own = 0 if Action(row.action).previews else 1
    # This operation's own first attempt alone is no interruption.
    return None if number == own and (attempts or 0) == own else float(first)


def add_event(database: Database, identifier: str, data: Mapping[str, Any]) -> None:
    """Adds an event of an operation."""
    last = select(func.coalesce(func.max(events.c.number), 0)).where(events.c.operation == identifier)
    with database.writing() as connection:
        number = connection.execute(last).scalar_one() + 1
        row = {"operation": identifier, "number": number, "time": time.time(), "data": json.dumps(data)}
        connection.execute(insert(events).values(row))


def wants_cancel(database: Database, identifier: str) -> bool:
    """Whether somebody requested the end of this operation."""
    with database.reading() as connection:
        return bool(connection.execute(select(operations.c.cancel).where(operations.c.id == identifier)).scalar_one())


def finish(database: Database, identifier: str, outcome: Outcome, attempt: int | None = None) -> bool:
    """Ends an operation, once, with its effect on the object. Returns False if it had ended before.

    attempt: the one whose end this is. That of an earlier one counts for nothing: another executor has taken over.
    """
    now = time.time()
    is_open = [operations.c.id == identifier, operations.c.state.in_(ACTIVE)]
    if attempt is not None:
        is_open.append(operations.c.attempts == attempt)
    values = {"state": str(outcome.state), "ended": now, "error": outcome.error}
    with database.writing() as connection:
        row = connection.execute(select(operations).where(*is_open)).one_or_none()
        if row is None:
            return False
        connection.execute(update(operations).where(*is_open).values({**values, "result": json.dumps(outcome.result)}))
        _apply(connection, row, outcome)
        return True


def _apply(connection: Connection, row: Row[Any], outcome: Outcome) -> None:
    key, action = Key(row.tenant, row.kind, row.name), Action(row.action)
    if action.is_upkeep:
        upkeep.record(connection, row, outcome.state, outcome.result, outcome.error)
    succeeded = outcome.state is State.SUCCEEDED
    if action is Action.FOLLOW and succeeded:
        outputs = {"outputs": json.dumps(outcome.result.get("outputs", {}))}
        connection.execute(update(objects).where(*_is(objects, key)).values(outputs))
    if action.previews or action.is_upkeep:
        return
    if action is Action.DESTROY and succeeded:
        # Not an object that was ordered again meanwhile: its generation is newer.
        gone = [*_is(objects, key), objects.c.generation == row.generation]
        if connection.execute(delete(objects).where(*gone)).rowcount:
            connection.execute(delete(claims).where(*_is(claims, key)))
            for table in (upkeeps, sources, parts):
                connection.execute(delete(table).where(*_is(table, key)))
            if key.kind == KindName.FEDERATIONS:
                offers.forget(connection, key.tenant, key.name)
        return
    values: dict[str, Any] = {"state": str(ObjectState.READY if succeeded else ObjectState.FAILED)}
    if succeeded:
        ready = {"outputs": json.dumps(outcome.result.get("outputs", {})), "ready_generation": row.generation}
        connection.execute(update(objects).where(*_is(objects, key)).values(ready))
        upkeep.record(connection, row, outcome.state, outcome.result, outcome.error)
    # A newer order keeps its own state.
    mine = [*_is(objects, key), objects.c.operation == row.id]
    connection.execute(update(objects).where(*mine).values(values))


def queue_next(database: Database, stack: str) -> tuple[str, int] | None:
    """Queues the stack's oldest waiting operation if none is queued or runs; returns its id and tag."""
    with database.writing() as connection:
        if _is_busy(connection, stack):
            return None
        waiting = select(operations.c.id, operations.c.tag).where(
            operations.c.stack == stack, operations.c.state == str(State.WAITING)
        )
        row = connection.execute(waiting.order_by(operations.c.created).limit(1)).one_or_none()
        if row is None:
            return None
        connection.execute(update(operations).where(operations.c.id == row.id).values(state=str(State.QUEUED)))
        return row.id, row.tag


def unfinished(database: Database) -> list[tuple[str, int]]:
    """Ids and tags of the operations that are queued or run."""
    with database.reading() as connection:
        rows = connection.execute(select(operations.c.id, operations.c.tag).where(operations.c.state.in_(ACTIVE)))
        return [(row.id, row.tag) for row in rows]


def waiting_stacks(database: Database) -> list[str]:
    """The stacks with waiting operations."""
    with database.reading() as connection:
        rows = connection.execute(select(operations.c.stack).where(operations.c.state == str(State.WAITING)).distinct())
        return [row.stack for row in rows]


def cancel(connection: Connection, identifier: str) -> str | None:
    """Requests the end of an operation; returns its state then. One that has not started ends at once."""
    row = connection.execute(select(operations).where(operations.c.id == identifier)).one_or_none()
    if row is None:
        return None
    if row.state in (State.WAITING, State.QUEUED):
        values = {
            "state": str(State.CANCELLED),
            "ended": time.time(),
            "cancel": 1,
            "error": "cancelled before its start",
        }
        connection.execute(update(operations).where(operations.c.id == identifier).values(values))
        _apply(connection, row, Outcome(State.CANCELLED, {}))
        return str(State.CANCELLED)
    if row.state == State.RUNNING:
        connection.execute(update(operations).where(operations.c.id == identifier).values(cancel=1))
    return str(row.state)


def _claim(connection: Connection, key: Key, taken: Sequence[str]) -> None:
    """Claims stay until the object is gone: a cluster may have objects of an earlier generation."""
    for claim in taken:
        holder = connection.execute(select(claims).where(claims.c.claim == claim)).one_or_none()
        if holder and Key(holder.tenant, holder.kind, holder.name) == key:
            continue
        if holder:
            raise ClaimedError(claim)
        row = {"claim": claim, "tenant": key.tenant, "kind": key.kind, "name": key.name}
        connection.execute(insert(claims).values(row))


def _is(table: Any, key: Key) -> list[Any]:
    return of_object(table, *key.parts)


def stack_of(database: Database, identifier: str) -> str | None:
    """The stack of an operation; None for a check that a later one has deleted."""
    with database.reading() as connection:
        row = connection.execute(select(operations.c.stack).where(operations.c.id == identifier)).one_or_none()
        return None if row is None else str(row.stack)
