"""One template of a mesh in many clusters: a HostedMesh for each, made alike and apart from each other.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh.assembly.deployment_plan import SOURCE, Planned, planned
from pulumi_hosted_mesh.assembly.given_clusters import GivenClusters, Place
from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh, HostedMeshArgs
from pulumi_hosted_mesh.assembly.part_names import parts_of_deployment
from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.boundary.arguments import outputs_of, without_cluster, without_outputs
from pulumi_hosted_mesh.boundary.claimed_names import claim
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.metadata import cluster_wide
from pulumi_hosted_mesh.inputs import DeploymentArgs
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_DEPLOYMENT


class MeshDeploymentArgs(DeploymentArgs):
    """A deployment: its document as arguments, with the clusters in it."""


class MeshDeployment(pulumi.ComponentResource):
    """One mesh per chosen cluster, from one template: names, networks, trust domains and roots are each mesh's own.

    Raises: InvalidInputError if the arguments, a kubeconfig or the charts cannot be used, or another component of the
    program has a part of the same name, before anything is made.
    """

    meshes: pulumi.Output[dict[str, str]]
    """The meshes' names, by cluster."""
    trust_domains: pulumi.Output[dict[str, str]]
    """Their trust domains, by cluster."""
    root_certificates: pulumi.Output[dict[str, str]]
    """Their root certificates, by cluster: PEM, public."""
    endpoints: pulumi.Output[dict[str, Any]]
    """What data planes are told, by cluster and then by `<membership>/<revision>`: public facts."""
    addresses: pulumi.Output[dict[str, Any]]
    """Of istiod's load balancers, by cluster and then by the host that leads there: public."""
    gateway_addresses: pulumi.Output[dict[str, Any]]
    """Of the load balancers of gateways, by cluster and then by `<namespace>/<name>`: public."""
    injection_labels: pulumi.Output[dict[str, Any]]
    """Labels on a namespace whose Pods get sidecars, by cluster."""
    webhook_manifests: pulumi.Output[dict[str, Any]]
    """The webhook configurations, by cluster; with `unmanaged` webhooks what an integrator must install."""

    def __init__(self, name: str, args: MeshDeploymentArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"MeshDeployment {name}"
        args = typed_arguments(MeshDeploymentArgs, args, called)
        refuse_providers(opts, called)
        super().__init__(TYPE_MESH_DEPLOYMENT, name, {}, opts)
        plans = planned(_document(args))
        for one in plans:
            check_charts(one.mesh)
        places = _places(name, args)
        chosen = [places[one.cluster.name] for one in plans]
        claim(self, TYPE_MESH_DEPLOYMENT, name, parts_of_deployment(chosen), opts)
        clusters = GivenClusters.of(name, args.get("control_plane"), chosen, SOURCE, parent=self)

        meshes: dict[str, HostedMesh] = {}
        for plan, place, cluster in zip(plans, chosen, clusters.data_planes, strict=True):
            arguments = _mesh_args(plan, place, clusters.control_plane, cluster)
            mesh = HostedMesh(place.name, arguments, pulumi.ResourceOptions(parent=self))
            self._make_members(place.name, plan, mesh, cluster)
            meshes[plan.cluster.name] = mesh

        def by_cluster(output: Callable[[HostedMesh], pulumi.Output[Any]]) -> pulumi.Output[dict[str, Any]]:
            return pulumi.Output.all(**{place: output(mesh) for place, mesh in meshes.items()})

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
        """The members' namespaces; after the mesh, so that the first Pod already gets its sidecar."""
        for namespace in plan.namespaces:
            metadata = mesh.injection_labels.apply(
                lambda labels, namespace=namespace: cluster_wide(  # type: ignore[misc]
                    plan.mesh.name, cluster, namespace, labels=labels
                )
            )
            core.v1.Namespace(
                f"{name}-namespace-{namespace}", metadata=metadata, opts=cluster.options(self, depends_on=[mesh])
            )


def _places(name: str, args: Any) -> dict[str, Place]:
    """Where the clusters stand, by name of the cluster; a mesh in one is called `<name>-<cluster>`."""
    return {
        str(one["name"]): Place(f"clusters[{position}]", dict(one), f"{name}-{one['name']}")
        for position, one in enumerate(args["clusters"])
    }


def _mesh_args(
    plan: Planned, place: Place, control_plane: ControlPlaneCluster, cluster: DataPlaneCluster
) -> HostedMeshArgs:
    """Of a cluster's HostedMesh: its document with the clusters in it, and the Outputs that its place has."""
    arguments = plan.mesh.arguments()
    (membership,) = arguments["memberships"]
    access = {**membership.get("access", {}), **outputs_of(place.given, place.field, SOURCE)}
    arguments["control_plane"] = {**arguments.get("control_plane", {}), "cluster": control_plane}
    arguments["memberships"] = [{**membership, "access": access, "cluster": cluster}]
    return cast(HostedMeshArgs, arguments)


def _document(args: Any) -> Deployment:
    """The deployment that arguments describe, without clusters and Outputs. Raises: InvalidInputError."""
    plain = dict(args)
    if isinstance(plain.get("control_plane"), Mapping):
        plain["control_plane"] = without_cluster(plain["control_plane"])
    if isinstance(plain.get("clusters"), Sequence) and not isinstance(plain["clusters"], str):
        plain["clusters"] = [without_outputs(without_cluster(one)) for one in plain["clusters"]]
    return read_arguments(Deployment, plain, SOURCE)
