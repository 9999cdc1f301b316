"""The offer of a federation's peer, from the Services of its own cluster: a file for its peers."""

from __future__ import annotations

from urllib.parse import quote

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.federation.exports import needs_reading, offer
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation, Offer


def read_offer(federation: Federation, mesh: str, cluster: Kubeconfig | None) -> Offer:
    """The offer of a peer. Reads only the Services of the namespaces that its exports select from.

    Raises: InvalidInputError if the mesh is no peer, or if a cluster is required and missing; UnreachableError.
    """
    require_peer(federation, mesh)
    if not needs_reading(federation, mesh):
        return offer(federation, mesh)
    if cluster is None:
        raise _refused("--kubeconfig", "is required: exports select Services by label", "Name the mesh's own cluster")
    api = ApiServer(cluster)
    namespaces = sorted({one.namespace for one in federation.peer(mesh).exports if one.service is None})
    services = [
        service for namespace in namespaces for service in api.list(f"/api/v1/namespaces/{quote(namespace)}/services")
    ]
    return offer(federation, mesh, services)


def require_peer(federation: Federation, mesh: str) -> None:
    """Raises: InvalidInputError if a mesh is no peer."""
    if mesh not in {one.mesh for one in federation.peers}:
        raise _refused("--mesh", "is no peer of this federation", "Name one of its peers")


def _refused(field: str, rule: str, fix: str) -> InvalidInputError:
    return InvalidInputError([Problem(field, rule, fix)], "the command line")
