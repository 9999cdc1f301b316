"""The control plane of one mesh: its namespace, what all revisions share there, and an istiod per revision.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import core, networking

from pulumi_hosted_mesh.boundary.arguments import checked, mesh_of
from pulumi_hosted_mesh.boundary.claimed_names import claim, istiods
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.metadata import cluster_wide, in_mesh
from pulumi_hosted_mesh.control_plane import given, manifests
from pulumi_hosted_mesh.control_plane.given import SOURCE
from pulumi_hosted_mesh.control_plane.istiod import IstiodRevision, read_at_start
from pulumi_hosted_mesh.inputs import MeshArgs
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import TYPE_EXTERNAL_CONTROL_PLANE, suffixed


class ExternalControlPlaneArgs(TypedDict):
    """What a mesh's control plane is made of."""

    mesh: MeshArgs
    """The mesh, with its revisions and memberships."""
    cluster: ControlPlaneCluster
    """The control plane's cluster."""
    kubeconfigs: dict[str, pulumi.Input[str]]
    """istiod's kubeconfig of each data plane, by name of the membership (`DataPlaneAccess.kubeconfig`). Secret."""
    root_certificate: pulumi.Input[str]
    """The certificate of the root above the mesh's authority, PEM, public."""
    cacerts: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """The mesh's intermediate authority, the files of the Secret `cacerts`. Secret. Without it istiod would make its
    own and write its key to the data plane, so it may be left out only with `trust.management: unmanaged`."""


class ExternalControlPlane(pulumi.ComponentResource):
    """A namespace of the mesh's own in the control plane's cluster, with an istiod per revision and its Services.

    Raises: InvalidInputError if the cluster is not a control plane, a kubeconfig or `cacerts` is missing, the charts
    cannot be used, or another component of the program has a revision of the same name.
    """

    endpoints: pulumi.Output[dict[str, Any]]
    """All that data planes are told, by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, list[str]]]
    """Of istiod's load balancers, by the host that leads there: public. None with `exposure: external`."""

    def __init__(
        self,
        name: str,
        args: ExternalControlPlaneArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        after: Sequence[pulumi.Resource] = (),
    ) -> None:
        """after: what istiod should find when it starts, in the same program: the CRDs, or it looks again later."""
        called = f"ExternalControlPlane {name}"
        args = typed_arguments(ExternalControlPlaneArgs, args, called)
        refuse_providers(opts, called)
        mesh = mesh_of(args["mesh"])
        kubeconfigs = given.kubeconfigs(mesh, args["kubeconfigs"])
        cacerts = given.authority(mesh, args.get("cacerts"))
        root_certificate = checked(args["root_certificate"], pem_certificate, "root_certificate", SOURCE)
        claim(self, TYPE_EXTERNAL_CONTROL_PLANE, name, istiods(name, mesh), opts)
        super().__init__(TYPE_EXTERNAL_CONTROL_PLANE, name, {}, opts)

        cluster = ControlPlaneCluster.of(args["cluster"], name=name, parent=self)
        namespace = core.v1.Namespace(
            f"{name}-control-plane",
            metadata=cluster_wide(mesh.name, cluster, mesh.namespace),
            opts=cluster.options(self),
        )
        within = cluster.options(self, depends_on=[namespace])
        quota = core.v1.ResourceQuota(
            f"{name}-quota",
            metadata=in_mesh(mesh.name, cluster, "mesh"),
            spec=core.v1.ResourceQuotaSpecArgs(hard=manifests.quota_limits(mesh)),
            opts=within,
        )
        network = networking.v1.NetworkPolicy(
            f"{name}-network",
            metadata=in_mesh(mesh.name, cluster, "mesh"),
            spec=given.network_policy(mesh, kubeconfigs),
            opts=within,
        )
        secrets = [
            core.v1.Secret(
                f"{name}-{secret}", metadata=in_mesh(mesh.name, cluster, secret), string_data=files, opts=within
            )
            for secret, files in given.secrets(mesh, cacerts, kubeconfigs).items()
        ]

        root = pulumi.Output.from_input(root_certificate)
        addresses: dict[str, Any] = {}
        for revision in mesh.revisions:
            addresses |= IstiodRevision(
                suffixed(name, revision.name),
                mesh=mesh,
                revision=revision,
                cluster=cluster,
                read_at_start=read_at_start(kubeconfigs, root),
                room=[namespace, quota],
                needed=[network, *secrets, *after],
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
        self.register_outputs({"endpoints": self.endpoints, "addresses": self.addresses})

    def endpoint(self, membership: Membership, revision: Revision) -> ControlPlaneEndpoint:
        """What a data plane is told of a revision."""
        return self._endpoints[membership.name, revision.name]
