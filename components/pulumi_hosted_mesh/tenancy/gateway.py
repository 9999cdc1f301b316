"""The gateway in front of all meshes of a control plane's cluster. A mesh adds only ConfigMaps of its own.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

import hashlib
import json
from typing import Any, TypedDict

import pulumi
from pulumi_kubernetes import apps, core, meta, networking, policy, rbac

from pulumi_hosted_mesh._generated.inputs import GatewayFactsArgs, GatewaySettingsArgs
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.charts.service_addresses import service_addresses
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, refuse_providers
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.tenancy import manifests
from pulumi_hosted_mesh.tenancy.manifests import NAME
from pulumi_hosted_mesh.vocabulary import (
    POD_SECURITY,
    READ_AT_START_ANNOTATION,
    SKIP_AWAIT_ANNOTATION,
    TYPE_SHARED_GATEWAY,
    managed_labels,
)

SOURCE = "the gateway"


class SharedGatewayArgs(TypedDict):
    """Arguments of SharedGateway."""

    gateway: GatewaySettingsArgs
    """Zones, ports, limits."""
    cluster: ControlPlaneCluster
    """The control plane's cluster."""


class SharedGateway(pulumi.ComponentResource):
    """Envoy behind one load balancer for many meshes. It passes TLS through by server name, and holds no key.

    Raises: InvalidInputError for a cluster that is not a control plane, and for an invalid document.
    """

    facts: pulumi.Output[dict[str, Any]]
    """Facts for meshes' stacks: namespace, zones, ports. Public."""
    addresses: pulumi.Output[list[str]]
    """Addresses of its load balancer, for `*.<zone>`: public."""

    def __init__(self, name: str, args: SharedGatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"SharedGateway {name}"
        args = typed_arguments(SharedGatewayArgs, args, called)
        refuse_providers(opts, called)
        settings = read_arguments(GatewaySettings, args["gateway"], SOURCE)
        super().__init__(TYPE_SHARED_GATEWAY, name, {}, opts)

        cluster = ControlPlaneCluster.of(args["cluster"], name=name, parent=self)
        labels = managed_labels(cluster.role)

        def metadata(named: str = NAME, annotations: dict[str, str] | None = None) -> meta.v1.ObjectMetaArgs:
            return meta.v1.ObjectMetaArgs(
                name=named, namespace=settings.namespace, labels=labels, annotations=annotations
            )

        namespace = core.v1.Namespace(
            f"{name}-gateway",
            metadata=meta.v1.ObjectMetaArgs(name=settings.namespace, labels={**labels, **POD_SECURITY}),
            opts=cluster.options(self),
        )
        within = cluster.options(self, depends_on=[namespace])
        account = core.v1.ServiceAccount(
            f"{name}-account", metadata=metadata(), automount_service_account_token=False, opts=within
        )
        role = rbac.v1.Role(f"{name}-role", metadata=metadata(), rules=manifests.rules(), opts=within)
        binding = rbac.v1.RoleBinding(
            f"{name}-binding",
            metadata=metadata(),
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
            subjects=[{"kind": "ServiceAccount", "name": NAME, "namespace": settings.namespace}],
            opts=cluster.options(self, depends_on=[role]),
        )
        network = networking.v1.NetworkPolicy(
            f"{name}-network", metadata=metadata(), spec=manifests.network_policy(settings), opts=within
        )
        files = {NAME: manifests.settings_data(settings)}
        if not settings.images.sidecar:
            files[manifests.SOURCE] = manifests.sidecar_source()
        config_maps = [
            core.v1.ConfigMap(f"{name}-{one}", metadata=metadata(one), data=data, opts=within)
            for one, data in files.items()
        ]
        # The Pods read these files at their start, so a change replaces the Pods.
        read = {READ_AT_START_ANNOTATION: hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()}
        apps.v1.Deployment(
            f"{name}-deployment",
            metadata=metadata(annotations=None if settings.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}),
            spec=manifests.deployment(settings, read),
            opts=cluster.options(self, depends_on=[account, binding, network, *config_maps]),
        )
        if settings.replicas > 1:
            policy.v1.PodDisruptionBudget(
                f"{name}-disruption-budget", metadata=metadata(), spec=manifests.disruption_budget(), opts=within
            )
        # Not after the Deployment: a cloud takes minutes for a load balancer, and Envoy can start meanwhile.
        service = core.v1.Service(
            f"{name}-service",
            metadata=metadata(annotations=manifests.service_annotations(settings)),
            spec=manifests.service(settings),
            opts=within,
        )

        self._facts = settings.facts
        self.facts = pulumi.Output.from_input(self._facts.model_dump(mode="json", by_alias=True))
        self.addresses = service_addresses(service)
        self.register_outputs({"facts": self.facts, "addresses": self.addresses})

    @property
    def for_meshes(self) -> GatewayFactsArgs:
        """The facts as plain values, for the argument `gateway` of a mesh in the same program."""
        arguments: GatewayFactsArgs = self._facts.arguments()
        return arguments
