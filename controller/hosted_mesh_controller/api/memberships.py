"""Routes of memberships: parts of a mesh document. The ETag is the mesh's, and so is the operation."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter, Response
from pulumi_hosted_mesh import DEFAULT_MEMBERSHIP, InvalidInputError, Problem

from hosted_mesh_controller.api.access import Has, Name, Tenant
from hosted_mesh_controller.api.bodies import Body
from hosted_mesh_controller.api.errors import not_found
from hosted_mesh_controller.api.ordering import Ordered, etag, present, with_membership
from hosted_mesh_controller.api.schema import body_of
from hosted_mesh_controller.documents import MESHES, SOURCE
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.views import MembershipPage, Operation

router: Final = APIRouter(prefix="/v1/tenants/{tenant}/meshes/{name}/memberships", tags=["memberships"])


@router.get("", summary="List the memberships of a mesh", operation_id="list_memberships")
def list_memberships(has: Has, tenant: Tenant, name: Name, response: Response) -> MembershipPage:
    """All memberships, in the mesh document's order."""
    return MembershipPage(items=_memberships(has, tenant, name, response))


@router.get("/{membership}", summary="Read a membership", operation_id="show_membership")
def show(has: Has, tenant: Tenant, name: Name, membership: Name, response: Response) -> dict[str, Any]:
    """One membership document."""
    for one in _memberships(has, tenant, name, response):
        if one.get("name", DEFAULT_MEMBERSHIP) == membership:
            return one
    raise not_found()


@router.put(
    "/{membership}",
    status_code=HTTPStatus.ACCEPTED,
    response_model=Operation,
    summary="Add or change a membership",
    operation_id="order_membership",
    openapi_extra=body_of("Membership"),
)
def put(order: Ordered, name: Name, membership: Name, body: Body) -> Response:
    """Orders the mesh with this membership."""
    if not isinstance(body, dict) or body.get("name", DEFAULT_MEMBERSHIP) != membership:
        rule, fix = f"must be a membership document with the name {membership}", "Give both the same name"
        raise InvalidInputError([Problem("name", rule, fix)], SOURCE)
    return order.change(MESHES, name, body, with_membership(membership, body))


@router.delete(
    "/{membership}",
    status_code=HTTPStatus.ACCEPTED,
    response_model=Operation,
    summary="Remove a membership",
    operation_id="delete_membership",
)
def delete(order: Ordered, name: Name, membership: Name) -> Response:
    """Orders the mesh without this membership."""
    return order.change(MESHES, name, None, with_membership(membership, None))


def _memberships(has: Has, tenant: str, name: str, response: Response) -> list[dict[str, Any]]:
    with has.database.reading() as connection:
        row = present(connection, Key(tenant, MESHES.name, name))
    response.headers["ETag"] = etag(row.generation)
    found: list[dict[str, Any]] = json.loads(row.documents)["mesh"].get("memberships", [])
    return found
