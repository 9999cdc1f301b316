"""Stack `all-in-one`: one mesh, both sides, as the sandbox uses it."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.assembly import preflight
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings
from pulumi_hosted_mesh.trust.authorities import MeshTrust

from stacks import data_plane as data_plane_stack
from stacks.head_start import head_start


async def build(mesh: Mesh, _settings: StackSettings) -> dict[str, Any]:
    """Outputs: those of the stack `data-plane`."""
    kubeconfigs = preflight.both(mesh)
    # Before the providers: the engine starts plug-ins one after the other, and answers nothing else meanwhile.
    trust = MeshTrust(mesh.name, trust=mesh.trust)
    await head_start()
    providers_cluster = ControlPlaneCluster.from_config(kubeconfigs.control_plane)
    users_cluster = DataPlaneCluster.from_config(kubeconfigs.data_plane)
    await head_start()
    access = DataPlaneAccess(mesh.name, mesh=mesh, cluster=users_cluster)
    wanted = mesh.data_plane.crds.install
    crds = [DataPlaneCrds(mesh.name, mesh=mesh, cluster=users_cluster)] if wanted else []
    control_plane = ExternalControlPlane(
        mesh.name,
        mesh=mesh,
        cluster=providers_cluster,
        cacerts=trust.cacerts,
        credential=access.credential,
        after=crds,
    )
    data_plane = RemoteDataPlane(
        mesh.name,
        mesh=mesh,
        cluster=users_cluster,
        endpoint=control_plane.endpoint,
        after=[access.namespace],
        gateways_after=[control_plane],
    )
    return data_plane_stack.outputs(mesh, control_plane.endpoint, data_plane)
