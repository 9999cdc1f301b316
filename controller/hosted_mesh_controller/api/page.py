"""Routes of the page. A browser sends the token as the password of HTTP Basic; the interface accepts Bearer only.

So another site that makes a browser send a request can change nothing: these routes read.
"""

from __future__ import annotations

import base64
import binascii
import json
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import and_, func, select

from hosted_mesh_controller.api import page_html as html
from hosted_mesh_controller.api import rendering
from hosted_mesh_controller.api.access import Has, Services
from hosted_mesh_controller.store import upkeep
from hosted_mesh_controller.store.tables import events, objects, operations
from hosted_mesh_controller.store.tokens import Caller, caller_of
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.vocabulary import Action, Role

router: Final = APIRouter(prefix="/page", include_in_schema=False, default_response_class=HTMLResponse)
_MOST_OPERATIONS: Final = 50
_MOST_EVENTS: Final = 1000
_MOST_OBJECTS: Final = 500


class PageError(Exception):
    """An answer without content."""

    def __init__(self, status: HTTPStatus, headers: dict[str, str] | None = None) -> None:
        super().__init__(status.phrase)
        self.status, self.headers = status, headers or {}


def reader(request: Request, has: Has) -> Caller:
    """The holder of the token in the request's password."""
    found = caller_of(has.database, _password(request.headers.get("authorization", "")))
    if found is None or found.role is Role.ADMISSION:
        header = 'Basic realm="hosted-mesh: any name, your token as password", charset="UTF-8"'
        raise PageError(HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": header})
    if not has.limiter.admit(found.token):
        raise PageError(HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": "1"})
    return found


def refused(_request: Request, error: Exception) -> Response:
    """The answer to a request that is not answered with a page."""
    assert isinstance(error, PageError)
    return html.answer(html.refusal(error.status.phrase), error.status, error.headers)


By = Annotated[Caller, Depends(reader)]


def seen_tenant(tenant: str, by: By, has: Has) -> str:
    """The tenant of the path. For a token of another tenant it does not exist."""
    if not by.may_see(tenant) or tenant not in has.settings.tenants:
        raise PageError(HTTPStatus.NOT_FOUND)
    return tenant


Tenant = Annotated[str, Depends(seen_tenant)]


@router.get("")
def begin(by: By, has: Has) -> Response:
    """The list of tenants for the provider; for others their own page."""
    if by.tenant is not None:
        return RedirectResponse(f"/page/tenants/{by.tenant}", HTTPStatus.SEE_OTHER)
    return html.answer(html.tenants(sorted(has.settings.tenants)))


@router.get("/tenants/{tenant}")
def tenant_page(tenant: Tenant, has: Has) -> Response:
    """Objects with drift and certificates, and the newest operations."""
    of_tenant = select(objects).where(objects.c.tenant == tenant)
    newest = select(operations).where(operations.c.tenant == tenant)
    newest = newest.order_by(operations.c.created.desc(), operations.c.id.desc()).limit(_MOST_OPERATIONS)
    with has.database.reading() as connection:
        rows = connection.execute(of_tenant.order_by(objects.c.kind, objects.c.name).limit(_MOST_OBJECTS)).all()
        kept = upkeep.find_all(connection, tenant, [(row.kind, row.name) for row in rows])
        last = connection.execute(_last_previews(tenant)).all()
        ran = connection.execute(newest).all()
    rules, previews = has.settings.upkeep, {(row.kind, row.name): rendering.operation(row) for row in last}
    shown = [
        (rendering.ordered_object(row, kept.get((row.kind, row.name)), rules), previews.get((row.kind, row.name)))
        for row in rows
    ]
    return html.answer(html.tenant(tenant, shown, [rendering.operation(row) for row in ran]))


@router.get("/tenants/{tenant}/operations/{operation}")
def operation_page(tenant: Tenant, operation: str, has: Has) -> Response:
    """One operation with its steps and messages."""
    found = select(operations).where(operations.c.tenant == tenant, operations.c.id == operation)
    with has.database.reading() as connection:
        row = connection.execute(found).one_or_none()
    if row is None:
        raise PageError(HTTPStatus.NOT_FOUND)
    return html.answer(html.operation(rendering.operation(row), _events(has, operation)))


def _last_previews(tenant: str) -> Any:
    """The last preview of each object: one query, for a tenant may have hundreds."""
    previews = [operations.c.tenant == tenant]
    previews.append(operations.c.action.in_([str(Action.PREVIEW_UP), str(Action.PREVIEW_DESTROY)]))
    last = select(operations.c.kind, operations.c.name, func.max(operations.c.created).label("created"))
    newest = last.where(*previews).group_by(operations.c.kind, operations.c.name).subquery()
    same = [operations.c[part] == newest.c[part] for part in ("kind", "name", "created")]
    return select(operations).join(newest, and_(*same)).where(*previews)


def _events(has: Services, operation: str) -> list[dict[str, Any]]:
    found = select(events).where(events.c.operation == operation).order_by(events.c.number.desc()).limit(_MOST_EVENTS)
    with has.database.reading() as connection:
        rows = connection.execute(found).all()
    return [json.loads(row.data) | {"time": moment(row.time)} for row in reversed(rows)]


def _password(header: str) -> str:
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
