"""The user's side of one mesh."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import istio_chart
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, require_data_plane
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.data_plane.values import gateway_values, remote_values
from pulumi_hosted_mesh.spec.data_plane import WebhookManagement
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import TYPE_REMOTE_DATA_PLANE


class RemoteDataPlane(pulumi.ComponentResource):
    """What a user's cluster needs to be served by an istiod elsewhere: no Pod but gateways that the document asks for.

    mesh: the document.
    cluster: the user's cluster; the mesh's namespace exists there already (`DataPlaneAccess` makes it).
    endpoint: the control plane's public facts.
    after: what has to exist before, in the same stack: the mesh's namespace.
    gateways_after: what gateways wait for besides, in the same stack: the control plane, which completes their Pods.
    Outputs: `webhook_manifests`, what was installed, or with `unmanaged` webhooks what an integrator must install.
    Raises: InvalidInputError if the cluster is not a data plane, or the charts cannot be used.
    """

    webhook_manifests: pulumi.Output[list[webhooks.Manifest]]

    def __init__(
        self,
        name: str,
        *,
        mesh: Mesh,
        cluster: DataPlaneCluster,
        endpoint: ControlPlaneEndpoint,
        after: Sequence[pulumi.Resource] = (),
        gateways_after: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        require_data_plane(cluster)
        super().__init__(TYPE_REMOTE_DATA_PLANE, name, {}, opts)
        settings = mesh.data_plane.webhooks
        istio_chart(
            f"{name}-remote",
            mesh=mesh,
            cluster=cluster,
            chart="istiod",
            release="istiod-remote",
            values=remote_values(mesh, endpoint),
            parent=self,
            depends_on=after,
        )
        wanted = webhooks.manifests(endpoint, settings, webhooks.ca_bundle(endpoint.root_certificate))
        managed = settings.management is WebhookManagement.MANAGED
        installed = self._install(name, cluster, wanted) if managed else []
        for gateway in mesh.data_plane.gateways:
            istio_chart(
                f"{name}-gateway-{gateway.name}",
                mesh=mesh,
                cluster=cluster,
                chart="gateway",
                release=gateway.name,
                namespace=gateway.namespace or mesh.namespace,
                values=gateway_values(mesh, gateway),
                parent=self,
                # Injection completes a gateway's Pod, once, when it is made. A Pod made too early stays `image: auto`.
                depends_on=[*after, *installed, *gateways_after],
                # An integrator's webhooks come after this stack, which says what they are.
                await_ready=managed and mesh.control_plane.istiod.wait_until_ready,
            )
        self.webhook_manifests = pulumi.Output.from_input(wanted)
        self.register_outputs({"webhook_manifests": self.webhook_manifests})

    def _install(
        self, name: str, cluster: DataPlaneCluster, manifests: Sequence[webhooks.Manifest]
    ) -> list[pulumi.Resource]:
        injection, validation = manifests
        return [
            admission.MutatingWebhookConfiguration(
                f"{name}-injection",
                metadata=injection["metadata"],
                webhooks=injection["webhooks"],
                opts=cluster.options(self),
            ),
            admission.ValidatingWebhookConfiguration(
                f"{name}-validation",
                metadata=validation["metadata"],
                webhooks=validation["webhooks"],
                opts=cluster.options(self),
            ),
        ]
