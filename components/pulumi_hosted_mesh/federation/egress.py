"""What an egress gateway is told: by which of its ports, and for which TLS server names, it leads to which peer. Pure.

It passes TLS on unopened (PASSTHROUGH): the caller's certificate reaches the peer's gateway, which judges it as if the
caller had connected there, and the caller verifies the peer's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh.federation.exports import refused
from pulumi_hosted_mesh.federation.imports import Imported
from pulumi_hosted_mesh.spec.federation import Federation, Peer
from pulumi_hosted_mesh.spec.fields import is_address

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """From an egress gateway to one peer. port: of the egress gateway. server_names: that may go there, in order."""

    gateway: str
    to: Peer
    port: int
    server_names: tuple[str, ...]


def name_of(federation: Federation, mesh: str) -> str:
    """Name of the objects that lead to a peer. It has no dot, and names of what is imported or exported have one."""
    return f"{federation.name}-egress-{mesh}"


def is_of_egress(federation: Federation, manifest: Manifest) -> bool:
    """Whether an object of a mesh is its egress gateway's."""
    return manifest["metadata"]["name"] in {name_of(federation, one.mesh) for one in federation.peers}


def entrance(caller: Peer, to: Peer) -> tuple[str, int] | None:
    """Host and port by which a mesh's callers reach a peer in their own cluster; None without an egress gateway."""
    if caller.egress is None:
        return None
    host = f"{caller.egress.gateway}.{caller.egress_namespace}.svc.{caller.cluster_domain}"
    return host, caller.egress.port_to(to.mesh)


def ways(caller: Peer, wanted: Iterable[Imported]) -> list[Way]:
    """Out of a mesh, by peer. wanted: all that it imports.

    Raises: InvalidInputError where one port would lead to two peers under one server name.
    """
    egress = caller.egress
    if egress is None:
        return []
    peers: dict[str, Peer] = {}
    names: dict[str, set[str]] = {}
    taken: dict[tuple[int, str], str] = {}
    for one in wanted:
        for peer in one.peers:
            port = egress.port_to(peer.mesh)
            first = taken.setdefault((port, one.offered.host), peer.mesh)
            if first != peer.mesh:
                rule = f"leads to {first} and {peer.mesh} by port {port}, and both serve {one.offered.host}"
                raise refused(f"egress of {caller.mesh}", rule, "Give each a port of its own in egress.ports")
            peers[peer.mesh] = peer
            names.setdefault(peer.mesh, set()).add(one.offered.host)
    return [
        Way(egress.gateway, peers[mesh], egress.port_to(mesh), tuple(sorted(names[mesh]))) for mesh in sorted(peers)
    ]


def routed_here(host: str) -> str:
    """A host of a Gateway's server, for VirtualServices of the Gateway's own namespace alone.

    Without a namespace a VirtualService of any other may bind to the Gateway, and take the requests to the host
    (pilot/pkg/networking/core/gateway.go, pickMatchingGatewayHosts).
    """
    return f"./{host}"


def specs(federation: Federation, way: Way) -> Iterator[tuple[str, Manifest]]:
    """Kind and spec of each object of a way, for the namespace of the egress gateway."""
    # Istio routes to hosts that it knows. The name of the peer's gateway is none of them, for proxies look it
    # up in DNS. Nobody calls this one, and only proxies of this namespace are told of it.
    host = f"{way.to.mesh}.{federation.name}.egress.internal"
    names, address, port = list(way.server_names), way.to.gateway.address, way.to.gateway.port
    yield (
        "ServiceEntry",
        {
            "hosts": [host],
            # So that Istio puts no TLS of its own around the caller's (pilot/pkg/networking/core/cluster_tls.go,
            # buildUpstreamTLSSettings).
            "location": "MESH_EXTERNAL",
            "resolution": "STATIC" if is_address(address) else "DNS",
            "ports": [{"number": port, "name": "tls", "protocol": "TLS"}],
            "endpoints": [{"address": address, "ports": {"tls": port}}],
            "exportTo": ["."],
        },
    )
    server = {"port": {"number": way.port, "name": "tls", "protocol": "TLS"}, "tls": {"mode": "PASSTHROUGH"}}
    hosts = [routed_here(one) for one in names]
    yield "Gateway", {"selector": {"app": way.gateway}, "servers": [{**server, "hosts": hosts}]}
    route = {
        "match": [{"port": way.port, "sniHosts": names}],
        "route": [{"destination": {"host": host, "port": {"number": port}}}],
    }
    yield "VirtualService", {"hosts": names, "gateways": [name_of(federation, way.to.mesh)], "tls": [route]}
