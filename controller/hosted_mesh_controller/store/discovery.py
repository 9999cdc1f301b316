"""The meshes that discovery found, by cluster, namespace, revision and role."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, select

from hosted_mesh_controller.store.tables import found, looks, objects
from hosted_mesh_controller.vocabulary import KindName

_KEY: Final = ("cluster", "namespace", "revision", "role")
_NAMESPACE: Final = "mesh-"


@dataclass(frozen=True)
class Installation:
    """One revision of a mesh in one cluster. facts: as `hosted-mesh discover --json` prints them."""

    mesh: str
    trust_domain: str
    peers: Sequence[str]
    facts: Mapping[str, Any]


def record(connection: Connection, cluster: str, installations: Sequence[Installation] | None, now: float) -> None:
    """Records a look at a cluster; None for a cluster that could not be read, whose earlier facts stay."""
    connection.execute(delete(looks).where(looks.c.cluster == cluster))
    connection.execute(insert(looks).values(cluster=cluster, time=now, readable=0 if installations is None else 1))
    if installations is None:
        return
    known = {_key(row): row.first for row in connection.execute(select(found).where(found.c.cluster == cluster))}
    connection.execute(delete(found).where(found.c.cluster == cluster))
    rows = {}
    for one in installations:
        row = {"cluster": cluster, **{part: str(one.facts[part]) for part in _KEY[1:]}, "mesh": one.mesh, "last": now}
        facts = {**one.facts, "trust_domain": one.trust_domain, "peers": list(one.peers)}
        key = tuple(str(row[part]) for part in _KEY)
        rows[key] = row | {"facts": json.dumps(facts), "first": known.get(key, now)}
    for row in rows.values():
        connection.execute(insert(found).values(row))


def forget_others(connection: Connection, clusters: Collection[str]) -> None:
    """Forgets clusters that the settings no longer have."""
    for table in (found, looks):
        connection.execute(delete(table).where(table.c.cluster.not_in(list(clusters))))


def of_clusters(connection: Connection, clusters: Collection[str]) -> list[Row[Any]]:
    """The found meshes in these clusters."""
    order = [found.c[part] for part in _KEY]
    return list(connection.execute(select(found).where(found.c.cluster.in_(list(clusters))).order_by(*order)))


def unreadable(connection: Connection, clusters: Collection[str]) -> list[str]:
    """Those of these clusters that the last look could not read."""
    of_them = [looks.c.cluster.in_(list(clusters)), looks.c.readable == 0]
    return [row.cluster for row in connection.execute(select(looks).where(*of_them).order_by(looks.c.cluster))]


def ordered_namespaces(connection: Connection) -> set[str]:
    """The namespaces of ordered meshes."""
    names = select(objects.c.name).where(objects.c.kind == str(KindName.MESHES))
    return {f"{_NAMESPACE}{row.name}" for row in connection.execute(names)}


def _key(row: Row[Any]) -> tuple[str, ...]:
    return tuple(getattr(row, part) for part in _KEY)
