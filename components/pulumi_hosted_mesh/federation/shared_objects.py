"""One ServiceEntry for many imported hosts, and one DestinationRule for all of them. Pure.

A DestinationRule has one server name, so a rule for each host has its host's. Without one Istio sets
`outbound_.<port>_._.<host>` (buildUpstreamClusterTLSContext in pilot/pkg/networking/core/cluster_tls.go), the host with
a prefix. A gateway accepts it by the wildcard `*.<host>`, and so the server name still names the one host.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pulumi_hosted_mesh.federation.imports import Imported
from pulumi_hosted_mesh.spec.federation import Federation, ObjectSharing, Peer, Protocol, TcpKeepalive

LONGEST = 255 - len("outbound_.65535_._.")
"""Characters of a host: a server name has at most 255."""


def server_names(federation: Federation, host: str, protocol: Protocol) -> list[str]:
    """The server names by which an exporter's gateway accepts connections to a host."""
    accepts = federation.objects is not ObjectSharing.PER_SERVICE and protocol is not Protocol.TCP
    return [host, f"*.{host}"] if accepts else [host]


def rule_name(federation: Federation) -> str:
    """Name of the common DestinationRule, without a dot, which names with a host have."""
    return f"{federation.name}-shared"


def groups(federation: Federation, peer: Peer, wanted: Iterable[Imported]) -> dict[str, list[Imported]]:
    """The imports that share a ServiceEntry, by its name. The others have objects of their own."""
    found: dict[str, list[Imported]] = {}
    if federation.objects is not ObjectSharing.SHARED or federation.has_bundles or peer.egress is not None:
        return found
    for one in wanted:
        if _fits(federation, one):
            found.setdefault(_name(federation, one), []).append(one)
    return found


def _fits(federation: Federation, one: Imported) -> bool:
    """Whether an import has no setting of its own: those are in a DestinationRule or VirtualService for its host."""
    is_plain = one.host == one.offered.host and len(one.peers) == 1 and one.keepalive == TcpKeepalive()
    in_domain = one.host.endswith(f".{federation.domain}") and len(one.host) <= LONGEST
    return is_plain and in_domain and one.offered.protocol is not Protocol.TCP


def _name(federation: Federation, one: Imported) -> str:
    (peer,) = one.peers
    name = f"{federation.name}-{peer.mesh}-{one.offered.port}-{one.offered.protocol.value.lower()}"
    if one.namespaces:
        name += f"-{hashlib.sha256(' '.join(one.namespaces).encode()).hexdigest()[:8]}"
    return name
