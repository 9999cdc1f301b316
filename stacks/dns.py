"""Stack `dns`: the DNS bridge in the control plane's cluster. Needs no credential of any data plane's administrator.

It also publishes other stacks' names: istiod's hosts and those of east-west gateways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
from pulumi_hosted_mesh import (
    ControlPlaneCluster,
    DnsBridge,
    DnsStack,
    ExternalDNSBridge,
    Federation,
    PublishedHost,
    StackKind,
    StackSettings,
    control_plane_cluster,
    control_plane_hosts,
    gateway_host,
    published_records,
)

from stacks import configuration, references


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `namespace`, and `zones` of each edge's names (public)."""
    document = configuration.document(DnsStack, "dns")
    records = published_records(await _known(settings), document.bridge)
    cluster = control_plane_cluster(document.cluster, "dns.cluster", configuration.SOURCE)
    made = await publish(settings, document.bridge, cluster, {host: [*targets] for host, targets in records.items()})
    return {"namespace": made.namespace, "zones": made.zones}


async def publish(
    settings: StackSettings, bridge: DnsBridge, cluster: ControlPlaneCluster, records: Mapping[str, Any]
) -> ExternalDNSBridge:
    """The bridge, with the kubeconfigs of its edges' stacks. records: the program's own targets, by host.

    An edge with `onlyUserFacing` is left out if its stack found no user-facing service.
    """
    named = settings.references.edges or {}
    edges = {
        edge.name: references.stack(named.get(edge.name), f"references.edges.{edge.name}", StackKind.DNS_EDGE)
        for edge in bridge.edges
        if edge.publishes
    }
    # A stack of an earlier version has no such output.
    quiet = {
        edge.name
        for edge in bridge.edges
        if edge.name in edges
        and edge.only_user_facing
        and await edges[edge.name].optional_output("user_facing", bool) is False
    }
    if quiet:
        pulumi.log.info(f"No user-facing service, so nothing runs for these edges: {', '.join(sorted(quiet))}")
        edges = {name: one for name, one in edges.items() if name not in quiet}
        kept = [one if one.name not in quiet else one.model_copy(update={"publishes": False}) for one in bridge.edges]
        bridge = bridge.model_copy(update={"edges": tuple(kept)})
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


async def _known(settings: StackSettings) -> list[PublishedHost]:
    """Names of other stacks' load balancers, and those of the configuration."""
    read: dict[str, references.Reference] = {}

    async def outputs(name: str, field: str, addresses: str, kind: StackKind) -> tuple[Any, Any] | None:
        """The two public outputs; None for a stack without any.

        A stack `all-in-one` may be named twice; the engine allows one reference to it.
        """
        read[name] = read.get(name) or references.stack(name, field)
        stack = replace(read[name], field=field, kinds=(kind, StackKind.ALL_IN_ONE))
        if await stack.is_empty("Its names are not published until `pulumi up` of that stack, then of this one"):
            return None
        return await stack.plain_output("endpoints", dict), await stack.plain_output(addresses, dict)

    found = [PublishedHost(host, targets, f"records.{host}") for host, targets in settings.records.items()]
    for mesh, name in settings.references.control_planes.items():
        facts = await outputs(name, f"references.controlPlanes.{mesh}", "addresses", StackKind.CONTROL_PLANE)
        if facts is not None:
            found += control_plane_hosts(mesh, *facts)
    if settings.references.data_planes:
        federation = configuration.document(Federation, "federation")
    for mesh, name in settings.references.data_planes.items():
        facts = await outputs(name, f"references.dataPlanes.{mesh}", "gateway_addresses", StackKind.DATA_PLANE)
        if facts is not None:
            found.append(gateway_host(federation, mesh, *facts))
    return found
