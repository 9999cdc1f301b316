"""Places an order: the object, its operation and the entry of the audit log, in one transaction."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import InvalidInputError, Problem
from sqlalchemy import Connection, Row, select

from hosted_mesh_controller.documents import SOURCE, Documents, Kind, claims
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store import audit, orders
from hosted_mesh_controller.store.database import Database
from hosted_mesh_controller.store.orders import ClaimedError, Key
from hosted_mesh_controller.store.tables import operations
from hosted_mesh_controller.store.tokens import Caller
from hosted_mesh_controller.vocabulary import Action, State
from hosted_mesh_controller.work.queue import Queue


def place(
    connection: Connection,
    settings: Settings,
    by: Caller,
    kind: Kind,
    key: Key,
    documents: Documents,
    before: Documents,
) -> tuple[str, int]:
    """Creates or changes an object by documents that are checked; returns the operation's id and the generation.

    before: its present documents, empty for a new one. Raises: InvalidInputError for a name that another object has.
    """
    try:
        taken = claims(kind, documents, settings, key.tenant)
        generation = orders.save(connection, key, documents, list(taken))
    except ClaimedError as error:
        raise InvalidInputError([taken_by_another(taken[error.claim])], SOURCE) from None
    act = "change" if before else "create"
    return add(connection, by, key, Action.UP, generation, documents, act, before, documents), generation


def taken_by_another(field: str) -> Problem:
    """The problem of a field with a name that another object has."""
    return Problem(field, "is taken by another mesh", "Choose another name, or another cluster")


def place_removal(connection: Connection, by: Caller, key: Key, generation: int, documents: Documents) -> str:
    """Marks an object as going away; returns the operation's id."""
    orders.mark_deleting(connection, key)
    return add(connection, by, key, Action.DESTROY, generation, documents, "delete", documents, {})


def add(
    connection: Connection,
    by: Caller,
    key: Key,
    action: Action,
    generation: int,
    documents: Documents,
    act: str,
    before: Documents,
    after: Documents,
) -> str:
    """Adds an operation and the entry of the audit log; returns the operation's id."""
    identifier = orders.add_operation(connection, key, action, generation, documents)
    done = "dry-run" if action.previews else act
    audit.record(connection, by, key.tenant, done, f"{key.kind}/{key.name}", identifier, before, after)
    return identifier


def queue_placed(database: Database, queue: Queue, identifier: str) -> Row[Any]:
    """Queues an operation after the commit, unless it waits for another one; returns its row."""
    with database.reading() as connection:
        row = connection.execute(select(operations).where(operations.c.id == identifier)).one()
    if row.state == State.QUEUED:
        queue.add(identifier, row.tag)
    return row
