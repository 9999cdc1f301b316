"""The objects of intents in one cluster.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import Any, TypedDict

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_kubernetes import apiextensions

from pulumi_hosted_mesh._generated.inputs import IntentsArgs, InventoryArgs
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.intents.compiled import Manifest
from pulumi_hosted_mesh.intents.compiler import compile_intents, of_peer
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import SKIP_AWAIT_ANNOTATION, TYPE_TRAFFIC_INTENTS

# Objects that calls pass through, made before those that lead to them and removed after.
ENTRANCES = ("ServiceAccount", "Service", "Deployment", "Gateway", "ServiceEntry")


class TrafficIntentsArgs(TypedDict):
    """The intents, the inventory, and one of its clusters. All of it is public."""

    intents: IntentsArgs
    """The intents document, the same for all clusters."""
    inventory: InventoryArgs
    """The inventory, the same for all clusters."""
    target: str
    """The cluster's name in the inventory."""
    cluster: DataPlaneCluster
    """The cluster itself. No other cluster is needed, so clusters change independently of each other."""


class TrafficIntents(pulumi.ComponentResource):
    """Makes the objects of intents in one cluster.

    Raises: InvalidInputError if an intent is wrong, or contradicts another; before anything is touched.
    """

    pending: pulumi.Output[list[str]]
    """Intents that wait for the placement of a service, with the reason."""
    exports: pulumi.Output[list[dict[str, Any]]]
    """Exports for this mesh's peer in the federation document."""
    imports: pulumi.Output[list[dict[str, Any]]]
    """Imports for this mesh's peer in the federation document."""

    def __init__(self, name: str, args: TrafficIntentsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"TrafficIntents {name}"
        args = typed_arguments(TrafficIntentsArgs, args, called)
        refuse_providers(opts, called)
        document = read_arguments(Intents, args["intents"], "the intents")
        inventory = read_arguments(Inventory, args["inventory"], "the inventory")
        meshes = {one.name: one.mesh for one in inventory.clusters}
        if args["target"] not in meshes:
            rule = f"is {args['target']}, which the inventory does not have"
            raise InvalidInputError([Problem("target", rule, f"Use one of {', '.join(sorted(meshes))}")], called)
        compiled = compile_intents(document, inventory)
        super().__init__(TYPE_TRAFFIC_INTENTS, name, {}, opts)
        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        self._make(name, cluster, compiled.objects.get(args["target"], []))
        for one in compiled.pending:
            pulumi.log.warn(f"intent {one.intent} is pending: {one.reason}", self)
        mesh = meshes[args["target"]]
        pending = [f"{one.intent}: {one.reason}" for one in compiled.pending]
        parts = (compiled.exports, compiled.imports)
        self.pending = pulumi.Output.from_input(pending)
        self.exports, self.imports = (pulumi.Output.from_input(_parts(found, mesh)) for found in parts)
        self.register_outputs({"pending": self.pending, "exports": self.exports, "imports": self.imports})

    def _make(self, name: str, cluster: DataPlaneCluster, objects: list[Manifest]) -> None:
        ways: list[pulumi.Resource] = []
        for one in sorted(objects, key=lambda found: found["kind"] not in ENTRANCES):
            kind, metadata = one["kind"], one["metadata"]
            is_entrance = kind in ENTRANCES
            options = cluster.options(self, depends_on=[] if is_entrance else ways)
            logical = f"{name}-{kind.lower()}-{metadata['namespace']}-{metadata['name']}"
            made = _resource(logical, one, options)
            if is_entrance:
                ways.append(made)


def _resource(name: str, one: Manifest, options: pulumi.ResourceOptions) -> pulumi.Resource:
    kind, metadata = one["kind"], one["metadata"]
    if kind in ("Service", "Deployment"):
        # A gateway's readiness is its owner's subject: a stack changes policies without a load balancer's address.
        metadata = {**metadata, "annotations": {**metadata["annotations"], SKIP_AWAIT_ANNOTATION: "true"}}
    made: pulumi.Resource
    if kind == "ServiceAccount":
        made = kubernetes.core.v1.ServiceAccount(name, metadata=metadata, opts=options)
    elif kind == "Service":
        made = kubernetes.core.v1.Service(name, metadata=metadata, spec=one["spec"], opts=options)
    elif kind == "Deployment":
        made = kubernetes.apps.v1.Deployment(name, metadata=metadata, spec=one["spec"], opts=options)
    else:
        made = apiextensions.CustomResource(
            name, api_version=one["apiVersion"], kind=kind, metadata=metadata, spec=one["spec"], opts=options
        )
    return made


def _parts(found: dict[str, list[tuple[str, Manifest]]], mesh: str) -> list[dict[str, Any]]:
    return [part for parts in of_peer(found, mesh).values() for part in parts]
