"""Routes of the page that change something, by the functions of the interface's own routes.

A GET shows what an act does. Its form has the proof that the POST to the same path requires.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pulumi_hosted_mesh import InvalidInputError, Problem, content_of_text
from sqlalchemy import Row, select

from hosted_mesh_controller.api import page_forms, rendering
from hosted_mesh_controller.api.access import Has, Services, require_role, require_writer
from hosted_mesh_controller.api.bodies import LARGEST, require_json
from hosted_mesh_controller.api.errors import ApiError, described, not_found
from hosted_mesh_controller.api.idempotency import Repetition
from hosted_mesh_controller.api.objects import kept_by
from hosted_mesh_controller.api.operations import cancelled, operation_row
from hosted_mesh_controller.api.ordering import Order, etag, present, replaced
from hosted_mesh_controller.api.page import By, Own, Tenant, found_kind, may_order, yaml_of
from hosted_mesh_controller.api.page_parts import answer, object_path
from hosted_mesh_controller.api.page_route import PageRoute
from hosted_mesh_controller.api.page_session import VERSION, Session, read_form, require_own_origin
from hosted_mesh_controller.documents import KINDS, MESHES, SOURCE, Kind, checked, clusters_in, effective
from hosted_mesh_controller.store import orders, upkeep
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.tables import operations
from hosted_mesh_controller.store.tokens import Caller
from hosted_mesh_controller.views import Operation, OrderedObject
from hosted_mesh_controller.vocabulary import Action, KindName, ObjectState, State

router: Final = APIRouter(
    prefix="/page/tenants/{tenant}",
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=PageRoute,
)
_OFFERS: Final = "offers"


def writer_tenant(tenant: Tenant, by: By) -> str:
    """The tenant of the path, for callers who may order. Another tenant's path is 404 for readers too."""
    require_writer(by, tenant)
    return tenant


Writable = Annotated[str, Depends(writer_tenant)]


async def posted(request: Request, _tenant: Writable, own: Own) -> dict[str, str]:
    """The fields of a form that this page gave this caller for this path."""
    require_own_origin(request)
    fields = await read_form(request)
    own.require(request.url.path, fields)
    return fields


Posted = Annotated[dict[str, str], Depends(posted)]


@dataclass(frozen=True)
class Target:
    """An object that the caller may order."""

    kind: Kind
    row: Row[Any]
    shown: OrderedObject


def target(kind: str, name: str, tenant: Writable, by: By, has: Has) -> Target:
    """The object of the path."""
    found = found_kind(kind)
    with has.database.reading() as connection:
        row = present(connection, Key(tenant, kind, name))
        kept = upkeep.find(connection, tenant, kind, name)
    require_role(by, found.ordered_by, found.name)
    return Target(found, row, rendering.ordered_object(row, kept, has.settings.upkeep))


Of = Annotated[Target, Depends(target)]


def stopped(operation: str, tenant: Writable, by: By, has: Has) -> Row[Any]:
    """The operation of the path, of a kind that the caller may order."""
    row = operation_row(has, tenant, operation)
    require_role(by, KINDS[row.kind].ordered_by, row.kind)
    return row


OfOperation = Annotated[Row[Any], Depends(stopped)]


@router.get("/operations/{operation}/cancel")
def ask_cancel(row: OfOperation, own: Own) -> Response:
    """The confirmation of a cancellation."""
    return _confirmation(own, page_forms.cancel(rendering.operation(row), own))


@router.post("/operations/{operation}/cancel")
def cancel(row: OfOperation, _form: Posted, tenant: Writable, by: By, has: Has) -> Response:
    """Cancels an operation."""
    cancelled(has, by, tenant, row.id)
    return _operation(tenant, row.id)


@router.post("/objects/{kind}/{name}/preview")
def preview(found: Of, form: Posted, request: Request, tenant: Writable, by: By, has: Has) -> Response:
    """Previews another run with the same documents."""
    order = _order(request, has, by, tenant, form, dry_run=True)
    return _follow(order.change(found.kind, found.row.name, None, lambda before: before))


@router.get("/objects/{kind}/{name}/apply")
def ask_apply(found: Of, own: Own) -> Response:
    """The confirmation of another run."""
    return _confirmation(own, page_forms.apply(found.shown, own))


