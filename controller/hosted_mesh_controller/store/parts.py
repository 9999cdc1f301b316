"""Parts of an object that several custom resources order together, such as the intents of a mesh."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.progress import COLUMNS, KEY, with_progress
from hosted_mesh_controller.store.tables import objects, of_object, parts


@dataclass(frozen=True)
class Part:
    """An accepted resource. generation: the resource's. facts: of its compilation. base: generation of its mesh."""

    cluster: str
    resource: str
    uid: str
    generation: int
    spec: Mapping[str, Any]
    facts: Mapping[str, Any]
    base: int


def of_cluster(connection: Connection, cluster: str) -> dict[str, Row[Any]]:
    """The parts of a cluster's resources, by the resource's name, each with its object and its last operation."""
    found = select(
        parts,
        *[objects.c[one] for one in ("ready_generation", "state", "operation")],
        objects.c.generation.label("order"),
        *COLUMNS,
    ).select_from(with_progress(parts))
    rows: list[Row[Any]] = list(connection.execute(found.where(parts.c.cluster == cluster)))
    return {row.resource: row for row in rows}


def of_key(connection: Connection, key: Key) -> list[Row[Any]]:
    """The parts of an object, those that leave among them, by cluster and resource."""
    found = select(parts).where(*of_object(parts, *key.parts)).order_by(parts.c.cluster, parts.c.resource)
    return list(connection.execute(found))


def holder(connection: Connection, key: Key) -> Row[Any] | None:
    """A part of the object whose resource exists; None for an object without one."""
    return next((one for one in of_key(connection, key) if one.uid), None)


def find(connection: Connection, cluster: str, resource: str) -> Row[Any] | None:
    """The part of a resource."""
    return connection.execute(select(parts).where(*_is(cluster, resource))).one_or_none()


def save(connection: Connection, key: Key, part: Part) -> None:
    """Notes an accepted resource. `mark_ordered` follows in the same transaction."""
    connection.execute(delete(parts).where(*_is(part.cluster, part.resource)))
    row: dict[str, Any] = {"cluster": part.cluster, "resource": part.resource}
    row |= dict(zip(KEY, key.parts, strict=True))
    row |= {"uid": part.uid, "generation": part.generation, "spec": json.dumps(part.spec), "base": part.base}
    connection.execute(insert(parts).values({**row, "facts": json.dumps(part.facts), "ordered": 0, "leaving": 0}))


def leave(connection: Connection, cluster: str, resource: str) -> None:
    """Notes that a resource's part leaves its object."""
    connection.execute(update(parts).where(*_is(cluster, resource)).values(leaving=1, ordered=0))


def mark_ordered(connection: Connection, key: Key, generation: int, base: int) -> None:
    """Notes the order with the changed parts, and the mesh's generation behind all of them."""
    of_key_ = of_object(parts, *key.parts)
    connection.execute(update(parts).where(*of_key_, parts.c.ordered == 0).values(ordered=generation))
    connection.execute(update(parts).where(*of_key_).values(base=base))


def remove_left(connection: Connection, cluster: str, resource: str) -> None:
    """Removes a part that has left."""
    connection.execute(delete(parts).where(*_is(cluster, resource)))


def release(connection: Connection, cluster: str, resource: str) -> None:
    """Notes that a resource is gone without its finalizer: its part stays."""
    connection.execute(update(parts).where(*_is(cluster, resource)).values(uid=""))


def _is(cluster: str, resource: str) -> list[Any]:
    return [parts.c.cluster == cluster, parts.c.resource == resource]
