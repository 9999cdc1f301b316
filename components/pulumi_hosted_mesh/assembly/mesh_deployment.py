"""One template of a mesh in many clusters: a separate HostedMesh for each.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, cast

import pulumi

from pulumi_hosted_mesh._generated.inputs import DeploymentArgs, GatewayFactsArgs
from pulumi_hosted_mesh.assembly.cluster_arguments import ClusterArgument, MeshClusters
from pulumi_hosted_mesh.assembly.deployment_plan import SOURCE, Planned, planned
from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh, HostedMeshArgs
from pulumi_hosted_mesh.assembly.part_names import parts_of_deployment
from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.boundary.arguments import outputs_of, without_cluster, without_outputs
from pulumi_hosted_mesh.boundary.name_constraints import name_constraints
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.boundary.unique_names import require_unique_names
from pulumi_hosted_mesh.clusters.adoption import make_namespace
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.metadata import cluster_wide
from pulumi_hosted_mesh.data_plane.served_kinds import require_answers
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.deployment import Deployment, RootSharing
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.trust import AuthorityManagement
from pulumi_hosted_mesh.trust.authorities import MeshRoot, MeshTrust, cacerts
from pulumi_hosted_mesh.trust.management import Authority
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_DEPLOYMENT


class MeshDeploymentArgs(DeploymentArgs):
    """A deployment: its document as arguments, with its clusters."""

    gateway: NotRequired[GatewayFactsArgs]
    """The facts of the shared gateway (`SharedGateway.for_meshes`), for revisions with `exposure.kind: gateway`."""
    intermediates: NotRequired[dict[str, pulumi.Input[Mapping[str, pulumi.Input[str]]]]]
    """The four files of `cacerts` by cluster, with `trust.management: brought`. Secret."""


class MeshDeployment(pulumi.ComponentResource):
    """One mesh per selected cluster, from one template. Each mesh has its own name, network and trust domain.

    Each also has its own root, unless `root: shared` or the argument `intermediates` gives them a common one.

    Raises: InvalidInputError for invalid arguments, kubeconfigs or charts, or if another component of the program has a
    part of the same name, before the first resource.
    """

    meshes: pulumi.Output[dict[str, str]]
    """The meshes' names, by cluster."""
    trust_domains: pulumi.Output[dict[str, str]]
    """Their trust domains, by cluster."""
    root_certificates: pulumi.Output[dict[str, str]]
    """Their root certificates, by cluster: PEM, public."""
    endpoints: pulumi.Output[dict[str, Any]]
    """The data planes' endpoints, by cluster and then by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, Any]]
    """Addresses of istiod's load balancers, by cluster and then by host: public."""
    gateway_addresses: pulumi.Output[dict[str, Any]]
    """Addresses of the gateways' load balancers, by cluster and then by `<namespace>/<name>`: public."""
    injection_labels: pulumi.Output[dict[str, Any]]
    """Labels of a namespace that give its Pods sidecars, by cluster."""
    webhook_manifests: pulumi.Output[dict[str, Any]]
    """The webhook configurations, by cluster; with `unmanaged` webhooks, install them yourself."""

    def __init__(self, name: str, args: MeshDeploymentArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"MeshDeployment {name}"
        args = typed_arguments(MeshDeploymentArgs, args, called)
        refuse_providers(opts, called)
        super().__init__(TYPE_MESH_DEPLOYMENT, name, {}, opts)
        deployment = _document(args)
        plans = planned(deployment)
        brought = _brought(plans, args.get("intermediates") or {})
        for one in plans:
            check_charts(one.mesh)
        cluster_arguments = _cluster_arguments(name, args)
        chosen = [cluster_arguments[one.cluster.name] for one in plans]
        require_unique_names(self, TYPE_MESH_DEPLOYMENT, name, parts_of_deployment(chosen), opts)
        clusters = MeshClusters.of(name, args.get("control_plane"), chosen, SOURCE, parent=self)
        members = [
            (plan.mesh.memberships[0].access, cluster)
            for plan, cluster in zip(plans, clusters.data_planes, strict=True)
        ]
        require_answers(members, f"MeshDeployment {name}")

        authorities = dict[str, Authority]()
        if deployment.root is RootSharing.SHARED:
            authorities = _under_one_root(name, {one.name: plan for one, plan in zip(chosen, plans, strict=True)}, self)
        meshes: dict[str, HostedMesh] = {}
        for plan, argument, cluster in zip(plans, chosen, clusters.data_planes, strict=True):
            arguments = _mesh_args(plan, argument, clusters.control_plane, cluster)
            if "gateway" in args:
                arguments["gateway"] = args["gateway"]
            if plan.cluster.name in brought:
                arguments["cacerts"] = brought[plan.cluster.name]
            authority = authorities.get(argument.name)
            mesh = HostedMesh(argument.name, arguments, pulumi.ResourceOptions(parent=self), authority=authority)
            self._make_members(argument.name, plan, mesh, cluster)
            meshes[plan.cluster.name] = mesh

        def by_cluster(output: Callable[[HostedMesh], pulumi.Output[Any]]) -> pulumi.Output[dict[str, Any]]:
            return pulumi.Output.all(**{cluster: output(mesh) for cluster, mesh in meshes.items()})

        self.meshes = pulumi.Output.from_input({one.cluster.name: one.mesh.name for one in plans})
        self.trust_domains = pulumi.Output.from_input({one.cluster.name: one.mesh.domain for one in plans})
        self.root_certificates = by_cluster(lambda mesh: mesh.root_certificate)
        self.endpoints = by_cluster(lambda mesh: mesh.endpoints)
        self.addresses = by_cluster(lambda mesh: mesh.addresses)
        self.gateway_addresses = by_cluster(lambda mesh: mesh.gateway_addresses)
        self.injection_labels = by_cluster(lambda mesh: mesh.injection_labels)
        self.webhook_manifests = by_cluster(lambda mesh: mesh.webhook_manifests)
        self.register_outputs(
            {
                "meshes": self.meshes,
                "trust_domains": self.trust_domains,
                "root_certificates": self.root_certificates,
                "endpoints": self.endpoints,
                "addresses": self.addresses,
                "gateway_addresses": self.gateway_addresses,
                "injection_labels": self.injection_labels,
                "webhook_manifests": self.webhook_manifests,
            }
        )

    def _make_members(self, name: str, plan: Planned, mesh: HostedMesh, cluster: DataPlaneCluster) -> None:
        """The members' namespaces; after the mesh, so that their first Pods already get sidecars."""
        for namespace in plan.namespaces:
            metadata = mesh.injection_labels.apply(
                lambda labels, namespace=namespace: cluster_wide(  # type: ignore[misc]
                    plan.mesh.name, cluster, namespace, labels=labels
                )
            )
            make_namespace(f"{name}-namespace-{namespace}", metadata, cluster.options(self, depends_on=[mesh]))


def _brought(plans: Sequence[Planned], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The files of `cacerts` by cluster. Raises: InvalidInputError if a mesh lacks them, or has no use for them."""
    wanted = {one.cluster.name for one in plans if one.mesh.trust.management is AuthorityManagement.BROUGHT}
    problems = [
        Problem(
            f"intermediates.{name}",
            "is required with trust.management: brought",
            "Add the files of this cluster's mesh",
        )
        for name in sorted(wanted - given.keys())
    ]
    for name in sorted(given.keys() - wanted):
        rule = "is of no selected cluster with trust.management: brought"
        problems.append(
            Problem(f"intermediates.{name}", rule, "Correct the name, set trust.management, or leave it out")
        )
    if problems:
        raise InvalidInputError(problems, SOURCE)
    return given


def _under_one_root(name: str, plans: Mapping[str, Planned], parent: pulumi.Resource) -> dict[str, Authority]:
    """One root, and an intermediate for each mesh, by the name of its HostedMesh. plans: by that name."""
    child = pulumi.ResourceOptions(parent=parent)
    trust = next(iter(plans.values())).mesh.trust.arguments()
    intermediates = {one: MeshTrust(one, {"trust": trust}, child) for one in plans}
    requests: dict[str, pulumi.Input[str]] = {plan.mesh.name: intermediates[one].request for one, plan in plans.items()}
    permitted = {plan.mesh.name: name_constraints(plan.mesh).arguments() for plan in plans.values()}
    root = MeshRoot(name, {"trust": trust, "requests": requests, "name_constraints": permitted}, child)
    return {
        one: Authority(
            cacerts(root.certificates[plan.mesh.name], intermediates[one].private_key, root.certificate),
            root.certificate,
        )
        for one, plan in plans.items()
    }


def _cluster_arguments(name: str, args: Any) -> dict[str, ClusterArgument]:
    """The clusters' arguments by name. A cluster's HostedMesh has the name `<name>-<cluster>`."""
    return {
        str(one["name"]): ClusterArgument(f"clusters[{position}]", dict(one), f"{name}-{one['name']}")
        for position, one in enumerate(args["clusters"])
    }


def _mesh_args(
    plan: Planned, argument: ClusterArgument, control_plane: ControlPlaneCluster, cluster: DataPlaneCluster
) -> HostedMeshArgs:
    """The arguments of a cluster's HostedMesh: its document, its clusters, and the Outputs of its arguments."""
    arguments = plan.mesh.arguments()
    (membership,) = arguments["memberships"]
    access = {**membership.get("access", {}), **outputs_of(argument.given, argument.field, SOURCE)}
    arguments["control_plane"] = {**arguments.get("control_plane", {}), "cluster": control_plane}
    arguments["memberships"] = [{**membership, "access": access, "cluster": cluster}]
    return cast(HostedMeshArgs, arguments)


def _document(args: Any) -> Deployment:
    """The deployment in arguments, without clusters and Outputs. Raises: InvalidInputError."""
    plain = {key: value for key, value in dict(args).items() if key not in ("gateway", "intermediates")}
    if isinstance(plain.get("control_plane"), Mapping):
        plain["control_plane"] = without_cluster(plain["control_plane"])
    if isinstance(plain.get("clusters"), Sequence) and not isinstance(plain["clusters"], str):
        plain["clusters"] = [without_outputs(without_cluster(one)) for one in plain["clusters"]]
    return read_arguments(Deployment, plain, SOURCE)
