"""One mesh, all sides, as one component: the composition that stacks, examples and programs in any language share.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import Any, NotRequired

import pulumi

from pulumi_hosted_mesh.assembly.given_clusters import GivenClusters
from pulumi_hosted_mesh.assembly.members import members_of, places, with_servers
from pulumi_hosted_mesh.assembly.part_names import parts_of_mesh
from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.boundary.arguments import SOURCE, mesh_of
from pulumi_hosted_mesh.boundary.claimed_names import claim
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import refuse_providers
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.inputs import MeshArgs
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust.authorities import MeshRoot, MeshTrust, cacerts
from pulumi_hosted_mesh.trust.management import Authority, authority
from pulumi_hosted_mesh.vocabulary import TYPE_HOSTED_MESH, suffixed


class HostedMeshArgs(MeshArgs):
    """A mesh: its document as arguments, with the clusters in it, and what is brought along."""

    cacerts: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """With `trust.management: brought`, the four files of `cacerts`. Secret."""
    root_certificate: NotRequired[pulumi.Input[str]]
    """With `trust.management: unmanaged`, the certificate of the root, PEM, public."""


class HostedMesh(pulumi.ComponentResource):
    """One mesh: an istiod per revision in the control plane's cluster; webhooks and few rights for it on data planes.

    Raises: InvalidInputError if the arguments, a kubeconfig or the charts cannot be used, or another component of the
    program has a part of the same name.
    """

    namespace: pulumi.Output[str]
    """The mesh's namespace, in each cluster."""
    root_certificate: pulumi.Output[str]
    """The mesh's root certificate, PEM, public."""
    endpoints: pulumi.Output[dict[str, Any]]
    """All that data planes are told, by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, list[str]]]
    """Of istiod's load balancers, by the host that leads there: public."""
    gateway_addresses: pulumi.Output[dict[str, list[str]]]
    """Of the load balancers of the first membership's gateways, by `<namespace>/<name>`: public."""
    injection_labels: pulumi.Output[dict[str, str]]
    """Labels on a namespace whose Pods get sidecars of the first revision."""
    webhook_manifests: pulumi.Output[list[dict[str, Any]]]
    """The webhook configurations of all data planes; with `unmanaged` webhooks what an integrator must install."""

    def __init__(self, name: str, args: HostedMeshArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"HostedMesh {name}"
        args = typed_arguments(HostedMeshArgs, args, called)
        refuse_providers(opts, called)
        super().__init__(TYPE_HOSTED_MESH, name, {}, opts)
        given = [dict(one) for one in args.get("memberships") or []]
        clusters = GivenClusters.of(name, args.get("control_plane"), places(name, given), SOURCE, parent=self)
        mesh = mesh_of({**_document(args), "memberships": with_servers(given, clusters.data_planes)})
        claim(self, TYPE_HOSTED_MESH, name, parts_of_mesh(name, mesh), opts)
        members = members_of(name, mesh, given, clusters.data_planes)
        check_charts(mesh)
        child = pulumi.ResourceOptions(parent=self)

        trusted = authority(
            mesh.trust,
            lambda: _signed_here(name, mesh, child),
            brought=args.get("cacerts"),
            root_certificate=args.get("root_certificate"),
            source=SOURCE,
        )
        accesses = {one.membership.name: DataPlaneAccess(one.prefix, one.access_args(), child) for one in members}
        crds = [DataPlaneCrds(one.prefix, one.crds_args(), child) for one in members if one.membership.crds.install]
        control_plane = ExternalControlPlane(
            name,
            {
                "mesh": mesh.arguments(),
                "cluster": clusters.control_plane,
                "kubeconfigs": {member: access.kubeconfig for member, access in accesses.items()},
                "root_certificate": trusted.root_certificate,
                "cacerts": trusted.files,
            },
            child,
            after=crds,
        )
        data_planes = [
            RemoteDataPlane(
                suffixed(one.prefix, revision.name),
                one.data_plane_args(revision, control_plane.endpoint(one.membership, revision)),
                child,
                after=[accesses[one.membership.name].namespace],
                webhooks_after=[control_plane],
            )
            for one in members
            for revision in mesh.revisions
        ]

        first = control_plane.endpoint(mesh.memberships[0], mesh.revisions[0])
        self.namespace = pulumi.Output.from_input(mesh.namespace)
        self.root_certificate = pulumi.Output.from_input(trusted.root_certificate)
        self.endpoints = control_plane.endpoints
        self.injection_labels = pulumi.Output.from_input(dict(first.injection_labels))
        self.addresses = control_plane.addresses
        self.gateway_addresses = data_planes[0].gateway_addresses
        self.webhook_manifests = pulumi.Output.all(*(one.webhook_manifests for one in data_planes)).apply(
            lambda lists: [one for many in lists for one in many]
        )
        self.register_outputs(
            {
                "namespace": self.namespace,
                "root_certificate": self.root_certificate,
                "endpoints": self.endpoints,
                "addresses": self.addresses,
                "gateway_addresses": self.gateway_addresses,
                "injection_labels": self.injection_labels,
                "webhook_manifests": self.webhook_manifests,
            }
        )


def _signed_here(name: str, mesh: Mesh, opts: pulumi.ResourceOptions) -> Authority:
    """An intermediate, and the root that signs it, in this program."""
    trust = mesh.trust.arguments()
    intermediate = MeshTrust(name, {"trust": trust}, opts)
    root = MeshRoot(name, {"trust": trust, "requests": {mesh.name: intermediate.request}}, opts)
    files = cacerts(root.certificates[mesh.name], intermediate.private_key, root.certificate)
    return Authority(files, root.certificate)


def _document(args: HostedMeshArgs) -> Any:
    return {key: value for key, value in args.items() if key not in ("cacerts", "root_certificate", "memberships")}
