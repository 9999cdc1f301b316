"""What istiod wrote into the user's cluster and no stack knows of: the root certificate in every namespace.

Everything else that istiod writes is in the mesh's namespace, which the stack removes.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust.names import ORGANIZATION, root_common_name
from pulumi_hosted_mesh.vocabulary import MESH_LABEL, ROOT_CERTIFICATE_CONFIG_MAP

# The label and the key that istiod gives it (pilot/pkg/serviceregistry/kube/controller/namespacecontroller.go).
SELECTORS = {"labelSelector": "istio.io/config=true", "fieldSelector": f"metadata.name={ROOT_CERTIFICATE_CONFIG_MAP}"}
KEY = "root-cert.pem"


@dataclass(frozen=True)
class Leftovers:
    """namespaces: those with a certificate of the root that was asked for.

    other_roots: names of roots, as `MeshRoot` has them, whose certificates are in other namespaces.
    """

    namespaces: list[str]
    other_roots: list[str]


def find(mesh: Mesh, data_plane: Kubeconfig, root: str | None = None) -> Leftovers:
    """Where in the user's cluster this mesh's root certificate is left.

    root: name of the `MeshRoot` that the mesh was signed by; by default its own, which is named after it.
    Raises: InvalidInputError while the mesh is still there, or another under the same root, for istiod would write them
    again; UnreachableError.
    """
    api = ApiServer(data_plane)
    if api.get(f"/api/v1/namespaces/{mesh.namespace}") is not None:
        raise _still_there(f"the mesh is still there: namespace {mesh.namespace} exists", "Destroy its stacks first")
    items = (api.get(f"/api/v1/configmaps?{urlencode(SELECTORS)}") or {"items": []})["items"]
    roots = {item["metadata"]["namespace"]: roots_in((item.get("data") or {}).get(KEY, "")) for item in items}
    wanted = root or mesh.name
    found = sorted(namespace for namespace, names in roots.items() if wanted in names)

    meshes = (api.get(f"/api/v1/namespaces?{urlencode({'labelSelector': MESH_LABEL})}") or {"items": []})["items"]
    for namespace in (item["metadata"]["name"] for item in meshes):
        if namespace in found:
            rule = f"another mesh under root {wanted} is still there: namespace {namespace} exists"
            raise _still_there(rule, "Destroy its stacks first, or leave what is found: it is that mesh's as well")
    return Leftovers(found, sorted(set().union(*roots.values()) - {wanted}))


def remove(namespaces: list[str], data_plane: Kubeconfig) -> None:
    """Removes them. Raises: UnreachableError."""
    api = ApiServer(data_plane)
    for namespace in namespaces:
        api.delete(f"/api/v1/namespaces/{namespace}/configmaps/{ROOT_CERTIFICATE_CONFIG_MAP}")


def roots_in(pem: str) -> set[str]:
    """Names of the roots, as `MeshRoot` has them, whose certificates are among these; other authorities have none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        # Comments between certificates may be in any language, and the ssl module takes ASCII alone.
        context.load_verify_locations(cadata=pem.encode("ascii", "ignore").decode())
    except (OSError, ValueError):
        return set()
    certificates: list[Any] = context.get_ca_certs()
    subjects = [dict(part for parts in one["subject"] for part in parts) for one in certificates]
    suffix = root_common_name("")
    return {
        str(subject["commonName"]).removesuffix(suffix)
        for subject in subjects
        if subject.get("organizationName") == ORGANIZATION and str(subject.get("commonName")).endswith(suffix)
    }


def _still_there(rule: str, fix: str) -> InvalidInputError:
    return InvalidInputError([Problem("dataPlane.cluster", rule, fix)])
