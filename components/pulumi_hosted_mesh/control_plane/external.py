"""The control plane of one mesh: its namespace with shared objects, and an istiod per revision.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import core, networking, scheduling

from pulumi_hosted_mesh._generated.inputs import GatewayFactsArgs, MeshArgs
from pulumi_hosted_mesh.boundary.arguments import checked, mesh_of
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.boundary.unique_names import istiods, require_unique_names
from pulumi_hosted_mesh.charts.directory import untested
from pulumi_hosted_mesh.clusters.adoption import make_namespace
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.metadata import on_control_plane
from pulumi_hosted_mesh.control_plane import manifests, validated_inputs
from pulumi_hosted_mesh.control_plane.gateway_hosts import require_gateway
from pulumi_hosted_mesh.control_plane.host_claims import require_free_hosts
from pulumi_hosted_mesh.control_plane.issued_authority import IssuedAuthority
from pulumi_hosted_mesh.control_plane.istiod import IstiodRevision, rollout_triggers
from pulumi_hosted_mesh.control_plane.removal_guard import removal_guard
from pulumi_hosted_mesh.control_plane.root_guard import root_guard
from pulumi_hosted_mesh.control_plane.validated_inputs import SOURCE, require_split
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET, POD_SECURITY, TYPE_EXTERNAL_CONTROL_PLANE, suffixed


class ExternalControlPlaneArgs(TypedDict):
    """The arguments of a mesh's control plane."""

    mesh: MeshArgs
    """The mesh, with its revisions and memberships."""
    cluster: ControlPlaneCluster
    """The control plane's cluster."""
    kubeconfigs: dict[str, pulumi.Input[str]]
    """istiod's kubeconfigs of the data planes, by name of the membership (`DataPlaneAccess.kubeconfig`). Secret."""
    root_certificate: pulumi.Input[str]
    """The certificate of the mesh's root, PEM, public."""
    cacerts: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """The mesh's intermediate authority, the files of the Secret `cacerts`. Secret. Without it istiod would make its
    own authority and write its key to the data plane. Leave it out only with `trust.management: unmanaged` and
    `cert-manager`."""
    gateway: NotRequired[GatewayFactsArgs]
    """The facts of the shared gateway (`SharedGateway.for_meshes`), for revisions with `exposure.kind: gateway`."""


