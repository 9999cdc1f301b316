"""Stack `control-plane`: istiod in the provider's cluster."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.assembly import preflight
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import references
from stacks.head_start import head_start


async def build(mesh: Mesh, settings: StackSettings) -> dict[str, Any]:
    """Outputs: `endpoint` (public facts)."""
    kubeconfig = preflight.control_plane(mesh)
    # References before the provider: the engine reads other stacks in the background, but waits for a plug-in to start.
    cacerts, credential = references.cacerts(settings), references.credential(settings)
    cluster = ControlPlaneCluster.from_config(kubeconfig)
    await head_start()
    control_plane = ExternalControlPlane(
        mesh.name,
        mesh=mesh,
        cluster=cluster,
        cacerts=cacerts,
        credential=credential,
    )
    return {"endpoint": control_plane.endpoint.as_output()}
