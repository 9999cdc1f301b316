"""The words that the policies share with the library: type tokens, labels, annotations.

A copy, not an import: the pack also judges programs that do not use the library, and runs where it is not installed. A
test compares the copy with the library.
"""

from __future__ import annotations

from typing import Final

CONTROL_PLANE: Final = "control-plane"
DATA_PLANE: Final = "data-plane"
PROVIDER_NAME: Final = {CONTROL_PLANE: "control-plane-cluster", DATA_PLANE: "data-plane-cluster"}
"""How the library's cluster wrappers name their providers, and begin their `clusterIdentifier`."""

PREFIX: Final = "hosted-mesh.io"
MESH_LABEL: Final = f"{PREFIX}/mesh"
REVISION_LABEL: Final = "istio.io/rev"
EXTERNAL_DNS_HOSTNAME_ANNOTATION: Final = "external-dns.alpha.kubernetes.io/hostname"
CACERTS_SECRET: Final = "cacerts"  # noqa: S105 a name
AUTHORITY_SECRETS: Final = frozenset({CACERTS_SECRET, "istio-ca-secret"})
"""Where Istio keeps the key of its certificate authority: one that was brought, one that istiod made."""
KUBECONFIG_SECRET: Final = "istio-kubeconfig"  # noqa: S105 a name

DECLASSIFY_ANNOTATION: Final = f"{PREFIX}/declassify"
"""On an object: `<property>: <reason>; ...`, values that are public although made from a secret."""
DATA_PLANE_OWNED_ANNOTATION: Final = f"{PREFIX}/data-plane-owned"
"""On an object: why the credentials in it are the data plane's own; also on a Secret that the control plane keeps."""
ACCEPT_ANNOTATION: Final = f"{PREFIX}/accept"
"""On an object: `<policy>: <reason>; ...`, verdicts of those policies that somebody has decided to accept."""
OPEN_TO_ALL_ANNOTATION: Final = f"{PREFIX}/open-to-all"
"""On a Service: why everybody may connect."""

PACKAGE: Final = "hosted-mesh"
TYPE_EXTERNAL_CONTROL_PLANE: Final = f"{PACKAGE}:index:ExternalControlPlane"
TYPE_ISTIOD: Final = f"{PACKAGE}:index:IstiodRevision"
TYPE_REMOTE_DATA_PLANE: Final = f"{PACKAGE}:index:RemoteDataPlane"
TYPE_MESH_FEDERATION: Final = f"{PACKAGE}:index:MeshFederation"
CONTROL_PLANE_TYPES: Final = frozenset(
    {
        f"{PACKAGE}:index:MeshRoot",
        f"{PACKAGE}:index:MeshTrust",
        f"{PACKAGE}:index:ExternalDNSBridge",
        TYPE_EXTERNAL_CONTROL_PLANE,
        TYPE_ISTIOD,
        TYPE_MESH_FEDERATION,
    }
)
"""Components whose resources, keys included, are the control plane's."""
DATA_PLANE_TYPES: Final = frozenset(
    {
        f"{PACKAGE}:index:DataPlaneAccess",
        f"{PACKAGE}:index:DataPlaneCrds",
        f"{PACKAGE}:index:DnsEdge",
        TYPE_REMOTE_DATA_PLANE,
    }
)
"""Components whose resources are the data plane's."""
