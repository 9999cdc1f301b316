"""The NetworkPolicies of a node's Pods as nftables rules. Pure text.

Pods reach each other and the world through their node. So one chain on forwarded packets sees all traffic but that with
the node itself, which the standard allows. kube-proxy has replaced a Service's address with a Pod's by then, and the
node's own address replaces a Pod's only afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses, ip_network

from sandbox.node.network_policies.selection import Allowed, Direction, Ports

_FIELDS: Mapping[Direction, tuple[str, str]] = {"Ingress": ("ip daddr", "ip saddr"), "Egress": ("ip saddr", "ip daddr")}
"""The fields of a packet with the Pod's address and with the other end's."""


@dataclass(frozen=True)
class Isolated:
    """One direction of one Pod, and its allowed traffic."""

    address: str
    direction: Direction
    allowed: tuple[Allowed, ...]


def table(name: str, isolated: Iterable[Isolated]) -> str:
    """Input for `nft -f -`: replaces the whole table in one step, so that no packet meets half of it.

    name: of the table; each node has its own, since nodes may share a network.
    """
    ordered = sorted(isolated, key=lambda one: (one.direction, one.address))
    chains = {_chain(one): one for one in ordered}
    jumps = [line for direction in ("Egress", "Ingress") for line in _jumps(direction, ordered)]
    return "\n".join(
        [
            f"table inet {name}",
            f"delete table inet {name}",
            f"table inet {name} {{",
            # Rejected, not dropped: the caller gets the refusal at once.
            "    chain refuse {",
            "        meta l4proto tcp reject with tcp reset",
            "        reject with icmpx admin-prohibited",
            "    }",
            *(line for chain, one in chains.items() for line in _body(chain, one)),
            "    chain forwarded {",
            "        type filter hook forward priority filter + 10; policy accept;",
            "        ct state established,related accept",
            *jumps,
            "    }",
            "}",
            "",
        ]
    )


def _jumps(direction: Direction, isolated: Iterable[Isolated]) -> list[str]:
    entries = [f"{one.address} : jump {_chain(one)}" for one in isolated if one.direction == direction]
    return [f"        {_FIELDS[direction][0]} vmap {{ {', '.join(entries)} }}"] if entries else []


def _chain(isolated: Isolated) -> str:
    return f"{isolated.direction.lower()}_{isolated.address.replace('.', '_')}"


def _body(chain: str, isolated: Isolated) -> Iterable[str]:
    """Returns allowed traffic to the base chain: the other end's policies apply too."""
    _, other = _FIELDS[isolated.direction]
    yield f"    chain {chain} {{"
    yield f"        {other} {isolated.address} return"  # a Pod may always call itself, by a Service too
    for one in isolated.allowed:
        if (words := _match(one, other)) is not None:
            yield f"        {' '.join([*words, 'return'])}"
    yield "        goto refuse"
    yield "    }"


def _match(allowed: Allowed, other: str) -> list[str] | None:
    """A packet's match in nft's words; None for an IPv6 block, which matches no packet of this IPv4 network."""
    words = []
    if allowed.addresses is not None:
        addresses = [one for one in allowed.addresses if ip_network(one, strict=False).version == 4]
        if not addresses:
            return None
        words.append(f"{other} {_set(addresses)}")
    excluded = [one for one in allowed.excluded if ip_network(one, strict=False).version == 4]
    if excluded:
        words.append(f"{other} != {_set(excluded)}")
    return [*words, *_ports(allowed.ports)]


def _set(addresses: Iterable[str]) -> str:
    """The blocks merged: nft rejects a set with overlapping ones."""
    networks = collapse_addresses(IPv4Network(one, strict=False) for one in addresses)
    return f"{{ {', '.join(map(str, networks))} }}"


def _ports(ports: Ports | None) -> list[str]:
    if ports is None:
        return []
    protocol = ports.protocol.lower()
    if ports.numbers is None:
        return [f"meta l4proto {protocol}"]
    first, last = ports.numbers
    return [f"{protocol} dport {first}" if first == last else f"{protocol} dport {first}-{last}"]
