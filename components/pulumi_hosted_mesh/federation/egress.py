"""The routes of an egress gateway: its ports and TLS server names lead to peers. Pure.

The gateway passes TLS through (PASSTHROUGH). The peer's gateway and the caller verify each other's certificate, as on a
direct connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pulumi_hosted_mesh.federation.exports import refused
from pulumi_hosted_mesh.federation.imports import Imported
from pulumi_hosted_mesh.federation.routes import tcp_settings
from pulumi_hosted_mesh.spec.federation import Federation, Peer, TcpKeepalive
from pulumi_hosted_mesh.spec.fields import is_address

Manifest = dict[str, Any]


@dataclass(frozen=True)
class EgressRoute:
    """The route of an egress gateway to one peer. port: of the egress gateway. server_names: in order.

    keepalive: the shortest of the imports from this peer.
    """

    gateway: str
    to: Peer
    port: int
    server_names: tuple[str, ...]
    keepalive: TcpKeepalive = field(default_factory=TcpKeepalive)


def name_of(federation: Federation, mesh: str) -> str:
    """Name of the objects that lead to a peer. It has no dot; names of imports and exports have one."""
    return f"{federation.name}-egress-{mesh}"


def is_of_egress(federation: Federation, manifest: Manifest) -> bool:
    """Whether an object of a mesh is its egress gateway's."""
    return manifest["metadata"]["name"] in {name_of(federation, one.mesh) for one in federation.peers}


def entrance(caller: Peer, to: Peer) -> tuple[str, int] | None:
    """Host and port of a peer for a mesh's callers, in their own cluster; None without an egress gateway."""
    if caller.egress is None:
        return None
    host = f"{caller.egress.gateway}.{caller.egress_namespace}.svc.{caller.cluster_domain}"
    return host, caller.egress.port_to(to.mesh)


def egress_routes(caller: Peer, wanted: Iterable[Imported]) -> list[EgressRoute]:
    """The routes out of a mesh, by peer. wanted: all its imports.

    Raises: InvalidInputError if one port would lead to two peers under one server name.
    """
    egress = caller.egress
    if egress is None:
        return []
    peers: dict[str, Peer] = {}
    names: dict[str, set[str]] = {}
    keepalives: dict[str, list[TcpKeepalive]] = {}
    taken: dict[tuple[int, str], str] = {}
    for one in wanted:
        for peer in one.peers:
            port = egress.port_to(peer.mesh)
            first = taken.setdefault((port, one.offered.host), peer.mesh)
            if first != peer.mesh:
                rule = f"leads to {first} and {peer.mesh} by port {port}, and both serve {one.offered.host}"
                raise refused(f"egress of {caller.mesh}", rule, "Give each a port of its own in egress.ports")
            peers[peer.mesh] = peer
            keepalives.setdefault(peer.mesh, []).append(one.keepalive)
            names.setdefault(peer.mesh, set()).add(one.offered.host)
    return [
        EgressRoute(
            egress.gateway,
            peers[mesh],
            egress.port_to(mesh),
            tuple(sorted(names[mesh])),
            min(keepalives[mesh], key=lambda one: one.time_seconds),
        )
        for mesh in sorted(peers)
    ]


def routed_here(host: str) -> str:
    """A host of a Gateway's server, for VirtualServices of the Gateway's own namespace alone.

    Without a namespace a VirtualService of any namespace can bind to the Gateway and receive the host's requests
    (pilot/pkg/networking/core/gateway.go, pickMatchingGatewayHosts).
    """
    return f"./{host}"


def specs(federation: Federation, egress_route: EgressRoute) -> Iterator[tuple[str, Manifest]]:
    """Kind and spec of each object of a route, for the namespace of the egress gateway."""
    # Istio routes only to hosts of its service registry, and the peer's gateway is only in DNS. No workload calls
    # this host, and only proxies of this namespace receive it.
    host = f"{egress_route.to.mesh}.{federation.name}.egress.internal"
    names, address, port = (
        list(egress_route.server_names),
        egress_route.to.gateway.address,
        egress_route.to.gateway.port,
    )
    yield (
        "ServiceEntry",
        {
            "hosts": [host],
            # Prevents a second TLS layer around the caller's (pilot/pkg/networking/core/cluster_tls.go,
            # buildUpstreamTLSSettings).
            "location": "MESH_EXTERNAL",
            "resolution": "STATIC" if is_address(address) else "DNS",
            "ports": [{"number": port, "name": "tls", "protocol": "TLS"}],
            "endpoints": [{"address": address, "ports": {"tls": port}}],
            "exportTo": ["."],
        },
    )
    server = {"port": {"number": egress_route.port, "name": "tls", "protocol": "TLS"}, "tls": {"mode": "PASSTHROUGH"}}
    # The callers' keepalive ends at this gateway.
    policy = {"connectionPool": {"tcp": tcp_settings(egress_route.keepalive)}}
    yield "DestinationRule", {"host": host, "trafficPolicy": policy, "exportTo": ["."]}
    hosts = [routed_here(one) for one in names]
    yield "Gateway", {"selector": {"app": egress_route.gateway}, "servers": [{**server, "hosts": hosts}]}
    route = {
        "match": [{"port": egress_route.port, "sniHosts": names}],
        "route": [{"destination": {"host": host, "port": {"number": port}}}],
    }
    yield "VirtualService", {"hosts": names, "gateways": [name_of(federation, egress_route.to.mesh)], "tls": [route]}