@router.post("/objects/{kind}/{name}/apply")
def apply(found: Of, form: Posted, request: Request, tenant: Writable, by: By, has: Has) -> Response:
    """Orders another run with the same documents."""
    order = _order(request, has, by, tenant, form)
    return _follow(order.change(found.kind, found.row.name, None, lambda before: before))


@router.post("/objects/{kind}/{name}/preview-removal")
def preview_removal(found: Of, form: Posted, request: Request, tenant: Writable, by: By, has: Has) -> Response:
    """Previews the removal of an object."""
    return _follow(_order(request, has, by, tenant, form, dry_run=True).remove(found.kind, found.row.name))


@router.get("/objects/{kind}/{name}/remove")
def ask_removal(found: Of, own: Own, has: Has) -> Response:
    """The confirmation of a removal: its name, and everything that goes."""
    return _confirmation(own, _removal(found, own, has))


@router.post("/objects/{kind}/{name}/remove")
def remove(found: Of, form: Posted, request: Request, tenant: Writable, by: By, has: Has, own: Own) -> Response:
    """Orders the removal of an object whose name the form has."""
    if form.get("name", "").strip() != found.row.name:
        problem = Problem("name", f"must be {found.row.name}", "Type the name of the object that you remove")
        return answer(_removal(found, own, has, problem), HTTPStatus.UNPROCESSABLE_ENTITY)
    return _follow(_order(request, has, by, tenant, form).remove(found.kind, found.row.name))


@router.get("/objects/{kind}/{name}/upkeep")
def ask_upkeep(found: Of, own: Own, has: Has) -> Response:
    """The choice of a policy for drift."""
    return _confirmation(own, page_forms.upkeep(found.shown, own, has.settings.upkeep.repair))


@router.post("/objects/{kind}/{name}/upkeep")
def keep(found: Of, form: Posted, tenant: Writable, by: By, has: Has) -> Response:
    """Sets the policy for drift."""
    key = Key(tenant, found.kind.name, found.row.name)
    kept_by(has, by, found.kind, key, {"repair": form.get("repair") or None})
    return RedirectResponse(object_path(*key.parts), HTTPStatus.SEE_OTHER)


@router.get("/orders")
def ask_order(tenant: Writable, by: By, has: Has, own: Own, kind: str = "", name: str = "") -> Response:
    """The form of an order: empty, or with the documents of an object."""
    given = {"kind": kind or str(MESHES.name)}
    if name:
        with has.database.reading() as connection:
            row = present(connection, Key(tenant, found_kind(kind).name, name))
        given["documents"] = yaml_of(json.loads(row.documents))
    return _confirmation(own, page_forms.documents(tenant, own, _kinds(by), given))


@router.post("/orders")
def preview_order(form: Posted, request: Request, tenant: Writable, by: By, has: Has, own: Own) -> Response:
    """Previews an order of documents, of a new object or of a change. Errors are above the form, with its text."""
    try:
        kind = found_kind(form.get("kind", ""))
        require_role(by, kind.ordered_by, kind.name)
        documents = _documents(kind, form.get("documents", ""))
        order = _order(request, has, by, tenant, form, dry_run=True)
        name = checked(kind, documents, has.settings, tenant, by.role)
        with has.database.reading() as connection:
            exists = orders.find(connection, Key(tenant, kind.name, name)) is not None
        if exists:
            return _follow(order.change(kind, name, documents, replaced(documents)))
        return _follow(order.create(kind, documents))
    except (ApiError, InvalidInputError) as error:
        found = described(error)
        text = page_forms.documents(tenant, own, _kinds(by), form, found.detail, found.problems)
        return answer(text, found.status, found.headers)


@router.get("/operations/{operation}/order")
def ask_order_of_preview(row: OfOperation, own: Own, has: Has) -> Response:
    """The confirmation of the order of a preview's documents."""
    documents, generation = _previewed(row, has)
    text = page_forms.order(rendering.operation(row), own, yaml_of(documents), generation)
    return _confirmation(own, text)


@router.post("/operations/{operation}/order")
def order_preview(row: OfOperation, form: Posted, request: Request, tenant: Writable, by: By, has: Has) -> Response:
    """Orders the documents of a preview."""
    documents, _generation = _previewed(row, has)
    order = _order(request, has, by, tenant, form)
    kind = KINDS[row.kind]
    if form.get(VERSION):
        return _follow(order.change(kind, row.name, documents, replaced(documents)))
    return _follow(order.create(kind, documents))


def _confirmation(own: Session, text: str) -> Response:
    made = answer(text)
    own.keep(made)
    return made


