"""One mesh's part of a federation, in its own data plane's cluster.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import apiextensions

from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.federation.egress import is_of_egress
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.imports import imported, left_out
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.inputs import FederationArgs, OfferArgs
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_FEDERATION


class MeshFederationArgs(TypedDict):
    """What one mesh's part of a federation is made of: public facts alone, and its own cluster."""

    federation: FederationArgs
    """The federation's document, the same for all its meshes."""
    mesh: str
    """Which peer this is."""
    cluster: DataPlaneCluster
    """Its data plane's cluster, where its istiod reads Istio's objects. No peer's cluster is ever needed."""
    offers: NotRequired[list[OfferArgs]]
    """What peers export that select Services by label, as `hosted-mesh exports` prints it. Those that declare service
    and port are known from the document."""


class MeshFederation(pulumi.ComponentResource):
    """Lets a mesh call its peers' services, and lets them call its own, through the east-west gateways,
    and its own egress gateway if it has one.

    Raises: InvalidInputError if the document cannot be used, or an import is not exported.
    """

    hosts: pulumi.Output[list[str]]
    """Host names that this mesh imports."""

    def __init__(self, name: str, args: MeshFederationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"MeshFederation {name}"
        args = typed_arguments(MeshFederationArgs, args, called)
        refuse_providers(opts, called)
        federation = read_arguments(Federation, args["federation"], "the federation")
        given = [read_arguments(Offer, one, "the offer") for one in args.get("offers") or []]
        super().__init__(TYPE_MESH_FEDERATION, name, {}, opts)
        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        offers = with_declared(federation, given)
        ways: list[pulumi.Resource] = []
        for one in objects(federation, args["mesh"], offers):
            kind, metadata = one["kind"], one["metadata"]
            # The one kind of which there may be several with one name, in the namespaces of an import's callers.
            where = f"{metadata['namespace']}-" if kind == "EnvoyFilter" else ""
            leaves = is_of_egress(federation, one)
            resource = apiextensions.CustomResource(
                f"{name}-{kind.lower()}-{where}{metadata['name']}",
                api_version=one["apiVersion"],
                kind=kind,
                metadata=metadata,
                spec=one["spec"],
                # Nobody is sent to an egress gateway before it leads on, and it leads on until nobody is.
                opts=cluster.options(self, depends_on=[] if leaves else ways),
            )
            if leaves:
                ways.append(resource)
        wanted = imported(federation, args["mesh"], offers)
        for warning in left_out(federation, args["mesh"], offers):
            pulumi.log.warn(str(warning), self)
        self.hosts = pulumi.Output.from_input([one.host for one in wanted])
        self.register_outputs({"hosts": self.hosts})
