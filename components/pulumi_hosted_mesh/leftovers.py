"""What istiod wrote into the user's cluster and no stack knows of: the root certificate in every namespace.

Everything else that istiod writes is in the mesh's namespace, which the stack removes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import urlencode

from pulumi_hosted_mesh.api_server import ApiServer
from pulumi_hosted_mesh.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust_names import root_common_name
from pulumi_hosted_mesh.vocabulary import ROOT_CERTIFICATE_CONFIG_MAP

# The label and the key that istiod gives it (pilot/pkg/serviceregistry/kube/controller/namespacecontroller.go).
SELECTORS = {"labelSelector": "istio.io/config=true", "fieldSelector": f"metadata.name={ROOT_CERTIFICATE_CONFIG_MAP}"}
KEY = "root-cert.pem"


def find(mesh: Mesh, data_plane: Kubeconfig) -> list[str]:
    """Namespaces of the user's cluster in which this mesh's root certificate is left.

    Raises: InvalidInputError while the mesh is still there, for istiod would write them again; UnreachableError.
    """
    api = ApiServer(data_plane)
    if api.get(f"/api/v1/namespaces/{mesh.namespace}") is not None:
        rule = f"the mesh is still there: namespace {mesh.namespace} exists"
        raise InvalidInputError([Problem("dataPlane.cluster", rule, "Destroy its stacks first")])
    found = api.get(f"/api/v1/configmaps?{urlencode(SELECTORS)}") or {"items": []}
    return sorted(item["metadata"]["namespace"] for item in found["items"] if is_of(mesh, item.get("data") or {}))


def remove(namespaces: list[str], data_plane: Kubeconfig) -> None:
    """Removes them. Raises: UnreachableError."""
    api = ApiServer(data_plane)
    for namespace in namespaces:
        api.delete(f"/api/v1/namespaces/{namespace}/configmaps/{ROOT_CERTIFICATE_CONFIG_MAP}")


def is_of(mesh: Mesh, data: Mapping[str, str]) -> bool:
    """Whether the certificate is this mesh's root: another mesh may have written its own under the same name."""
    lines = [
        line for line in data.get(KEY, "").split() if line and "-----" not in line and len(line) > len("CERTIFICATE")
    ]
    try:
        certificate = base64.b64decode("".join(lines))
    except (binascii.Error, ValueError):
        return False
    # A name stands in a certificate's DER as its plain bytes, behind its length.
    name = root_common_name(mesh.name).encode()
    return bytes([len(name)]) + name in certificate
