"""Routes of the pages that read; `page_actions` has those that change something.

A browser sends the token as the password of HTTP Basic; the interface accepts Bearer only. So another site that makes a
browser send a request reaches these two modules alone.
"""

from __future__ import annotations

import base64
import binascii
import json
from http import HTTPStatus
from typing import Annotated, Any, Final

import yaml
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import and_, func, select

from hosted_mesh_controller.api import access, page_forms, rendering
from hosted_mesh_controller.api import page_html as html
from hosted_mesh_controller.api.access import WRITERS, Has, Services
from hosted_mesh_controller.api.errors import not_found
from hosted_mesh_controller.api.operations import operation_row
from hosted_mesh_controller.api.ordering import present
from hosted_mesh_controller.api.page_parts import answer
from hosted_mesh_controller.api.page_route import PageRoute
from hosted_mesh_controller.api.page_session import Session
from hosted_mesh_controller.documents import KINDS, Kind
from hosted_mesh_controller.store import upkeep
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.tables import events, objects, operations
from hosted_mesh_controller.store.tokens import Caller, caller_of
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.vocabulary import Action, KindName

router: Final = APIRouter(
    prefix="/page", include_in_schema=False, default_response_class=HTMLResponse, route_class=PageRoute
)
_MOST_OPERATIONS: Final = 50
_MOST_EVENTS: Final = 1000
_MOST_OBJECTS: Final = 500


def reader(request: Request, has: Has) -> Caller:
    """The holder of the token in the request's password."""
    found = caller_of(has.database, _password(request.headers.get("authorization", "")))
    header = 'Basic realm="hosted-mesh: any name, your token as password", charset="UTF-8"'
    return access.admitted(has, found, "requires a token as password", {"WWW-Authenticate": header})


By = Annotated[Caller, Depends(reader)]


def seen_tenant(tenant: str, by: By, has: Has) -> str:
    """The tenant of the path. For a token of another tenant it does not exist."""
    return access.seen_tenant(tenant, by, has)


Tenant = Annotated[str, Depends(seen_tenant)]


def session(request: Request, _by: By) -> Session:
    """The browser with its token."""
    return Session(request, _password(request.headers.get("authorization", "")))


Own = Annotated[Session, Depends(session)]


@router.get("")
def begin(by: By, has: Has) -> Response:
    """The list of tenants for the provider; for others their own page."""
    if by.tenant is not None:
        return RedirectResponse(f"/page/tenants/{by.tenant}", HTTPStatus.SEE_OTHER)
    return answer(html.tenants(sorted(has.settings.tenants)))


@router.get("/tenants/{tenant}")
def tenant_page(tenant: Tenant, has: Has, by: By) -> Response:
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
    buttons = page_forms.of_tenant(tenant) if by.role in WRITERS else ""
    return answer(html.tenant(tenant, shown, [rendering.operation(row) for row in ran], buttons))


@router.get("/tenants/{tenant}/objects/{kind}/{name}")
def object_page(tenant: Tenant, kind: str, name: str, has: Has, by: By, own: Own) -> Response:
    """One object with its documents."""
    found = found_kind(kind)
    with has.database.reading() as connection:
        row = present(connection, Key(tenant, kind, name))
        kept = upkeep.find(connection, tenant, kind, name)
        last = connection.execute(_last_previews(tenant, kind, name)).first()
    one = rendering.ordered_object(row, kept, has.settings.upkeep)
    buttons = page_forms.of_object(one, own) if may_order(by, found) else ""
    preview = rendering.operation(last) if last else None
    made = answer(html.ordered(one, preview, yaml_of(one.documents), buttons))
    own.keep(made)
    return made


@router.get("/tenants/{tenant}/operations/{operation}")
def operation_page(tenant: Tenant, operation: str, has: Has, by: By) -> Response:
    """One operation with its steps and messages."""
    row = operation_row(has, tenant, operation)
    one = rendering.operation(row)
    buttons = page_forms.of_operation(one) if may_order(by, KINDS[row.kind]) else ""
    return answer(html.operation(one, _events(has, operation), buttons))


def found_kind(name: str) -> Kind:
    """The kind of a path; 404 without it."""
    if name not in KINDS:
        raise not_found()
    return KINDS[KindName(name)]


def may_order(by: Caller, kind: Kind) -> bool:
    """Whether a caller gets the buttons of a kind. The routes check the rights again."""
    return by.role in WRITERS and by.role in kind.ordered_by


def yaml_of(documents: Any) -> str:
    """Documents as text."""
    return str(yaml.safe_dump(documents, sort_keys=False, width=120, allow_unicode=True))


def _last_previews(tenant: str, kind: str | None = None, name: str | None = None) -> Any:
    """The last preview of each object, or of one: one query, for a tenant may have hundreds."""
    previews = [operations.c.tenant == tenant]
    if kind and name:
        previews += [operations.c.kind == kind, operations.c.name == name]
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
