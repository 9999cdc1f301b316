"""One order: preconditions, validation, object and operation in one transaction, and the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Response
from fastapi.responses import JSONResponse
from pulumi_hosted_mesh import DEFAULT_MEMBERSHIP, InvalidInputError, Problem
from sqlalchemy import Connection, Row, select

from hosted_mesh_controller.api import rendering
from hosted_mesh_controller.api.access import By, Has, Tenant, require_role, require_writer
from hosted_mesh_controller.api.errors import ApiError, not_found
from hosted_mesh_controller.api.idempotency import Repeated
from hosted_mesh_controller.documents import SOURCE, Documents, Kind, checked
from hosted_mesh_controller.store import orders, parts, sources
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.tables import operations
from hosted_mesh_controller.vocabulary import Action, ObjectState, Role, State
from hosted_mesh_controller.work import placing
from hosted_mesh_controller.work.rights import require_rights

Change = Callable[[Documents], Documents]
"""New documents from the present ones."""


def present(connection: Connection, key: Key) -> Row[Any]:
    """The row of an object; 404 without it."""
    row = orders.find(connection, key)
    if row is None:
        raise not_found()
    return row


@dataclass(frozen=True)
class Order:
    """The parts of a request that orders something."""

    has: Has
    by: By
    tenant: Tenant
    repeated: Repeated
    if_match: str | None
    dry_run: bool

    def create(self, kind: Kind, documents: Any) -> Response:
        """Orders a new object."""
        self._require_role(kind)
        name = checked(kind, documents, self.has.settings, self.tenant, self.by.role)

        def act(connection: Connection, key: Key) -> tuple[str, int]:
            if orders.find(connection, key) is not None:
                detail = f"{kind.name}/{name} exists; change it with PUT"
                raise ApiError(HTTPStatus.CONFLICT, detail)
            return self._save(connection, kind, key, documents, {})

        return self._carried_out(kind, name, documents, act)

    def change(self, kind: Kind, name: str, body: Any, change: Change) -> Response:
        """Orders a change of an object."""
        self._require_role(kind)

        def act(connection: Connection, key: Key) -> tuple[str, int]:
            row = self._matching(connection, key)
            before = json.loads(row.documents)
            documents = change(before)
            if checked(kind, documents, self.has.settings, self.tenant, self.by.role) != name:
                rule, fix = f"would rename {name}", "Order the new object, move to it, then delete this one"
                raise InvalidInputError([Problem("(name)", rule, fix)], SOURCE)
            return self._save(connection, kind, key, documents, before)

        return self._carried_out(kind, name, body, act)

    def remove(self, kind: Kind, name: str) -> Response:
        """Orders the removal of an object."""
        self._require_role(kind)

        def act(connection: Connection, key: Key) -> tuple[str, int]:
            row = self._matching(connection, key)
            documents = json.loads(row.documents)
            if self.dry_run:
                action = Action.PREVIEW_DESTROY
                made = self._preview(connection, key, action, row.generation, documents, documents, {})
            else:
                made = placing.place_removal(connection, self.by, key, row.generation, documents)
            return made, row.generation

        return self._carried_out(kind, name, None, act)

    def _require_role(self, kind: Kind) -> None:
        require_role(self.by, kind.ordered_by, kind.name)

    def _matching(self, connection: Connection, key: Key) -> Row[Any]:
        """The object, if the request is about its present generation."""
        row = present(connection, key)
        if row.state == ObjectState.DELETING:
            raise ApiError(HTTPStatus.CONFLICT, "the object is being deleted; its operation is in `operation`")
        if not self.dry_run and self.by.role is not Role.PROVIDER:
            _require_no_resource(connection, key)
        if self.if_match is None and not self.dry_run:
            detail = "requires If-Match with the object's ETag, so that nobody's change is lost"
            raise ApiError(HTTPStatus.PRECONDITION_REQUIRED, detail)
        if self.if_match is not None and not matches(self.if_match, row.generation):
            raise ApiError(HTTPStatus.PRECONDITION_FAILED, "the object has changed; read it again")
        return row

    def _save(
        self, connection: Connection, kind: Kind, key: Key, documents: Documents, before: Documents
    ) -> tuple[str, int]:
        if self.by.role is Role.TENANT:
            require_rights(connection, self.has.settings, self.tenant, kind, documents)
        if self.dry_run:
            return self._preview(connection, key, Action.PREVIEW_UP, 0, documents, before, documents), 0
        return placing.place(connection, self.has.settings, self.by, kind, key, documents, before)

    def _preview(
        self,
        connection: Connection,
        key: Key,
        action: Action,
        generation: int,
        documents: Documents,
        before: Documents,
        after: Documents,
    ) -> str:
        return placing.add(connection, self.by, key, action, generation, documents, "", before, after)

    def _carried_out(
        self, kind: Kind, name: str, body: Any, act: Callable[[Connection, Key], tuple[str, int]]
    ) -> Response:
        """The act and the answer to it, once for each idempotency key. The operation is queued after the commit."""
        key = Key(self.tenant, kind.name, name)
        with self.has.database.writing() as connection:
            if earlier := self.repeated.earlier(connection, body):
                return earlier
            identifier, generation = act(connection, key)
            row = connection.execute(select(operations).where(operations.c.id == identifier)).one()
            content = rendering.operation(row).model_dump(mode="json", by_alias=True)
            headers = {"Location": f"/v1/tenants/{self.tenant}/operations/{identifier}"}
            if generation:
                headers["ETag"] = etag(generation)
            self.repeated.keep(connection, body, HTTPStatus.ACCEPTED, content, headers)
        if row.state == State.QUEUED:
            self.has.queue.add(identifier, row.tag)
        return JSONResponse(content, HTTPStatus.ACCEPTED, headers=headers)


def _require_no_resource(connection: Connection, key: Key) -> None:
    """409 for an object that custom resources order."""
    source, part = sources.find(connection, key), parts.holder(connection, key)
    holder = ("a HostedMesh", source.cluster) if source is not None and source.uid else None
    if part is not None:
        holder = (f"TrafficIntents {part.resource}", part.cluster)
    if holder:
        detail = f"{holder[0]} in cluster {holder[1]} orders this object; change or delete it there"
        raise ApiError(HTTPStatus.CONFLICT, detail)


def order(
    has: Has,
    by: By,
    tenant: Tenant,
    repeated: Repeated,
    if_match: Annotated[str | None, Header(description="ETag of the object, for changes and removals.")] = None,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Preview only; the operation has the steps.")] = False,
) -> Order:
    """The parts of an order."""
    require_writer(by, tenant)
    return Order(has, by, tenant, repeated, if_match, dry_run)


Ordered = Annotated[Order, Depends(order)]


def etag(generation: int) -> str:
    """The ETag of a generation."""
    return f'"{generation}"'


def matches(header: str, generation: int) -> bool:
    """Whether a list of ETags, or `*`, matches a generation."""
    return header.strip() == "*" or etag(generation) in [one.strip() for one in header.split(",")]


def replaced(documents: Documents) -> Change:
    """The change to these documents."""
    return lambda _before: documents


def with_membership(name: str, membership: Mapping[str, Any] | None) -> Change:
    """The change of one membership of a mesh; None removes it."""

    def change(before: Documents) -> Documents:
        mesh = before["mesh"]
        own_memberships = mesh.get("memberships", [])  # the provider's decisions may have the others
        present = [one.get("name", DEFAULT_MEMBERSHIP) for one in own_memberships]
        if membership is None:
            if name not in present:
                raise not_found()
            kept = [one for one, own in zip(own_memberships, present, strict=True) if own != name]
        elif name in present:
            kept = list(own_memberships)
            kept[present.index(name)] = membership
        else:
            kept = [*own_memberships, membership]
        return {**before, "mesh": {**mesh, "memberships": kept}}

    return change
