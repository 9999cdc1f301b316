"""One mesh, all sides, as one component: the composition that stacks, examples and programs in any language share.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import Any, NotRequired

import pulumi

from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.boundary.arguments import SOURCE, cluster_of, mesh_of, outputs_of
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.charts.chart import newest
from pulumi_hosted_mesh.clusters.cluster import (
    ControlPlaneCluster,
    DataPlaneCluster,
    refuse_one_given_twice,
    refuse_providers,
)
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.inputs import MeshArgs
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.data_plane import Membership, TokenKind
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

    Raises: InvalidInputError if the arguments, a kubeconfig or the charts cannot be used.
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
        control_plane_cluster = ControlPlaneCluster.of(
            cluster_of(args.get("control_plane"), "controlPlane", SOURCE), name=name, parent=self
        )
        memberships = [dict(one) for one in args.get("memberships") or []]
        clusters = _data_plane_clusters(name, memberships, self)
        by_field = {f"memberships[{position}].cluster": one for position, one in enumerate(clusters)}
        refuse_one_given_twice({"controlPlane.cluster": control_plane_cluster, **by_field}, SOURCE)
        mesh = mesh_of({**_document(args), "memberships": _with_servers(memberships, clusters)})
        _refuse_bounded_tokens(mesh)
        check_charts(mesh)
        child = pulumi.ResourceOptions(parent=self)

        trusted = authority(
            mesh.trust,
            lambda: _signed_here(name, mesh, child),
            brought=args.get("cacerts"),
            root_certificate=args.get("root_certificate"),
            source=SOURCE,
        )
        self.root_certificate = pulumi.Output.from_input(trusted.root_certificate)
        crds, accesses = [], {}
        for position, (membership, given, cluster) in enumerate(
            zip(mesh.memberships, memberships, clusters, strict=True)
        ):
            member = suffixed(name, membership.name)
            accesses[membership.name] = DataPlaneAccess(
                member,
                {
                    "mesh": mesh.name,
                    "cluster": cluster,
                    "access": _access(membership, given, position),
                    "cluster_id": mesh.cluster_id(membership),
                    "network": mesh.network(membership),
                },
                child,
            )
            if membership.crds.install:
                charts = newest(one.charts for one in mesh.revisions).arguments()
                keep = membership.crds.keep_on_destroy
                crds.append(
                    DataPlaneCrds(member, {"cluster": cluster, "charts": charts, "keep_on_destroy": keep}, child)
                )

        control_plane = ExternalControlPlane(
            name,
            {
                "mesh": mesh.arguments(),
                "cluster": control_plane_cluster,
                "kubeconfigs": {member: access.kubeconfig for member, access in accesses.items()},
                "root_certificate": self.root_certificate,
                "cacerts": trusted.files,
            },
            child,
            after=crds,
        )
        data_planes = []
        for membership, cluster in zip(mesh.memberships, clusters, strict=True):
            for position, revision in enumerate(mesh.revisions):
                data_planes += [
                    RemoteDataPlane(
                        suffixed(suffixed(name, membership.name), revision.name),
                        {
                            "cluster": cluster,
                            "endpoint": control_plane.endpoint(membership, revision).as_arguments(),
                            "webhooks": membership.webhooks.arguments(),
                            # Gateways are the membership's, not a revision's: the first revision serves them.
                            "gateways": [one.arguments() for one in membership.gateways] if position == 0 else [],
                            "charts": _source(revision.charts),
                            "chart_values": membership.chart_values,
                            "wait_for_gateways": revision.istiod.wait_until_ready,
                        },
                        child,
                        after=[accesses[membership.name].namespace],
                        webhooks_after=[control_plane],
                    )
                ]
        first = control_plane.endpoint(mesh.memberships[0], mesh.revisions[0])
        self.namespace = pulumi.Output.from_input(mesh.namespace)
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


def _data_plane_clusters(
    name: str, memberships: list[dict[str, Any]], parent: pulumi.Resource
) -> list[DataPlaneCluster]:
    """One for each membership."""
    return [
        DataPlaneCluster.of(
            cluster_of(one, f"memberships[{position}]", SOURCE),
            name=suffixed(name, str(one.get("name") or "default")),
            parent=parent,
        )
        for position, one in enumerate(memberships)
    ]


def _with_servers(memberships: list[dict[str, Any]], clusters: list[DataPlaneCluster]) -> list[dict[str, Any]]:
    """The memberships with the API servers' addresses where these are plain and the access says no other."""
    result = []
    for membership, cluster in zip(memberships, clusters, strict=True):
        access = membership.get("access") or {}
        if isinstance(access, Mapping) and access.get("api_server") is None and isinstance(cluster.server, str):
            access = {**access, "api_server": cluster.server}
        result.append({**membership, "access": access})
    return result


def _refuse_bounded_tokens(mesh: Mesh) -> None:
    """Raises InvalidInputError: a bounded token is nothing that one program could keep up."""
    rule = "is `bounded`, but HostedMesh has nobody who renews it"
    fix = "Use the stacks access and control-plane, or leave it out"
    found = [
        Problem(f"memberships[{position}].access.token", rule, fix)
        for position, one in enumerate(mesh.memberships)
        if one.access.token is TokenKind.BOUNDED
    ]
    if found:
        raise InvalidInputError(found, SOURCE)


def _access(membership: Membership, given: dict[str, Any], position: int) -> Any:
    """Its access as arguments, Outputs among them."""
    return {**membership.access.arguments(), **outputs_of(given.get("access"), f"memberships[{position}].access")}


def _source(charts: Charts) -> Any:
    """Where charts come from, without their version."""
    return {key: value for key, value in charts.arguments().items() if key != "version"}
