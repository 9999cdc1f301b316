"""The rights of a tenant's intents: one check for orders by REST and by custom resources.

A mesh's root namespace is `mesh-NAME`: a policy there is for all of the mesh. So intents write there for their own mesh
only, and that mesh is one that the tenant has ordered, with the target's cluster as a member. The check reads names
and compiles nothing: the compiler takes each object's namespace from a service, a gateway or the mesh, and its costs
are no linear function of a request's size.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh import InvalidInputError, Problem
from sqlalchemy import Connection, Row, select

from hosted_mesh_controller.documents import MESHES, SOURCE, Documents, effective
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.store.tables import objects
from hosted_mesh_controller.vocabulary import ObjectState

Config = Mapping[str, Any]
_ROOTS: Final = "mesh-"
"""Begin of the meshes' namespaces."""
_REST: Final = "Use namespaces of your own services"


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
    for field, namespace in _namespaces(intents, inventory, reach):
        if namespace.startswith(_ROOTS) and namespace != f"{_ROOTS}{reach.mesh}":
            yield Problem(field, f"is the namespace of another mesh than {reach.mesh}", _REST)


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


def require_rights(connection: Connection, settings: Settings, tenant: str, documents: Documents) -> None:
    """Checks documents of an order whose models are checked. Raises: InvalidInputError."""
    inventory, target = documents["inventory"], documents["target"]
    cluster = target["cluster"]["kubeconfig"]
    own = [row.name for row in meshes_in(connection, settings, tenant, cluster) if row.state != ObjectState.DELETING]
    places = {one["name"]: (at, one["mesh"]) for at, one in enumerate(inventory["clusters"])}
    if target["name"] not in places:
        fix = "Add it there with its mesh, or correct the name"
        raise InvalidInputError([Problem("target.name", "is no cluster of the inventory", fix)], SOURCE)
    at, mesh = places[target["name"]]
    if mesh not in own:
        rule = "is no mesh that you have ordered with the target's cluster as a member"
        fix = f"Name one of {', '.join(own)}" if own else "Order the mesh first, or request this from the provider"
        raise InvalidInputError([Problem(f"inventory.clusters[{at}].mesh", rule, fix)], SOURCE)
    reach = Reach(mesh, places.keys(), settings.tenants[tenant].domains)
    if problems := list(foreign_names(documents["intents"], inventory, reach)):
        raise InvalidInputError(problems, SOURCE)
