"""One mesh, all sides, as one component for stacks, examples and programs in any language.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import Any, NotRequired

import pulumi

from pulumi_hosted_mesh._generated.inputs import GatewayFactsArgs, MeshArgs
from pulumi_hosted_mesh.assembly.cluster_arguments import MeshClusters
from pulumi_hosted_mesh.assembly.members import cluster_arguments, members_of, with_servers
from pulumi_hosted_mesh.assembly.part_names import parts_of_mesh
from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.assembly.single_cluster import make_in_one_cluster
from pulumi_hosted_mesh.boundary.arguments import SOURCE, cluster_of, mesh_of
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.boundary.unique_names import require_unique_names
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, refuse_providers
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane, ExternalControlPlaneArgs
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.data_plane.served_kinds import require_answers
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust.authorities import MeshRoot, MeshTrust, cacerts
from pulumi_hosted_mesh.trust.management import Authority, mesh_authority
from pulumi_hosted_mesh.vocabulary import TYPE_HOSTED_MESH, suffixed


class HostedMeshArgs(MeshArgs):
    """A mesh: its document as arguments, with its clusters and, optionally, your own certificates."""

    cacerts: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """The four files of `cacerts`, with `trust.management: brought`. Secret."""
    root_certificate: NotRequired[pulumi.Input[str]]
    """The certificate of the root, with `trust.management: unmanaged` or `cert-manager`. PEM, public."""
    gateway: NotRequired[GatewayFactsArgs]
    """The facts of the shared gateway (`SharedGateway.for_meshes`), for revisions with `exposure.kind: gateway`."""


class HostedMesh(pulumi.ComponentResource):
    """One mesh: an istiod per revision in the control plane's cluster; webhooks and few rights for it on data planes.

    Raises: InvalidInputError for invalid arguments, kubeconfigs or charts, or if another component of the program has a
    part of the same name.
    """

    namespace: pulumi.Output[str]
    """The mesh's namespace on data planes."""
    root_certificate: pulumi.Output[str]
    """The mesh's root certificate, PEM, public."""
    endpoints: pulumi.Output[dict[str, Any]]
    """The data planes' endpoints, by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, list[str]]]
    """Addresses of istiod's load balancers, by host: public."""
    api_server_clients: pulumi.Output[dict[str, list[str]]]
    """Source addresses that a data plane's API server admits, by name of the membership, in CIDR form."""
    gateway_addresses: pulumi.Output[dict[str, list[str]]]
    """Addresses of the first membership's gateways' load balancers, by `<namespace>/<name>`: public."""
    injection_labels: pulumi.Output[dict[str, str]]
    """Labels of a namespace that give its Pods sidecars of the first revision."""
    webhook_manifests: pulumi.Output[list[dict[str, Any]]]
    """The webhook configurations of all data planes; with `unmanaged` webhooks, install them yourself."""

    def __init__(
        self,
        name: str,
        args: HostedMeshArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        authority: Authority | None = None,
    ) -> None:
        """authority: of a root for several meshes, with `trust.management: own`; by default the mesh makes its own."""
        called = f"HostedMesh {name}"
        args = typed_arguments(HostedMeshArgs, args, called)
        refuse_providers(opts, called)
        super().__init__(TYPE_HOSTED_MESH, name, {}, opts)
        given = [dict(one) for one in args.get("memberships") or []]
        if args.get("split") is False:
            self._make_in_one_cluster(name, args, given, opts)
            return
        clusters = MeshClusters.of(name, args.get("control_plane"), cluster_arguments(name, given), SOURCE, parent=self)
        mesh = mesh_of({**_document(args), "memberships": with_servers(given, clusters.data_planes)})
        require_unique_names(self, TYPE_HOSTED_MESH, name, parts_of_mesh(name, mesh), opts)
        members = members_of(name, mesh, given, clusters.data_planes)
        check_charts(mesh)
        require_answers([(one.membership.access, one.cluster) for one in members], called)
        child = pulumi.ResourceOptions(parent=self)

        trusted = mesh_authority(
            mesh.trust,
            lambda: authority or _signed_here(name, mesh, child),
            brought=args.get("cacerts"),
            root_certificate=args.get("root_certificate"),
            source=SOURCE,
        )
        accesses = {one.membership.name: DataPlaneAccess(one.prefix, one.access_args(), child) for one in members}
        crds = [DataPlaneCrds(one.prefix, one.crds_args(), child) for one in members if one.membership.crds.install]
        arguments: ExternalControlPlaneArgs = {
            "mesh": mesh.arguments(),
            "cluster": clusters.control_plane,
            "kubeconfigs": {member: access.kubeconfig for member, access in accesses.items()},
            "root_certificate": trusted.root_certificate,
            "cacerts": trusted.files,
        }
        if "gateway" in args:
            arguments["gateway"] = args["gateway"]
        control_plane = ExternalControlPlane(
            name, arguments, child, after=crds, own_webhooks=True, data_planes=clusters.data_planes
        )
        data_planes = [
            RemoteDataPlane(
                suffixed(one.prefix, revision.name),
                one.remote_data_plane_args(revision, control_plane.endpoint(one.membership, revision)),
                child,
                after=[accesses[one.membership.name].namespace],
                webhooks_after=[control_plane],
            )
            for one in members
            for revision in mesh.revisions
        ]

        first = control_plane.endpoint(mesh.memberships[0], mesh.revisions[0])
        self.endpoints = control_plane.endpoints
        self.addresses = control_plane.addresses
        self.api_server_clients = control_plane.api_server_clients
        self.gateway_addresses = data_planes[0].gateway_addresses
        self.webhook_manifests = pulumi.Output.all(*(one.webhook_manifests for one in data_planes)).apply(
            lambda lists: [one for many in lists for one in many]
        )
        self._finish(mesh, trusted, first)

    def _make_in_one_cluster(
        self, name: str, args: HostedMeshArgs, given: list[Any], opts: pulumi.ResourceOptions | None
    ) -> None:
        """The mesh with `split: false`. It has no endpoints, addresses and manifests for another side."""
        if "gateway" in args:
            rule, fix = "is set, but split is false", "Leave it out, or set split: true"
            raise InvalidInputError([Problem("gateway", rule, fix)], SOURCE)
        mesh = mesh_of({**_document(args), "memberships": given})
        require_unique_names(self, TYPE_HOSTED_MESH, name, parts_of_mesh(name, mesh), opts)
        cluster = ControlPlaneCluster.of_single(cluster_of(given[0], "memberships[0]", SOURCE), name=name, parent=self)
        check_charts(mesh)
        child = pulumi.ResourceOptions(parent=self)
        trusted = mesh_authority(
            mesh.trust,
            lambda: _signed_here(name, mesh, child),
            brought=args.get("cacerts"),
            root_certificate=args.get("root_certificate"),
            source=SOURCE,
        )
        made = make_in_one_cluster(name, mesh, cluster, trusted, f"HostedMesh {name}", self)
        self.endpoints, self.addresses = pulumi.Output.from_input({}), pulumi.Output.from_input({})
        self.api_server_clients = pulumi.Output.from_input({})
        self.gateway_addresses = pulumi.Output.from_input(made.gateway_addresses)
        self.webhook_manifests = pulumi.Output.from_input([])
        self._finish(mesh, trusted, made.endpoint)

    def _finish(self, mesh: Mesh, trusted: Authority, first: ControlPlaneEndpoint) -> None:
        """first: the endpoint of the first membership and revision."""
        self.namespace = pulumi.Output.from_input(mesh.namespace)
        self.root_certificate = pulumi.Output.from_input(trusted.root_certificate)
        self.injection_labels = pulumi.Output.from_input(dict(first.injection_labels))
        self.register_outputs(
            {
                "namespace": self.namespace,
                "root_certificate": self.root_certificate,
                "endpoints": self.endpoints,
                "addresses": self.addresses,
                "api_server_clients": self.api_server_clients,
                "gateway_addresses": self.gateway_addresses,
                "injection_labels": self.injection_labels,
                "webhook_manifests": self.webhook_manifests,
            }
        )


def _signed_here(name: str, mesh: Mesh, opts: pulumi.ResourceOptions) -> Authority:
    """An intermediate and its root, both in this program."""
    trust = mesh.trust.arguments()
    intermediate = MeshTrust(name, {"trust": trust}, opts)
    root = MeshRoot(name, {"trust": trust, "requests": {mesh.name: intermediate.request}}, opts)
    files = cacerts(root.certificates[mesh.name], intermediate.private_key, root.certificate)
    return Authority(files, root.certificate)


def _document(args: HostedMeshArgs) -> Any:
    own = ("cacerts", "root_certificate", "gateway", "memberships")
    return {key: value for key, value in args.items() if key not in own}
