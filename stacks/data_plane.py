"""Stack `data-plane`: the user's side. Needs no credential of the control plane, and may be run by the user."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh.assembly import preflight
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.spec.data_plane import WebhookManagement
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import references
from stacks.head_start import head_start


async def build(mesh: Mesh, settings: StackSettings) -> dict[str, Any]:
    """Outputs: `endpoint` (public facts); with unmanaged webhooks also `webhook_manifests`, to be installed."""
    kubeconfig = preflight.data_plane(mesh)
    # The reference before the provider: the engine reads a stack in the background, but waits for a plug-in to start.
    endpoint = ControlPlaneEndpoint.of(mesh, references.root_certificate(settings))
    cluster = DataPlaneCluster.from_config(kubeconfig)
    await head_start()
    data_plane = RemoteDataPlane(mesh.name, mesh=mesh, cluster=cluster, endpoint=endpoint)
    return outputs(mesh, endpoint, data_plane)


def outputs(mesh: Mesh, endpoint: ControlPlaneEndpoint, data_plane: RemoteDataPlane) -> dict[str, Any]:
    """What a stack with a data plane tells: the endpoint, and the webhooks if somebody else installs them."""
    facts: dict[str, Any] = {"endpoint": endpoint.as_output()}
    if mesh.data_plane.webhooks.management is WebhookManagement.UNMANAGED:
        facts["webhook_manifests"] = data_plane.webhook_manifests
    return facts