def _order(
    request: Request, has: Services, by: Caller, tenant: str, form: dict[str, str], *, dry_run: bool = False
) -> Order:
    """The parts of an order, about the generation that its confirmation showed."""
    version = form.get(VERSION)
    if_match = etag(int(version)) if version else None
    return Order(has, by, tenant, Repetition(request, by.token, None), if_match, dry_run)


def _follow(made: Response) -> Response:
    """The page of an accepted order's operation."""
    return RedirectResponse("/page" + made.headers["Location"].removeprefix("/v1"), HTTPStatus.SEE_OTHER)


def _operation(tenant: str, identifier: str) -> Response:
    return RedirectResponse(f"/page/tenants/{tenant}/operations/{identifier}", HTTPStatus.SEE_OTHER)


def _kinds(by: Caller) -> list[KindName]:
    return [kind.name for kind in KINDS.values() if may_order(by, kind)]


def _documents(kind: Kind, text: str) -> Any:
    """The documents in a form. Raises: InvalidInputError."""
    found = content_of_text(text, SOURCE)
    try:
        encoded = require_json(found)
    except (ValueError, RecursionError, TypeError):
        fix = "Correct it, or put it in quotes"
        raise InvalidInputError([Problem("(document)", "has a value that JSON has not", fix)], SOURCE) from None
    if len(encoded) > LARGEST:
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the documents have more than {LARGEST} bytes")
    if kind.name == KindName.FEDERATIONS and isinstance(found, dict) and _OFFERS in found:
        fix = "Leave it out: the controller reads the Services. Or order by REST"
        raise InvalidInputError([Problem(_OFFERS, "cannot be given on this page", fix)], SOURCE)
    return json.loads(encoded)


def _previewed(row: Row[Any], has: Services) -> tuple[dict[str, Any], int | None]:
    """The documents of a successful preview, and the generation of their object; None for a new one.

    Raises: ApiError if the object has changed since.
    """
    if row.action != Action.PREVIEW_UP or row.state != State.SUCCEEDED:
        raise not_found()
    documents: dict[str, Any] = json.loads(row.documents)
    if row.kind == KindName.FEDERATIONS:
        # The run's, which the controller read: given in an order they would never follow the Services.
        documents.pop(_OFFERS, None)
    with has.database.reading() as connection:
        found = orders.find(connection, Key(row.tenant, row.kind, row.name))
    if found is None:
        return documents, None
    if found.changed > row.created or found.state == ObjectState.DELETING:
        raise ApiError(HTTPStatus.PRECONDITION_FAILED, "the object has changed since this preview: preview again")
    return documents, found.generation


def _removal(found: Target, own: Session, has: Services, *problems: Problem) -> str:
    """The page that confirms a removal."""
    row, kind = found.row, found.kind
    documents = effective(kind, json.loads(row.documents), has.settings, row.tenant)
    clusters = [f"{name} ({side})" for name, side in sorted(clusters_in(kind, documents).items())]
    key = Key(row.tenant, row.kind, row.name)
    lost = [f"the stack {key.stack}, by pulumi destroy, with all of its objects in {', '.join(clusters)}"]
    if kind is MESHES:
        mesh = documents["mesh"]
        hosts = ", ".join(one["host"] for one in mesh["revisions"])
        lost.append(f"istiod at {hosts}, with the injection and configuration of all proxies")
        lost.append("the mesh's keys: a later order of the same documents makes others")
    with has.database.reading() as connection:
        last = connection.execute(_removal_preview(row)).first()
    root = documents["mesh"].get("trust", {}).get("root", {}) if kind is MESHES else {"protect": False}
    is_protected = root.get("protect", True)
    return page_forms.removal(found.shown, own, lost, _shown(last), problems, is_protected=is_protected)


def _shown(row: Row[Any] | None) -> Operation | None:
    return None if row is None else rendering.operation(row)


def _removal_preview(row: Row[Any]) -> Any:
    """The last preview of the removal of an object's present generation."""
    found = select(operations).where(
        operations.c.tenant == row.tenant,
        operations.c.kind == row.kind,
        operations.c.name == row.name,
        operations.c.generation == row.generation,
        operations.c.action == str(Action.PREVIEW_DESTROY),
        operations.c.state == str(State.SUCCEEDED),
        operations.c.created >= row.changed,
    )
    return found.order_by(operations.c.created.desc()).limit(1)
