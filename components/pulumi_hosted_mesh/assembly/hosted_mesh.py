"""One mesh, both sides, as one component: for programs in other languages, which hand over the document as text.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import TypedDict

import pulumi

from pulumi_hosted_mesh.assembly import preflight
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.spec.load import read_mesh_text
from pulumi_hosted_mesh.trust.authorities import MeshTrust
from pulumi_hosted_mesh.vocabulary import PACKAGE


class HostedMeshArgs(TypedDict):
    """What a HostedMesh is made of."""

    document: str
    """The mesh document, as YAML or JSON text."""


class HostedMesh(pulumi.ComponentResource):
    """One mesh: istiod in the provider's cluster, webhooks and few rights for it in the user's."""

    host: pulumi.Output[str]
    """DNS name of istiod."""
    namespace: pulumi.Output[str]
    """The mesh's namespace, in both clusters."""
    root_certificate: pulumi.Output[str]
    """The mesh's root certificate, PEM, public."""
    injection_labels: pulumi.Output[Mapping[str, str]]
    """Labels on a namespace whose Pods get sidecars."""

    def __init__(self, name: str, args: HostedMeshArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Raises InvalidInputError if the document, a kubeconfig or the charts cannot be used."""
        mesh = read_mesh_text(args["document"])
        kubeconfigs = preflight.both(mesh)
        super().__init__(f"{PACKAGE}:index:HostedMesh", name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        provider = ControlPlaneCluster.from_config(kubeconfigs.control_plane, name=name, parent=self)
        user = DataPlaneCluster.from_config(kubeconfigs.data_plane, name=name, parent=self)

        trust = MeshTrust(mesh.name, trust=mesh.trust, opts=own)
        access = DataPlaneAccess(mesh.name, mesh=mesh, cluster=user, opts=own)
        wanted = mesh.data_plane.crds.install
        crds = [DataPlaneCrds(mesh.name, mesh=mesh, cluster=user, opts=own)] if wanted else []
        control_plane = ExternalControlPlane(
            mesh.name,
            mesh=mesh,
            cluster=provider,
            cacerts=trust.cacerts,
            credential=access.credential,
            after=crds,
            opts=own,
        )
        endpoint = control_plane.endpoint
        RemoteDataPlane(
            mesh.name,
            mesh=mesh,
            cluster=user,
            endpoint=endpoint,
            after=[access.namespace],
            gateways_after=[control_plane],
            opts=own,
        )
        self.host = pulumi.Output.from_input(endpoint.host)
        self.namespace = pulumi.Output.from_input(endpoint.namespace)
        self.root_certificate = endpoint.root_certificate
        self.injection_labels = pulumi.Output.from_input(endpoint.injection_labels)
        self.register_outputs(
            {
                "host": self.host,
                "namespace": self.namespace,
                "root_certificate": self.root_certificate,
                "injection_labels": self.injection_labels,
            }
        )
