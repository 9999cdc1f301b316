"""The rights of a tenant's intents and federations: one check for orders by REST and by custom resources.

A mesh's root namespace is `mesh-NAME`: a policy there is for all of the mesh. So such orders write there for their own
mesh only, and that mesh is one that the tenant has ordered, with the target's cluster as a member. The check reads
names and compiles nothing: the compiler takes each object's namespace from a service, a gateway or the mesh, and its
costs are no linear function of a request's size.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh import InvalidInputError, Problem
from sqlalchemy import Connection, Row, select

from hosted_mesh_controller.documents import MESHES, SOURCE, Documents, Kind, anothers, effective
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store.tables import objects
from hosted_mesh_controller.vocabulary import KindName, ObjectState

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Reach:
    """The names that intents may use. mesh: theirs. clusters: of the inventory. domains: the tenant's; none for any."""

    mesh: str
    clusters: Collection[str]
    domains: tuple[str, ...]


def foreign_names(intents: Config, inventory: Config, reach: Reach) -> Iterator[Problem]:
    """Problems with names of another's in two documents of the right shape: clusters, domains, meshes' namespaces."""
    domain = intents.get("domain")
    if domain is not None and reach.domains and not any(f".{domain}".endswith(f".{one}") for one in reach.domains):
        fix = f"Choose a name below {' or '.join(reach.domains)}"
        yield Problem("intents.domain", "is outside of your domains", fix)
    for at, service in enumerate(inventory.get("services", ())):
        for position, name in enumerate(service.get("clusters", ())):
            if name not in reach.clusters:
                fix = f"Use one of {', '.join(sorted(reach.clusters))}"
                field = f"inventory.services[{at}].clusters[{position}]"
                yield Problem(field, f"is no cluster of mesh {reach.mesh}", fix)
    yield from anothers(_namespaces(intents, inventory, reach), reach.mesh)


def _namespaces(intents: Config, inventory: Config, reach: Reach) -> Iterator[tuple[str, str]]:
    """Fields and values of the namespaces that objects may be in, besides the mesh's own."""
    for at, namespace in enumerate(intents.get("namespaces", ())):
        yield f"intents.namespaces[{at}]", namespace
    for at, service in enumerate(inventory.get("services", ())):
        yield f"inventory.services[{at}].namespace", service["namespace"]
    for at, cluster in enumerate(inventory.get("clusters", ())):
        # A gateway of another mesh is a place to call: its objects are in clusters that this order does not reach.
        for position, gateway in enumerate(cluster.get("gateways", ()) if cluster["mesh"] == reach.mesh else ()):
            if gateway.get("namespace"):
                yield f"inventory.clusters[{at}].gateways[{position}].namespace", gateway["namespace"]


def meshes_in(connection: Connection, settings: Settings, tenant: str, cluster: str) -> list[Row[Any]]:
    """The meshes that a tenant has ordered with this cluster as a member. cluster: its name in the settings."""
    table = objects.c
    found = select(objects).where(table.tenant == tenant, table.kind == str(MESHES.name)).order_by(table.name)
    return [row for row in connection.execute(found) if cluster in _members(settings, row)]


def _members(settings: Settings, row: Row[Any]) -> list[str]:
    merged = effective(MESHES, json.loads(row.documents), settings, row.tenant)["mesh"]
    return [one["cluster"]["kubeconfig"] for one in merged.get("memberships", ())]


def require_rights(connection: Connection, settings: Settings, tenant: str, kind: Kind, documents: Documents) -> None:
    """Checks documents of an order whose models are checked. Raises: InvalidInputError."""
    if kind.name is KindName.INTENTS:
        problems = _of_intents(connection, settings, tenant, documents)
    elif kind.name is KindName.FEDERATIONS:
        problems = _of_federation(connection, settings, tenant, documents)
    else:
        return
    if found := list(problems):
        raise InvalidInputError(found, SOURCE)


def _of_intents(connection: Connection, settings: Settings, tenant: str, documents: Documents) -> Iterator[Problem]:
    inventory, target = documents["inventory"], documents["target"]
    places = {one["name"]: (at, one["mesh"]) for at, one in enumerate(inventory["clusters"])}
    if target["name"] not in places:
        fix = "Add it there with its mesh, or correct the name"
        yield Problem("target.name", "is no cluster of the inventory", fix)
        return
    at, mesh = places[target["name"]]
    own = _own_meshes(connection, settings, tenant, target["cluster"])
    if mesh not in own:
        yield _no_mesh(f"inventory.clusters[{at}].mesh", own)
        return
    reach = Reach(mesh, places.keys(), settings.tenants[tenant].domains)
    yield from foreign_names(documents["intents"], inventory, reach)


def _of_federation(connection: Connection, settings: Settings, tenant: str, documents: Documents) -> Iterator[Problem]:
    mesh, cluster = documents["member"]["mesh"], documents["member"]["cluster"]
    own = _own_meshes(connection, settings, tenant, cluster)
    if mesh not in own:
        yield _no_mesh("member.mesh", own)
        return
    for at, peer in enumerate(documents["federation"]["peers"]):
        # The facts of peers are places to call: this order writes in its own cluster only.
        if peer["mesh"] == mesh:
            yield from anothers(_namespaces_of_peer(f"federation.peers[{at}]", peer), mesh)


def _namespaces_of_peer(field: str, peer: Config) -> Iterator[tuple[str, str]]:
    for name in ("gateway", "egress"):
        if namespace := (peer.get(name) or {}).get("namespace"):
            yield f"{field}.{name}.namespace", namespace
    for at, export in enumerate(peer.get("exports", ())):
        yield f"{field}.exports[{at}].namespace", export["namespace"]
    for at, wish in enumerate(peer.get("imports", ())):
        for position, namespace in enumerate(wish.get("namespaces", ())):
            yield f"{field}.imports[{at}].namespaces[{position}]", namespace


def _own_meshes(connection: Connection, settings: Settings, tenant: str, reference: Config) -> list[str]:
    rows = meshes_in(connection, settings, tenant, reference["kubeconfig"])
    return [row.name for row in rows if row.state != ObjectState.DELETING]


def _no_mesh(field: str, own: list[str]) -> Problem:
    rule = "is no mesh that you have ordered with this order's cluster as a member"
    fix = f"Name one of {', '.join(own)}" if own else "Order the mesh first, or request this from the provider"
    return Problem(field, rule, fix)
