"""The words that the policies share with the library: type tokens, labels, annotations.

A copy, not an import: a foreign program has no library installed, and importing `pulumi_hosted_mesh` loads its
components and the kubernetes SDK, a second that every preview would pay. A test compares the copy with the library.
"""

from __future__ import annotations

from typing import Final

CONTROL_PLANE_TYPES: Final = frozenset(
    f"hosted-mesh:index:{name}"
    for name in ("ControlPlaneCluster", "MeshTrust", "ExternalControlPlane", "ExternalDNSBridge", "MeshFederation")
)
"""Components whose resources, keys included, are the provider's."""
DATA_PLANE_TYPES: Final = frozenset(
    f"hosted-mesh:index:{name}" for name in ("DataPlaneCluster", "RemoteDataPlane", "DataPlaneAccess")
)
"""Components whose resources are the user's."""
CONTROL_PLANE_CLUSTER: Final = "hosted-mesh:index:ControlPlaneCluster"
DATA_PLANE_CLUSTER: Final = "hosted-mesh:index:DataPlaneCluster"

DOMAIN: Final = "hosted-mesh.io"
MESH_LABEL: Final = f"{DOMAIN}/mesh"
ROLE_LABEL: Final = f"{DOMAIN}/role"
DECLASSIFY_ANNOTATION: Final = f"{DOMAIN}/declassify"
USER_OWNED_ANNOTATION: Final = f"{DOMAIN}/user-owned"
OPEN_TO_ALL_ANNOTATION: Final = f"{DOMAIN}/open-to-all"
"""Says why an exposure has no source ranges."""

TRACKING_LABELS: Final = ("istio.io/rev", "app.kubernetes.io/part-of")