class ExternalControlPlane(pulumi.ComponentResource):
    """The mesh's namespace in the control plane's cluster, with an istiod and its Services per revision.

    Raises: InvalidInputError for a cluster of the other role, a missing kubeconfig or `cacerts`, or missing charts, or
    if another component of the program has a revision of the same name.
    """

    endpoints: pulumi.Output[dict[str, Any]]
    """The data planes' endpoints, by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, list[str]]]
    """Addresses of istiod's load balancers, by host: public. None with `exposure: external` and `gateway`."""
    api_server_clients: pulumi.Output[dict[str, list[str]]]
    """Source addresses that a data plane's API server admits, by name of the membership, in CIDR form: public. They are
    `controlPlane.egressRanges`, or the `proxyEgressRanges` of its proxy."""

    def __init__(
        self,
        name: str,
        args: ExternalControlPlaneArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        after: Sequence[pulumi.Resource] = (),
        own_webhooks: bool = False,
        data_planes: Sequence[DataPlaneCluster] = (),
    ) -> None:
        """own_webhooks: whether the program has the data planes' webhooks too. data_planes: their clusters, if it has.

        after: resources of the same program that should exist when istiod starts: the CRDs.
        """
        called = f"ExternalControlPlane {name}"
        args = typed_arguments(ExternalControlPlaneArgs, args, called)
        refuse_providers(opts, called)
        mesh = mesh_of(args["mesh"])
        require_split(mesh, SOURCE)
        kubeconfigs = validated_inputs.kubeconfigs(mesh, args["kubeconfigs"])
        cacerts = validated_inputs.authority(mesh, args.get("cacerts"))
        root_certificate = checked(args["root_certificate"], pem_certificate, "root_certificate", SOURCE)
        gateway = read_arguments(GatewayFacts, args["gateway"], "the gateway") if "gateway" in args else None
        require_gateway(mesh, gateway)
        if gateway is not None:
            require_free_hosts(mesh, gateway)
        require_unique_names(self, TYPE_EXTERNAL_CONTROL_PLANE, name, istiods(name, mesh), opts)
        super().__init__(TYPE_EXTERNAL_CONTROL_PLANE, name, {}, opts)

        cluster = ControlPlaneCluster.of(args["cluster"], name=name, parent=self)
        metadata = on_control_plane(mesh, cluster, mesh.control_plane_namespace, labels=POD_SECURITY)
        namespace = make_namespace(f"{name}-control-plane", metadata, cluster.options(self))
        within = cluster.options(self, depends_on=[namespace])
        in_namespace = partial(on_control_plane, mesh, cluster, namespace=mesh.control_plane_namespace)
        bounds = [
            core.v1.ResourceQuota(
                f"{name}-quota",
                metadata=in_namespace("mesh"),
                spec=core.v1.ResourceQuotaSpecArgs(hard=manifests.quota_limits(mesh)),
                opts=within,
            ),
            core.v1.LimitRange(
                f"{name}-limits", metadata=in_namespace("mesh"), spec=manifests.container_limits(mesh), opts=within
            ),
            *_priority(name, mesh, cluster, self),
        ]
        network = networking.v1.NetworkPolicy(
            f"{name}-network",
            metadata=in_namespace("mesh"),
            spec=validated_inputs.network_policy(mesh, kubeconfigs, gateway),
            opts=within,
        )
        guarded = cluster.options(self, depends_on=[namespace])
        guarded.hooks = cluster.creation_hooks(root_guard(mesh, cluster, data_planes).binding())
        secrets: list[pulumi.Resource] = [
            core.v1.Secret(
                f"{name}-{secret}",
                metadata=in_namespace(secret),
                string_data=files,
                opts=guarded if secret == CACERTS_SECRET else within,
            )
            for secret, files in validated_inputs.secrets(mesh, cacerts, kubeconfigs).items()
        ]

        root = issued_root = pulumi.Output.from_input(root_certificate)
        if mesh.trust.issuer is not None:
            issued = IssuedAuthority(name, mesh, mesh.trust.issuer, cluster, root, within, parent=self)
            secrets.append(issued.certificate)
            issued_root = issued.root
        addresses: dict[str, Any] = {}
        guard = removal_guard(mesh, cluster, own_webhooks=own_webhooks)
        for revision in mesh.revisions:
            if warning := untested(revision.charts):
                pulumi.log.warn(f"revision {revision.name}: {warning}", self)
            addresses |= IstiodRevision(
                suffixed(name, revision.name),
                mesh=mesh,
                revision=revision,
                cluster=cluster,
                rollout_triggers=rollout_triggers(kubeconfigs[mesh.memberships[0].name], issued_root),
                namespace_dependencies=[namespace, *bounds],
                startup_dependencies=[network, *secrets, *after],
                guard=guard,
                gateway=gateway,
                opts=pulumi.ResourceOptions(parent=self),
            ).addresses

        self._endpoints = {
            (membership.name, revision.name): ControlPlaneEndpoint.of(mesh, revision, membership, root)
            for membership in mesh.memberships
            for revision in mesh.revisions
        }
        facts = {f"{member}/{revision}": one.as_output() for (member, revision), one in self._endpoints.items()}
        self.endpoints = pulumi.Output.from_input(facts)
        self.addresses = pulumi.Output.from_input(addresses)
        clients = {member: list(ranges) for member, ranges in mesh.api_server_clients.items()}
        self.api_server_clients = pulumi.Output.from_input(clients)
        self.register_outputs(
            {"endpoints": self.endpoints, "addresses": self.addresses, "api_server_clients": self.api_server_clients}
        )

    def endpoint(self, membership: Membership, revision: Revision) -> ControlPlaneEndpoint:
        """The endpoint of a revision for a data plane."""
        return self._endpoints[membership.name, revision.name]


def _priority(
    name: str, mesh: Mesh, cluster: ControlPlaneCluster, parent: pulumi.Resource
) -> list[scheduling.v1.PriorityClass]:
    """The mesh's PriorityClass, if the document has a priority."""
    if mesh.control_plane.priority is None:
        return []
    made = scheduling.v1.PriorityClass(
        f"{name}-priority",
        metadata=on_control_plane(mesh, cluster, mesh.priority_class),
        **manifests.priority(mesh.control_plane.priority),
        opts=cluster.options(parent),
    )
    return [made]
