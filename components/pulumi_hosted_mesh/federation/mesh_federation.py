"""One mesh's part of a federation, in its own data plane's cluster.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import apiextensions

from pulumi_hosted_mesh._generated.inputs import FederationArgs, OfferArgs
from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.federation.egress import is_of_egress
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.imports import imported, notices
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import outputs_in, read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_FEDERATION


class MeshFederationArgs(TypedDict):
    """Arguments of MeshFederation: public facts, and the mesh's own cluster."""

    federation: FederationArgs
    """The federation's document, the same for all peers. `gateway.address` and `rootCertificate` may be Outputs."""
    mesh: str
    """Name of this peer."""
    cluster: DataPlaneCluster
    """Its data plane's cluster, where its istiod reads Istio's objects. Other peers' clusters are never needed."""
    offers: NotRequired[list[pulumi.Input[OfferArgs]]]
    """Offers of peers that select Services by label, as `hosted-mesh exports` prints them, or as the output `offer` of
    their components. Exports with service and port come from the document."""


class MeshFederation(pulumi.ComponentResource):
    """Lets a mesh call its peers' services, and lets them call its own, through the east-west gateways.

    If the mesh has an egress gateway, its calls pass through that too.

    An import whose service no peer exports is left out, with a warning.

    Raises: InvalidInputError if the document cannot be used, or a `required` import is not exported.
    """

    hosts: pulumi.Output[list[str]]
    """Host names that this mesh imports."""
    offer: pulumi.Output[dict[str, Any]]
    """This mesh's own offer, for `offers` of its peers: public."""

    def __init__(self, name: str, args: MeshFederationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"MeshFederation {name}"
        args = typed_arguments(MeshFederationArgs, args, called)
        refuse_providers(opts, called)
        documents = {"federation": args["federation"], "offers": args.get("offers") or []}
        is_known = not any(outputs_in(documents))
        # Plain values are checked before the first resource.
        read = _read(documents) if is_known else None
        super().__init__(TYPE_MESH_FEDERATION, name, {}, opts)
        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        made: pulumi.Output[tuple[list[str], dict[str, Any]]]
        if read is not None:
            made = pulumi.Output.from_input(self._create(name, args["mesh"], cluster, *read))
        else:
            # Names and kinds of the objects depend on offers, so the objects wait for the Outputs.
            made = when_known(
                pulumi.Output.from_input(documents),
                lambda known: self._create(name, args["mesh"], cluster, *_read(known)),
            )
        self.hosts = made.apply(lambda found: found[0])
        self.offer = made.apply(lambda found: found[1])
        self.register_outputs({"hosts": self.hosts, "offer": self.offer})

    def _create(
        self, name: str, mesh: str, cluster: DataPlaneCluster, federation: Federation, given: list[Offer]
    ) -> tuple[list[str], dict[str, Any]]:
        """The mesh's objects. Returns the imported hosts and the mesh's own offer."""
        offers = with_declared(federation, given)
        ways: list[pulumi.Resource] = []
        for one in objects(federation, mesh, offers):
            kind, metadata = one["kind"], one["metadata"]
            # Only EnvoyFilters may share a name: one in each namespace of an import's callers.
            where = f"{metadata['namespace']}-" if kind == "EnvoyFilter" else ""
            leaves = is_of_egress(federation, one)
            resource = apiextensions.CustomResource(
                f"{name}-{kind.lower()}-{where}{metadata['name']}",
                api_version=one["apiVersion"],
                kind=kind,
                metadata=metadata,
                spec=one["spec"],
                # The egress gateway's routes exist before requests go there, and until none go there any more.
                opts=cluster.options(self, depends_on=[] if leaves else ways),
            )
            if leaves:
                ways.append(resource)
        for warning in notices(federation, mesh, offers):
            pulumi.log.warn(str(warning), self)
        (own,) = (one for one in offers if one.mesh == mesh and one.federation == federation.name)
        return [one.host for one in imported(federation, mesh, offers)], own.arguments()


def _read(documents: Mapping[str, Any]) -> tuple[Federation, list[Offer]]:
    """The documents in arguments. Raises: InvalidInputError."""
    federation = read_arguments(Federation, documents["federation"], "the federation")
    return federation, [read_arguments(Offer, one, "the offer") for one in documents["offers"]]
