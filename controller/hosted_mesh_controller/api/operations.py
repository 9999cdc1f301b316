"""Routes of operations: list, read, cancel, and progress as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.responses import StreamingResponse
from pulumi_hosted_mesh import InvalidInputError, Problem
from sqlalchemy import Row, and_, or_, select

from hosted_mesh_controller.api import rendering
from hosted_mesh_controller.api.access import By, Has, Services, Tenant, require_role, require_writer
from hosted_mesh_controller.api.errors import not_found
from hosted_mesh_controller.api.objects import After, Limit
from hosted_mesh_controller.documents import KINDS, SOURCE
from hosted_mesh_controller.store import audit, orders
from hosted_mesh_controller.store.tables import events, operations
from hosted_mesh_controller.store.tokens import Caller
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.views import Operation, OperationPage
from hosted_mesh_controller.vocabulary import State

router: Final = APIRouter(prefix="/v1/tenants/{tenant}/operations", tags=["operations"])
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="Id of the operation.")]
_LOOK: Final = 0.5  # seconds between looks for new events
_BEAT: Final = 15.0  # seconds between comments that keep the connection open
_PAGE: Final = 500


@router.get("", summary="List operations, newest first", operation_id="list_operations")
def list_operations(
    has: Has,
    tenant: Tenant,
    state: Annotated[State | None, Query(description="Only operations in this state.")] = None,
    limit: Limit = 50,
    after: After = None,
) -> OperationPage:
    """The operations of a tenant."""
    found = select(operations).where(operations.c.tenant == tenant)
    if state:
        found = found.where(operations.c.state == str(state))
    with has.database.reading() as connection:
        if after:
            last = connection.execute(
                select(operations.c.created).where(operations.c.tenant == tenant, operations.c.id == after)
            ).scalar_one_or_none()
            if last is None:
                problem = Problem("after", "names no operation", "Begin at the first page, without it")
                raise InvalidInputError([problem], SOURCE)
            earlier = operations.c.created < last
            found = found.where(or_(earlier, and_(operations.c.created == last, operations.c.id < after)))
        ordered = found.order_by(operations.c.created.desc(), operations.c.id.desc())
        rows = connection.execute(ordered.limit(limit + 1)).all()
    items = [rendering.operation(row) for row in rows[:limit]]
    return OperationPage(items=items, next=items[-1].id if len(rows) > limit else None)


@router.get("/{operation}", summary="Read an operation", operation_id="show_operation")
def show(has: Has, tenant: Tenant, operation: Id) -> Operation:
    """One operation."""
    return rendering.operation(operation_row(has, tenant, operation))


@router.post(
    "/{operation}/cancel",
    status_code=HTTPStatus.ACCEPTED,
    dependencies=[Depends(require_writer)],
    summary="Cancel an operation",
    operation_id="cancel_operation",
)
def cancel(has: Has, by: By, tenant: Tenant, operation: Id) -> Operation:
    """Ends an operation that has not started at once. One that runs gets an interrupt, and ends its begun steps."""
    return cancelled(has, by, tenant, operation)


def cancelled(has: Services, by: Caller, tenant: str, operation: str) -> Operation:
    """The operation after its cancellation by a caller who may write."""
    row = operation_row(has, tenant, operation)
    require_role(by, KINDS[row.kind].ordered_by, row.kind)
    if not State(row.state).ended:
        with has.database.writing() as connection:
            orders.cancel(connection, operation)
            audit.record(connection, by, tenant, "cancel", f"operations/{operation}", operation)
        has.queue.released(row.stack)
    return rendering.operation(operation_row(has, tenant, operation))


@router.get(
    "/{operation}/events",
    summary="Follow an operation: server-sent events",
    operation_id="follow_operation",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events."}},
)
def follow(
    has: Has,
    tenant: Tenant,
    operation: Id,
    wait: Annotated[bool, Query(description="False ends the stream after the present events.")] = True,
    last_event_id: Annotated[int, Header(ge=0, le=2**31 - 1, description="Number of the last event you have.")] = 0,
) -> StreamingResponse:
    """Steps and messages of the engine, each with its number as id; at the end the operation, as event `end`."""
    operation_row(has, tenant, operation)
    stream = _stream(has, tenant, operation, last_event_id, wait=wait)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _stream(has: Services, tenant: str, identifier: str, last: int, *, wait: bool) -> AsyncIterator[str]:
    silent = 0.0
    while True:
        # The state first: events that come after it was read are found in the next round.
        row = await asyncio.to_thread(operation_row, has, tenant, identifier)
        found = await asyncio.to_thread(_events, has, identifier, last)
        for one in found:
            last = one.number
            data = json.loads(one.data) | {"time": moment(one.time)}
            yield _message(data["type"], data, last)
        if len(found) == _PAGE:
            continue
        if State(row.state).ended or not wait:
            operation = rendering.operation(row).model_dump(mode="json", by_alias=True)
            yield _message("end" if State(row.state).ended else "state", operation, last)
            return
        silent = 0 if found else silent + _LOOK
        if silent >= _BEAT:
            silent = 0
            yield ": still running\n\n"
        await asyncio.sleep(_LOOK)


def _message(kind: str, data: Any, number: int) -> str:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"


def _events(has: Services, identifier: str, last: int) -> Sequence[Row[Any]]:
    found = select(events).where(events.c.operation == identifier, events.c.number > last)
    with has.database.reading() as connection:
        return connection.execute(found.order_by(events.c.number).limit(_PAGE)).all()


def operation_row(has: Services, tenant: str, identifier: str) -> Row[Any]:
    """The row of a tenant's operation; 404 without it."""
    found = select(operations).where(operations.c.tenant == tenant, operations.c.id == identifier)
    with has.database.reading() as connection:
        row = connection.execute(found).one_or_none()
    if row is None:
        raise not_found()
    return row
