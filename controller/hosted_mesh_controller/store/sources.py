"""The custom resources that order objects: the cluster of each, its uid, and its ordered generation."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.progress import COLUMNS, KEY, with_progress
from hosted_mesh_controller.store.tables import objects, of_object, sources


def find(connection: Connection, key: Key) -> Row[Any] | None:
    """The source of an object; None for an object that was ordered by REST."""
    return connection.execute(select(sources).where(*of_object(sources, *key.parts))).one_or_none()


def of_cluster(connection: Connection, cluster: str) -> dict[str, Row[Any]]:
    """The objects that a cluster's custom resources order, by name, each with its last operation and its upkeep."""
    found = select(
        *[objects.c[part] for part in (*KEY, "generation", "ready_generation", "state", "outputs", "operation")],
        sources.c.uid,
        sources.c.generation.label("ordered"),
        *COLUMNS,
    ).select_from(with_progress(sources))
    rows: list[Row[Any]] = list(connection.execute(found.where(sources.c.cluster == cluster)))
    return {row.name: row for row in rows}


def save(connection: Connection, key: Key, cluster: str, uid: str, generation: int) -> None:
    """Notes the custom resource of an order."""
    values = {"cluster": cluster, "uid": uid, "generation": generation}
    changed = connection.execute(update(sources).where(*of_object(sources, *key.parts)).values(**values))
    if not changed.rowcount:
        row = {"tenant": key.tenant, "kind": key.kind, "name": key.name}
        connection.execute(insert(sources).values(row | values))


def release(connection: Connection, key: Key) -> None:
    """Notes that the custom resource is gone without a removal of the object."""
    connection.execute(update(sources).where(*of_object(sources, *key.parts)).values(uid=""))
