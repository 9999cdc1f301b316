"""The DNS bridge on the control plane: a publisher for each edge and provider, and a reader for each edge.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import NotRequired, TypedDict

import pulumi

from pulumi_hosted_mesh._generated.inputs import DnsBridgeArgs
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, refuse_providers
from pulumi_hosted_mesh.dns import manifests, own_records
from pulumi_hosted_mesh.dns.identities import edge_kubeconfigs, provider_identity
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace
from pulumi_hosted_mesh.dns.plan import SOURCE, Plan, warnings
from pulumi_hosted_mesh.dns.validated_inputs import PUBLISHER, READER, BridgeInputs
from pulumi_hosted_mesh.dns.workloads import Workloads
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_EXTERNAL_DNS_BRIDGE


class ExternalDNSBridgeArgs(TypedDict):
    """Arguments of ExternalDNSBridge."""

    bridge: DnsBridgeArgs
    """Edges and providers."""
    cluster: ControlPlaneCluster
    """The control plane's cluster."""
    publisher_kubeconfigs: dict[str, pulumi.Input[str]]
    """By name of the edge: `DnsEdge.publisher_kubeconfig`. Secret."""
    reader_kubeconfigs: dict[str, pulumi.Input[str]]
    """By name of the edge: `DnsEdge.reader_kubeconfig`. Secret."""
    credentials: NotRequired[dict[str, dict[str, pulumi.Input[str]]]]
    """By id of the provider, then by key, as docs/components/dns.md lists them. Secret."""
    records: NotRequired[dict[str, pulumi.Input[list[pulumi.Input[str]]]]]
    """The program's own records, such as istiod's host: a list of addresses, or of one host name, by host. Each host
    must lie in a provider's `controlPlaneZones`."""
    install_crd: NotRequired[bool]
    """False if another owner installs DNSEndpoint in the control plane's cluster. It applies only with
    `controlPlaneZones`. Default: true."""


class ExternalDNSBridge(pulumi.ComponentResource):
    """Publishes the names of edges from the control plane. Only its cluster has the credentials of DNS providers.

    Raises: InvalidInputError for a cluster that is not a control plane; for an invalid document; for two edges that
    would write the same names; for a missing kubeconfig or credential.
    """

    namespace: pulumi.Output[str]
    """Namespace of the bridge on the control plane."""
    zones: pulumi.Output[dict[str, list[str]]]
    """Permitted domains of each edge, by its name. Public: for `DnsEdge`'s `admission_zones`."""

    def __init__(self, name: str, args: ExternalDNSBridgeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"ExternalDNSBridge {name}"
        args = typed_arguments(ExternalDNSBridgeArgs, args, called)
        refuse_providers(opts, called)
        bridge = read_arguments(DnsBridge, args["bridge"], SOURCE)
        plan = Plan.of(bridge)
        given = BridgeInputs(
            args["publisher_kubeconfigs"],
            args["reader_kubeconfigs"],
            args.get("credentials") or {},
            args.get("records") or {},
        )
        given.require_whole(bridge, plan)
        texts = given.kubeconfigs(plan.edges)
        super().__init__(TYPE_EXTERNAL_DNS_BRIDGE, name, {}, opts)
        for warning in warnings(bridge):
            pulumi.log.warn(str(warning), self)

        cluster = ControlPlaneCluster.of(args["cluster"], name=name, parent=self)
        namespace = BridgeNamespace.make(name, bridge.namespace, cluster, parent=self)
        workloads = Workloads.prepared(bridge, namespace)
        kubeconfigs = edge_kubeconfigs(namespace, texts)
        identities = {
            key: provider_identity(namespace, provider, given.credentials.get(key))
            for key, provider in plan.providers.items()
        }

        for edge in plan.edges.values():
            workloads.reader(edge, plan.pairs_of(edge.name), kubeconfigs[edge.name, READER])
        for pair in plan.pairs:
            workloads.publisher(pair, identities[pair.provider.id], kubeconfigs[pair.edge.name, PUBLISHER])
        if plan.own:
            conditions = manifests.conditions_config(bridge, plan.own)
            install_crd = args.get("install_crd", True)
            own = own_records.make(namespace, given.records, plan.own, conditions, install_crd=install_crd)
            for pair in plan.own:
                keeps = pair is plan.own[0]
                workloads.own_publisher(pair, identities[pair.provider.id], own, keeps_conditions=keeps)

        self.namespace = pulumi.Output.from_input(bridge.namespace)
        self.zones = pulumi.Output.from_input(plan.zones)
        self.register_outputs({"namespace": self.namespace, "zones": self.zones})
