"""A mesh seen from outside, with nothing installed in the user's cluster.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import apiextensions

from pulumi_hosted_mesh._generated.inputs import ObservabilityArgs
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.observability import debug_proxy, kiali, proxy_objects, validated_inputs
from pulumi_hosted_mesh.observability.parts import Parts
from pulumi_hosted_mesh.observability.server_certificate import server_files
from pulumi_hosted_mesh.observability.validated_inputs import SOURCE
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.observability import Observability, Placement
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_OBSERVABILITY, labels


class MeshObservabilityArgs(TypedDict):
    """Arguments of MeshObservability."""

    observability: ObservabilityArgs
    """The parts and their placement."""
    control_plane: NotRequired[ControlPlaneCluster]
    """The control plane's cluster. Required by parts that are placed there."""
    data_plane: NotRequired[DataPlaneCluster]
    """The data plane's cluster. Without it the Istio objects of the proxies are left out."""
    cacerts: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """The files of the Secret `cacerts`, as for ExternalControlPlane: they sign the certificates of the collector and
    the debug proxy. Secret. Not needed if both have a `serverSecret`."""
    kiali_kubeconfigs: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Kubeconfigs by which Kiali reads data planes, by Istio's name of the cluster: a server, an authority and a token.
    Secret. By default the component makes an account on `data_plane`."""


class MeshObservability(pulumi.ComponentResource):
    """The collector of a mesh's metrics, Prometheus, Kiali, and the Istio objects by which proxies push and log.

    Raises: InvalidInputError if a cluster or `cacerts` is missing, or the document is invalid.
    """

    push_address: pulumi.Output[str]
    """`host:port` of the collector, for `proxies.metrics` of the mesh document; empty without a collector."""
    debug_address: pulumi.Output[str]
    """`host:port` of the debug proxy, for `istioctl --xds-address`; empty without a debug proxy."""
    namespace: pulumi.Output[str]
    """Namespace of collector, Prometheus and Kiali."""

    def __init__(self, name: str, args: MeshObservabilityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"MeshObservability {name}"
        args = typed_arguments(MeshObservabilityArgs, args, called)
        refuse_providers(opts, called)
        document = read_arguments(Observability, args["observability"], SOURCE)
        cacerts = validated_inputs.authority(document, args.get("cacerts"))
        validated_inputs.require_clusters(document, args.keys())
        given = args.get("kiali_kubeconfigs") or {}
        validated_inputs.kiali(document, given.keys(), has_data_plane="data_plane" in args)
        super().__init__(TYPE_MESH_OBSERVABILITY, name, {}, opts)

        if document.placed(Placement.CONTROL_PLANE):
            cluster = ControlPlaneCluster.of(args["control_plane"], name=name, parent=self)
            control_plane_parts = Parts.make(name, document, cluster, parent=self)
            if cacerts is not None and document.collector.is_signed:
                control_plane_parts.server_secret(server_files(name, document, cacerts, parent=self))
            control_plane_parts.collector()
            control_plane_parts.prometheus()
            debug_proxy.make(control_plane_parts, cacerts)
        data_plane = None
        if "data_plane" in args:
            data_plane = DataPlaneCluster.of(args["data_plane"], name=name, parent=self)
            if document.placed(Placement.DATA_PLANE):
                parts = Parts.make(name, document, data_plane, parent=self)
                parts.collector()
                parts.prometheus()
            for one in proxy_objects.objects(document):
                apiextensions.CustomResource(
                    f"{name}-{one['kind'].lower()}-{one['metadata']['name']}",
                    api_version=one["apiVersion"],
                    kind=one["kind"],
                    metadata={**one["metadata"], "labels": labels(document.mesh, data_plane.role)},
                    spec=one["spec"],
                    opts=data_plane.options(self),
                )
        if document.kiali.placement is Placement.CONTROL_PLANE:
            kiali.make(control_plane_parts, cluster, kiali.kubeconfigs(name, document, given, data_plane, parent=self))
        pushes = document.collector.placement is not Placement.NONE
        address = f"{document.collector.host}:{document.collector.port}" if pushes else ""
        self.push_address = pulumi.Output.from_input(address)
        self.debug_address = pulumi.Output.from_input(debug_proxy.address(document))
        self.namespace = pulumi.Output.from_input(document.own_namespace)
        self.register_outputs(
            {"push_address": self.push_address, "debug_address": self.debug_address, "namespace": self.namespace}
        )
