"""Stack `access`: istiod's account on the user's cluster, and Istio's CRDs: slow to diff, seldom changed."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.assembly import preflight
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks.head_start import head_start


async def build(mesh: Mesh, _settings: StackSettings) -> dict[str, Any]:
    """Outputs: `kubeconfig` (secret, for `control-plane`)."""
    cluster = DataPlaneCluster.from_config(preflight.data_plane(mesh))
    await head_start()
    access = DataPlaneAccess(mesh.name, mesh=mesh, cluster=cluster)
    if mesh.data_plane.crds.install:
        DataPlaneCrds(mesh.name, mesh=mesh, cluster=cluster)
    return {"kubeconfig": access.credential.kubeconfig}
