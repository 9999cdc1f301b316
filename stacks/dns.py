"""Stack `dns`: the DNS bridge in the control plane's cluster. Needs no credential of any data plane's administrator.

It also publishes what other stacks know: istiod's hosts and those of east-west gateways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulumi_hosted_mesh import ExternalDNSBridge
from pulumi_hosted_mesh.assembly.document import control_plane_cluster
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.dns.known import Known, of_control_plane, of_gateway, own_records
from pulumi_hosted_mesh.dns.plan import own_pairs
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsStack
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.stack import StackKind, StackSettings

from stacks import configuration, references


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `namespace`, and `zones` in which each edge may publish (public)."""
    document = configuration.document(DnsStack, "dns")
    records = own_records(await _known(settings), own_pairs(document.bridge))
    cluster = control_plane_cluster(document.cluster, "dns.cluster", configuration.SOURCE)
    made = publish(settings, document.bridge, cluster, {host: [*targets] for host, targets in records.items()})
    return {"namespace": made.namespace, "zones": made.zones}


def publish(
    settings: StackSettings, bridge: DnsBridge, cluster: ControlPlaneCluster, records: Mapping[str, Any]
) -> ExternalDNSBridge:
    """The bridge, with the kubeconfigs of its edges' stacks. records: targets of what the program knows, by host."""
    named = settings.references.edges or {}
    edges = {
        edge.name: references.stack(named.get(edge.name), f"references.edges.{edge.name}", StackKind.DNS_EDGE)
        for edge in bridge.edges
        if edge.publishes
    }
    return ExternalDNSBridge(
        "names",
        {
            "bridge": bridge.arguments(),
            "cluster": cluster,
            "publisher_kubeconfigs": {name: one.output("publisher_kubeconfig") for name, one in edges.items()},
            "reader_kubeconfigs": {name: one.output("reader_kubeconfig") for name, one in edges.items()},
            "records": dict(records),
            "credentials": {name: dict(keys) for name, keys in (settings.dns_credentials or {}).items()},
        },
    )


async def _known(settings: StackSettings) -> list[Known]:
    """Names of other stacks' load balancers, and those of the configuration."""
    read: dict[str, references.Reference] = {}

    async def outputs(name: str, field: str, addresses: str, kind: StackKind) -> tuple[Any, Any]:
        """The two public outputs. A stack `all-in-one` may be named twice, and the engine takes one reference to it."""
        read[name] = read.get(name) or references.stack(name, field)
        stack = replace(read[name], field=field, kinds=(kind, StackKind.ALL_IN_ONE))
        return await stack.plain_output("endpoints", dict), await stack.plain_output(addresses, dict)

    found = [Known(host, targets, f"records.{host}") for host, targets in settings.records.items()]
    for mesh, name in settings.references.control_planes.items():
        endpoints, addresses = await outputs(
            name, f"references.controlPlanes.{mesh}", "addresses", StackKind.CONTROL_PLANE
        )
        found += of_control_plane(mesh, endpoints, addresses)
    if settings.references.data_planes:
        federation = configuration.document(Federation, "federation")
    for mesh, name in settings.references.data_planes.items():
        endpoints, addresses = await outputs(
            name, f"references.dataPlanes.{mesh}", "gateway_addresses", StackKind.DATA_PLANE
        )
        found.append(of_gateway(federation, mesh, endpoints, addresses))
    return found
