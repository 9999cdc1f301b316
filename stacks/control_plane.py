"""Stack `control-plane`: istiod in the provider's cluster."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import preflight
from pulumi_hosted_mesh.clusters import ControlPlaneCluster
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import references


def build(mesh: Mesh, settings: StackSettings) -> dict[str, Any]:
    """Outputs: `endpoint` (public facts)."""
    cluster = ControlPlaneCluster(preflight.control_plane(mesh))
    control_plane = ExternalControlPlane(
        mesh.name,
        mesh=mesh,
        cluster=cluster,
        cacerts=references.cacerts(settings),
        credential=references.credential(settings),
    )
    return {"endpoint": control_plane.endpoint.as_output()}
