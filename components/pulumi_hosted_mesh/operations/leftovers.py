"""ConfigMaps with the mesh's root certificate, which istiod writes into the data plane's namespaces outside of stacks.

With `access.rootCertificateOwner` the cluster removes them itself (see `data_plane.root_certificate_owner`). istiod's
other objects are in the mesh's namespace, which the stack removes.
"""

from __future__ import annotations

from urllib.parse import urlencode

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.vocabulary import namespace_of, revocation_list_config_map, root_certificate_config_map


def find(mesh: str, data_plane: Kubeconfig) -> list[tuple[str, str]]:
    """Namespace and name of each remaining ConfigMap of a mesh. mesh: its name.

    Raises: InvalidInputError while the mesh exists, because istiod would write them again; UnreachableError.
    """
    api = ApiServer(data_plane)
    namespace = namespace_of(mesh)
    if api.get(f"/api/v1/namespaces/{namespace}") is not None:
        rule, fix = f"the mesh is still there: namespace {namespace} exists", "Destroy its stacks first"
        raise InvalidInputError([Problem("cluster", rule, fix)], "the data plane")
    found = []
    for name in (root_certificate_config_map(mesh), revocation_list_config_map(mesh)):
        selector = urlencode({"fieldSelector": f"metadata.name={name}"})
        items = api.list(f"/api/v1/configmaps?{selector}", metadata_only=True)
        found += [(item["metadata"]["namespace"], name) for item in items]
    return sorted(found)


def remove(found: list[tuple[str, str]], data_plane: Kubeconfig) -> None:
    """Removes the ConfigMaps. Raises: UnreachableError."""
    api = ApiServer(data_plane)
    for namespace, name in found:
        api.delete(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
