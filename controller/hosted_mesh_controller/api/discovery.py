"""Routes of found meshes: those of a tenant's own clusters, and for the provider those of all."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Final

from fastapi import APIRouter, Depends
from sqlalchemy import Row

from hosted_mesh_controller.api.access import Has, Services, Tenant, require_provider
from hosted_mesh_controller.store import discovery
from hosted_mesh_controller.times import moment
from hosted_mesh_controller.views import FoundMesh, FoundMeshPage, MeshNamespace
from hosted_mesh_controller.vocabulary import Side

router: Final = APIRouter(tags=["found-meshes"])


@router.get(
    "/v1/tenants/{tenant}/found-meshes",
    summary="List meshes in the tenant's own clusters, whoever made them",
    operation_id="list_found_meshes",
)
def list_found(has: Has, tenant: Tenant) -> FoundMeshPage:
    """The meshes in data planes that admit this tenant alone. Control planes and shared clusters are the provider's."""
    clusters = has.settings.clusters.items()
    own = [name for name, one in clusters if one.side is Side.DATA_PLANE and one.tenants == (tenant,)]
    return _page(has, own)


@router.get(
    "/v1/found-meshes",
    dependencies=[Depends(require_provider)],
    summary="List meshes in all clusters, whoever made them (provider)",
    operation_id="list_all_found_meshes",
)
def list_all_found(has: Has) -> FoundMeshPage:
    """The meshes in all clusters."""
    return _page(has, list(has.settings.clusters))


def _page(has: Services, clusters: Collection[str]) -> FoundMeshPage:
    with has.database.reading() as connection:
        rows = discovery.of_clusters(connection, clusters)
        away = discovery.unreadable(connection, clusters)
        ordered = discovery.ordered_namespaces(connection)
    return FoundMeshPage(items=[_found(row, is_ordered=row.namespace in ordered) for row in rows], unreadable=away)


def _found(row: Row[Any], *, is_ordered: bool) -> FoundMesh:
    facts = json.loads(row.facts)
    own = {key: facts[key] for key in ("trust_domain", "version", "managed_by", "ready", "istiod", "peers")}
    members = [MeshNamespace(namespace=one["namespace"], proxies=one["proxies"]) for one in facts["members"]]
    return FoundMesh(
        **own,
        mesh=row.mesh,
        cluster=row.cluster,
        namespace=row.namespace,
        revision=row.revision,
        role=row.role,
        components=list(facts["components"]),
        members=members,
        ordered=is_ordered and facts["managed_by"] == "hosted-mesh",
        first_seen=moment(row.first),
        last_seen=moment(row.last),
    )
