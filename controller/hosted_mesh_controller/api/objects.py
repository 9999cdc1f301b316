"""Routes of ordered objects: one set for each kind."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from pulumi_hosted_mesh import InvalidInputError, Problem
from pydantic import ValidationError
from sqlalchemy import select

from hosted_mesh_controller.api import rendering
from hosted_mesh_controller.api.access import By, Has, Name, Services, Tenant, require_role, require_writer
from hosted_mesh_controller.api.bodies import Body
from hosted_mesh_controller.api.ordering import Ordered, etag, matches, present, replaced
from hosted_mesh_controller.api.schema import body_of
from hosted_mesh_controller.documents import SOURCE, Kind
from hosted_mesh_controller.store import audit, upkeep
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.tables import objects
from hosted_mesh_controller.store.tokens import Caller
from hosted_mesh_controller.views import ObjectPage, Operation, OrderedObject, UpkeepPolicy, UpkeepState
from hosted_mesh_controller.vocabulary import Repair

Limit = Annotated[int, Query(ge=1, le=200, description="Most items on a page.")]
After = Annotated[str | None, Query(max_length=100, pattern=r"^[-.a-z0-9]*$", description="`next` of the page before.")]


def routes(kind: Kind) -> APIRouter:
    """The routes of a kind."""
    router = APIRouter(prefix=f"/v1/tenants/{{tenant}}/{kind.name}", tags=[kind.name])
    documented: dict[str, Any] = {"openapi_extra": body_of(f"{kind.title}Order")}

    @router.get("", summary=f"List {kind.name}", operation_id=f"list_{_snake(kind)}")
    def list_objects(has: Has, tenant: Tenant, limit: Limit = 50, after: After = None) -> ObjectPage:
        found = select(objects).where(objects.c.tenant == tenant, objects.c.kind == kind.name)
        if after:
            found = found.where(objects.c.name > after)
        with has.database.reading() as connection:
            rows = connection.execute(found.order_by(objects.c.name).limit(limit + 1)).all()
            kept = upkeep.find_all(connection, tenant, [(kind.name, row.name) for row in rows[:limit]])
        rules = has.settings.upkeep
        items = [rendering.ordered_object(row, kept.get((kind.name, row.name)), rules) for row in rows[:limit]]
        return ObjectPage(items=items, next=items[-1].name if len(rows) > limit else None)

    @router.post(
        "",
        status_code=HTTPStatus.ACCEPTED,
        response_model=Operation,
        summary=f"Order an object of kind {kind.name}",
        operation_id=f"order_{_snake(kind)}",
        **documented,
    )
    def create(order: Ordered, body: Body) -> Response:
        return order.create(kind, body)

    @router.get(
        "/{name}",
        response_model=OrderedObject,
        responses={304: {"description": "The object has the ETag of If-None-Match."}},
        summary="Read an object",
        operation_id=f"show_{_snake(kind)}",
    )
    def show(
        has: Has,
        tenant: Tenant,
        name: Name,
        response: Response,
        if_none_match: Annotated[
            str | None, Header(description="ETag of your copy; 304 if a ready object has it.")
        ] = None,
    ) -> Any:
        with has.database.reading() as connection:
            row = present(connection, Key(tenant, kind.name, name))
            kept = upkeep.find(connection, tenant, kind.name, name)
        # The state changes without a new generation, so only an unchanging object may answer 304.
        is_stable = row.state == "ready" and (kept is None or kept.checked is None)
        if if_none_match and is_stable and matches(if_none_match, row.generation):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": etag(row.generation)})
        response.headers["ETag"] = etag(row.generation)
        return rendering.ordered_object(row, kept, has.settings.upkeep)

    @router.put(
        "/{name}",
        status_code=HTTPStatus.ACCEPTED,
        response_model=Operation,
        summary="Order a change of an object",
        operation_id=f"change_{_snake(kind)}",
        **documented,
    )
    def change(order: Ordered, name: Name, body: Body) -> Response:
        return order.change(kind, name, body, replaced(body))

    @router.delete(
        "/{name}",
        status_code=HTTPStatus.ACCEPTED,
        response_model=Operation,
        summary="Order the removal of an object and of its stack",
        operation_id=f"delete_{_snake(kind)}",
    )
    def delete(order: Ordered, name: Name) -> Response:
        return order.remove(kind, name)

    @router.put(
        "/{name}/upkeep",
        dependencies=[Depends(require_writer)],
        summary="Set the policy for changes by others",
        operation_id=f"keep_{_snake(kind)}",
        openapi_extra=body_of(UpkeepPolicy.__name__),
    )
    def keep(has: Has, by: By, tenant: Tenant, name: Name, body: Body) -> UpkeepState:
        return kept_by(has, by, kind, Key(tenant, kind.name, name), body)

    return router


def kept_by(has: Services, by: Caller, kind: Kind, key: Key, body: Any) -> UpkeepState:
    """The upkeep of an object after a caller who may write has set its policy."""
    with has.database.writing() as connection:
        present(connection, key)
        require_role(by, kind.ordered_by, kind.name)
        policy = _policy(body)
        before = upkeep.find(connection, *key.parts)
        upkeep.set_repair(connection, *key.parts, policy.repair)
        old = {"upkeep": {"repair": before.repair if before else None}}
        new = {"upkeep": {"repair": policy.repair}}
        audit.record(connection, by, key.tenant, "policy", f"{kind.name}/{key.name}", None, old, new)
        return rendering.upkeep_state(upkeep.find(connection, *key.parts), has.settings.upkeep)


def _policy(body: Any) -> UpkeepPolicy:
    try:
        return UpkeepPolicy.model_validate(body)
    except ValidationError:
        rule = f'must be {{"repair": P}}, and P one of {", ".join(Repair)}, null'
        raise InvalidInputError([Problem("repair", rule, "Correct it")], SOURCE) from None


def _snake(kind: Kind) -> str:
    return kind.name.replace("-", "_")
