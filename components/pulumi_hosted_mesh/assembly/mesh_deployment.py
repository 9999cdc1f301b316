"""One template of a mesh in many clusters: a HostedMesh for each, made alike and apart from each other.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh.assembly.deployment_plan import SOURCE, Planned, planned
from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh
from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.boundary.arguments import cluster_of, outputs_of, without_cluster, without_outputs
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import (
    ControlPlaneCluster,
    DataPlaneCluster,
    refuse_one_given_twice,
    refuse_providers,
)
from pulumi_hosted_mesh.clusters.metadata import cluster_wide
from pulumi_hosted_mesh.inputs import DeploymentArgs
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_DEPLOYMENT


class MeshDeploymentArgs(DeploymentArgs):
    """A deployment: its document as arguments, with the clusters in it."""


class MeshDeployment(pulumi.ComponentResource):
    """One mesh per chosen cluster, from one template: names, networks, trust domains and roots are each mesh's own.

    Raises: InvalidInputError if the arguments, a kubeconfig or the charts cannot be used, before anything is made.
    """

    meshes: pulumi.Output[dict[str, str]]
    """The meshes' names, by cluster."""
    trust_domains: pulumi.Output[dict[str, str]]
    """Their trust domains, by cluster."""
    root_certificates: pulumi.Output[dict[str, str]]
    """Their root certificates, by cluster: PEM, public."""
    endpoints: pulumi.Output[dict[str, Any]]
    """What data planes are told, by cluster and then by `<membership>/<revision>`: public facts."""
    injection_labels: pulumi.Output[dict[str, Any]]
    """Labels on a namespace whose Pods get sidecars, by cluster."""

    def __init__(self, name: str, args: MeshDeploymentArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"MeshDeployment {name}"
        args = typed_arguments(MeshDeploymentArgs, args, called)
        refuse_providers(opts, called)
        super().__init__(TYPE_MESH_DEPLOYMENT, name, {}, opts)
        plans = planned(_document(args))
        for one in plans:
            check_charts(one.mesh)
        given = {str(one["name"]): dict(one) for one in args["clusters"]}
        positions = {place: position for position, place in enumerate(given)}
        control_plane = ControlPlaneCluster.of(
            cluster_of(args.get("control_plane"), "controlPlane", SOURCE), name=name, parent=self
        )
        clusters = {
            one.cluster.name: DataPlaneCluster.of(
                cluster_of(given[one.cluster.name], f"clusters[{positions[one.cluster.name]}]", SOURCE),
                name=f"{name}-{one.cluster.name}",
                parent=self,
            )
            for one in plans
        }
        by_field = {f"clusters[{positions[place]}].cluster": one for place, one in clusters.items()}
        refuse_one_given_twice({"controlPlane.cluster": control_plane, **by_field}, SOURCE)

        meshes: dict[str, HostedMesh] = {}
        for one in plans:
            place = one.cluster.name
            arguments = one.mesh.arguments()
            arguments["control_plane"] = {**arguments.get("control_plane", {}), "cluster": control_plane}
            (membership,) = arguments["memberships"]
            access = {
                **membership.get("access", {}),
                **outputs_of(given[place], f"clusters[{positions[place]}]", SOURCE),
            }
            arguments["memberships"] = [{**membership, "access": access, "cluster": clusters[place]}]
            mesh = HostedMesh(f"{name}-{place}", arguments, pulumi.ResourceOptions(parent=self))
            meshes[place] = mesh
            self._make_members(f"{name}-{place}", one, mesh, clusters[place])

        self.meshes = pulumi.Output.from_input({one.cluster.name: one.mesh.name for one in plans})
        self.trust_domains = pulumi.Output.from_input({one.cluster.name: one.mesh.domain for one in plans})
        self.root_certificates = pulumi.Output.all(**{place: one.root_certificate for place, one in meshes.items()})
        self.endpoints = pulumi.Output.all(**{place: one.endpoints for place, one in meshes.items()})
        self.injection_labels = pulumi.Output.all(**{place: one.injection_labels for place, one in meshes.items()})
        self.register_outputs(
            {
                "meshes": self.meshes,
                "trust_domains": self.trust_domains,
                "root_certificates": self.root_certificates,
                "endpoints": self.endpoints,
                "injection_labels": self.injection_labels,
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


def _document(args: Any) -> Deployment:
    """The deployment that arguments describe, without clusters and Outputs. Raises: InvalidInputError."""
    plain = dict(args)
    if isinstance(plain.get("control_plane"), Mapping):
        plain["control_plane"] = without_cluster(plain["control_plane"])
    if isinstance(plain.get("clusters"), Sequence) and not isinstance(plain["clusters"], str):
        plain["clusters"] = [without_outputs(without_cluster(one)) for one in plain["clusters"]]
    return read_arguments(Deployment, plain, SOURCE)
