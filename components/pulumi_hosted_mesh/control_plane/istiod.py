"""One revision of istiod in the control plane's cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh.charts.chart import Changes, MeshCharts
from pulumi_hosted_mesh.charts.service_addresses import service_addresses
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.metadata import on_control_plane
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.gateway_hosts import gateway_hosts
from pulumi_hosted_mesh.control_plane.host_claims import host_claims
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.control_plane.removal_guard import RemovalGuard
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import (
    GATEWAY_HOST_LABEL,
    KUBECONFIG_DIGEST_ANNOTATION,
    ROOT_DIGEST_ANNOTATION,
    TYPE_ISTIOD,
    suffixed,
)


class IstiodRevision(pulumi.ComponentResource):
    """istiod by Istio's chart, and its Services for data planes.

    name: prefix of the children's names; unique within the program.
    namespace_dependencies: the mesh's Namespace, its quota and limits, before every resource of this component: they
    may have to grow first.
    startup_dependencies: resources that istiod reads when it starts; its Services do not wait for them.
    guard: keeps the revision from being removed while it is in use.
    gateway: the shared gateway, for its hosts there.
    rollout_triggers: Pod annotations, see the function of this name.
    """

    addresses: dict[str, pulumi.Output[list[str]]]
    """Addresses of its load balancers, by host."""

    def __init__(
        self,
        name: str,
        *,
        mesh: Mesh,
        revision: Revision,
        cluster: ControlPlaneCluster,
        rollout_triggers: Mapping[str, pulumi.Input[str]],
        namespace_dependencies: Sequence[pulumi.Resource],
        startup_dependencies: Sequence[pulumi.Resource],
        guard: RemovalGuard,
        gateway: GatewayFacts | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(TYPE_ISTIOD, name, {}, opts)
        listed = revision.features.certificate_revocation
        # Before istiod: a taken host ends the run early. So istiod also goes first, and a host only after it.
        hosts = self._gateway_hosts(name, mesh, revision, cluster, gateway)
        MeshCharts(mesh.name, revision.charts, cluster, parent=self, tenant=mesh.tenant).make(
            f"{name}-istiod",
            "istiod",
            release=suffixed("istiod", revision.name),
            values=istiod_values(mesh, revision),
            depends_on=[*namespace_dependencies, *startup_dependencies, *hosts],
            await_ready=revision.istiod.wait_until_ready,
            changes=Changes(
                pod_annotations=rollout_triggers,
                pod_spec=partial(
                    manifests.istiods_pod,
                    drain_seconds=revision.istiod.drain_seconds,
                    namespace=mesh.namespace if mesh.tenant else None,
                ),
                config_data=partial(manifests.with_revocation_list, mesh) if listed else None,
                deployment_annotations=manifests.override_annotations(mesh, revision),
                deployment_hooks=guard.binding(),
            ),
        )
        # Not after istiod: a cloud takes minutes for a load balancer, and istiod can start meanwhile. Each revision has
        # its own Services, so no other revision's host resolves to an istiod that is not ready.
        self.addresses = {}
        for service in manifests.exposed_services(mesh, revision):
            options = cluster.options(self, depends_on=namespace_dependencies)
            options.hooks = cluster.creation_hooks(guard.service_binding())
            made = core.v1.Service(
                f"{name}-{service.name}",
                metadata=on_control_plane(
                    mesh,
                    cluster,
                    service.name,
                    namespace=mesh.control_plane_namespace,
                    annotations=service.annotations,
                ),
                spec=service.spec,
                opts=options,
            )
            self.addresses[service.host] = service_addresses(made)
        self.register_outputs({})

    def _gateway_hosts(
        self, name: str, mesh: Mesh, revision: Revision, cluster: ControlPlaneCluster, gateway: GatewayFacts | None
    ) -> list[core.v1.ConfigMap]:
        """One ConfigMap in the gateway's namespace for each host there."""
        if gateway is None:
            return []
        claims, made = host_claims(cluster), []
        for one in gateway_hosts(mesh, revision):
            metadata = on_control_plane(
                mesh, cluster, one.host, namespace=gateway.namespace, labels={GATEWAY_HOST_LABEL: "true"}
            )
            options = cluster.options(self)
            options.hooks = cluster.creation_hooks(claims.binding())
            made.append(core.v1.ConfigMap(f"{name}-{one.host}", metadata=metadata, data=one.data, opts=options))
        return made


def rollout_triggers(
    kubeconfig: pulumi.Output[str], root_certificate: pulumi.Output[str]
) -> dict[str, pulumi.Output[str]]:
    """Annotations of istiod's Pods that start a rollout when a start-up input of istiod changes.

    kubeconfig: the first membership's, which istiod reads at its start only. It watches the files of further ones, and
    takes a new token or member without a restart (pkg/kube/multicluster/remote_config_source.go). A running istiod
    ignores a `cacerts` with another root, and reads one with another intermediate. The values are SHA-256 hashes, which
    are public: a token has too much entropy to be guessed from its hash.
    """

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    return {
        KUBECONFIG_DIGEST_ANNOTATION: pulumi.Output.unsecret(kubeconfig.apply(digest)),
        ROOT_DIGEST_ANNOTATION: root_certificate.apply(digest),
    }
