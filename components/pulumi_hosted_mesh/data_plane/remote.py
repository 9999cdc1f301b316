"""The data plane of one mesh in one cluster, for one revision of its control plane.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import core
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh._generated.inputs import ChartSourceArgs, EndpointArgs, GatewayArgs, WebhooksArgs
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.charts.chart import MeshCharts
from pulumi_hosted_mesh.charts.service_addresses import chart_addresses
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.metadata import in_mesh
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.data_plane.unique_revisions import require_unique_revisions
from pulumi_hosted_mesh.data_plane.values import gateway_values, mesh_config, remote_values
from pulumi_hosted_mesh.spec.charts import Charts, ChartSource
from pulumi_hosted_mesh.spec.data_plane import DataPlaneSettings, WebhookManagement
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_REMOTE_DATA_PLANE, chart_revision, suffixed


class RemoteDataPlaneArgs(TypedDict):
    """The arguments of a data plane. Of the control plane they have only its endpoint."""

    cluster: DataPlaneCluster
    """The data plane's cluster. The mesh's namespace must exist there (`DataPlaneAccess` makes it)."""
    endpoint: EndpointArgs
    """The control plane's public facts."""
    webhooks: NotRequired[WebhooksArgs]
    """The injection and validation webhooks."""
    gateways: NotRequired[list[GatewayArgs]]
    """Gateways on this cluster."""
    charts: NotRequired[ChartSourceArgs]
    """The source of Istio's charts and images. Their version is the endpoint's."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the istiod chart with the remote profile."""
    wait_for_gateways: NotRequired[bool]
    """False: `pulumi up` does not wait for gateways, for clusters without nodes. Default: true."""


class RemoteDataPlane(pulumi.ComponentResource):
    """The objects that an external istiod requires in a cluster. Gateways in the arguments are the only Pods.

    Raises: InvalidInputError if the cluster is not a data plane, or the charts are missing or too old.
    """

    webhook_manifests: pulumi.Output[list[dict[str, Any]]]
    """The installed webhook configurations, or with `unmanaged` webhooks those to install."""
    gateway_addresses: pulumi.Output[dict[str, list[str]]]
    """Addresses of the gateways' load balancers, by `<namespace>/<name>`: public."""

    def __init__(
        self,
        name: str,
        args: RemoteDataPlaneArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        after: Sequence[pulumi.Resource] = (),
        webhooks_after: Sequence[pulumi.Resource] = (),
    ) -> None:
        """after: resources of the same program that must exist before: the mesh's namespace.
        webhooks_after: dependencies of the webhooks: istiod, which answers them. On destroy, webhooks go first."""
        called = f"RemoteDataPlane {name}"
        args = typed_arguments(RemoteDataPlaneArgs, args, called)
        refuse_providers(opts, called)
        endpoint = ControlPlaneEndpoint.from_facts(args["endpoint"])
        given = {key: args.get(key) for key in ("webhooks", "gateways", "chart_values")}
        settings = read_arguments(DataPlaneSettings, given)
        charts = Charts.at(read_arguments(ChartSource, args.get("charts") or {}), endpoint.document.istio_version)
        super().__init__(TYPE_REMOTE_DATA_PLANE, name, {}, opts)
        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        mesh_charts = MeshCharts(endpoint.mesh, charts, cluster, parent=self)
        mesh_charts.make(
            f"{name}-remote",
            "istiod",
            release="istiod-remote",
            values=remote_values(endpoint, settings),
            depends_on=after,
        )
        core.v1.ConfigMap(
            f"{name}-mesh-config",
            metadata=in_mesh(endpoint.mesh, cluster, suffixed("istio", endpoint.revision)),
            data={"mesh": mesh_config(endpoint)},
            opts=cluster.options(self, depends_on=after),
        )

        # Gateways and tags stay when another revision serves them, so their names do not contain the revision.
        served = name.removesuffix(f"-{chart_revision(endpoint.revision)}")
        wanted = webhooks.manifests(endpoint, settings.webhooks, webhooks.ca_bundle(endpoint.root_certificate))
        managed = settings.webhooks.management is WebhookManagement.MANAGED
        if managed:
            require_unique_revisions(cluster, endpoint.document.asked_by, endpoint.mesh)
        installed = [
            self._installed(served if webhooks.is_of_a_tag(one) else name, cluster, one, webhooks_after)
            for one in (wanted if managed else ())
        ]

        addresses: dict[str, Any] = {}
        for gateway in settings.gateways:
            made = mesh_charts.make(
                f"{served}-gateway-{gateway.name}",
                "gateway",
                release=gateway.name,
                namespace=gateway.namespace,
                values=gateway_values(endpoint, gateway),
                # Injection completes a gateway's Pod at its creation only. A Pod without it keeps `image: auto`.
                depends_on=[*after, *installed, *webhooks_after],
                # An integrator installs unmanaged webhooks after this component, from its output.
                await_ready=managed and args.get("wait_for_gateways", True),
            )
            addresses[f"{gateway.namespace or endpoint.namespace}/{gateway.name}"] = chart_addresses(made)

        self.webhook_manifests = pulumi.Output.from_input(wanted)
        self.gateway_addresses = pulumi.Output.from_input(addresses)
        self.register_outputs(
            {"webhook_manifests": self.webhook_manifests, "gateway_addresses": self.gateway_addresses}
        )

    def _installed(
        self, name: str, cluster: DataPlaneCluster, manifest: webhooks.Manifest, after: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        """One configuration. It fails closed, so it is created after istiod and deleted before it."""
        kinds = {
            webhooks.INJECTION_KIND: admission.MutatingWebhookConfiguration,
            webhooks.VALIDATION_KIND: admission.ValidatingWebhookConfiguration,
        }
        resource: pulumi.Resource = kinds[manifest["kind"]](
            f"{name}-{manifest['metadata']['name']}",
            metadata=manifest["metadata"],
            webhooks=manifest["webhooks"],
            opts=cluster.options(self, depends_on=after),
        )
        return resource
