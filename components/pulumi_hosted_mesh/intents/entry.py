"""The seam `entry`: the way from outside to a gateway, a Service or a NAT box's rules. A table of functions. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pulumi_hosted_mesh.intents.compiled import Manifest, Origin, manifest, name_of
from pulumi_hosted_mesh.spec.inventory import EntryType, InventoryCluster, InventoryGateway
from pulumi_hosted_mesh.vocabulary import OPEN_TO_ALL_ANNOTATION


@dataclass(frozen=True)
class OpenPort:
    """A port that intents open at a gateway. ranges: of permitted callers; none for all. by_address: whether a rule of
    the gateway compares callers' addresses."""

    port: int
    intents: tuple[str, ...]
    ranges: tuple[str, ...]
    by_address: bool = False


@dataclass(frozen=True)
class EntryParts:
    """Objects of a cluster, and files by path."""

    objects: Sequence[Manifest] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def _load_balancer(
    project: str, cluster: InventoryCluster, gateway: InventoryGateway, ports: Sequence[OpenPort]
) -> EntryParts:
    """A Service of type LoadBalancer for each port, so that each has its own source ranges."""
    namespace = gateway.namespace or cluster.root_namespace
    made = []
    for one in ports:
        port = {"name": f"port-{one.port}", "port": one.port, "targetPort": one.port}
        spec: Manifest = {"type": "LoadBalancer", "selector": {"app": gateway.name}, "ports": [port]}
        if one.ranges:
            spec["loadBalancerSourceRanges"] = list(one.ranges)
        if one.by_address:  # otherwise the gateway sees a node's address
            spec["externalTrafficPolicy"] = "Local"
        origin = Origin(one.intents, "gateway")
        name = name_of(project, gateway.name, str(one.port))
        notes = {} if one.ranges else {OPEN_TO_ALL_ANNOTATION: "true"}
        made.append(manifest(cluster, project, "v1", "Service", namespace, name, spec, origin, notes))
    return EntryParts(made)


def _nat(project: str, cluster: InventoryCluster, gateway: InventoryGateway, ports: Sequence[OpenPort]) -> EntryParts:
    """An nftables ruleset for a box in front: destination and source NAT, for the permitted ranges only."""
    table = f"hosted_mesh_{project}_{gateway.name}".replace("-", "_")
    nat, accept = [], []
    for one in ports:
        for public in sorted(gateway.public_addresses):
            version = ipaddress.ip_address(public).version
            family = "ip" if version == 4 else "ip6"
            inner = sorted(address for address in gateway.addresses if ipaddress.ip_address(address).version == version)
            ranges = sorted(one for one in one.ranges if ipaddress.ip_network(one).version == version)
            if not inner or (one.ranges and not ranges):
                continue
            source = f"{family} saddr {{ {', '.join(ranges)} }} " if ranges else ""
            to = inner[0] if version == 4 else f"[{inner[0]}]"
            nat.append(
                f"{source}{family} daddr {public} tcp dport {one.port} dnat {family} to {to}:{one.port}"
                f'  comment "{",".join(one.intents)[:100]}"'
            )
            accept.append(f"{family} daddr {inner[0]} tcp dport {one.port} ct status dnat masquerade")
    lines = [
        f"# Inbound intents of project {project} in {cluster.name}: load it with `nft -f` after each change.",
        f"table inet {table}",
        f"delete table inet {table}",
        f"table inet {table} {{",
        "  chain prerouting {",
        "    type nat hook prerouting priority dstnat; policy accept;",
        *(f"    {line}" for line in nat),
        "  }",
        "  chain postrouting {",
        "    type nat hook postrouting priority srcnat; policy accept;",
        *(f"    {line}" for line in dict.fromkeys(accept)),
        "  }",
        "}",
    ]
    return EntryParts(files={f"nat/{cluster.name}-{gateway.name}.nft": "\n".join(lines) + "\n"})


Entries = Callable[[str, InventoryCluster, InventoryGateway, Sequence[OpenPort]], EntryParts]
ENTRY: Final[Mapping[EntryType, Entries]] = {EntryType.LOAD_BALANCER: _load_balancer, EntryType.NAT: _nat}


def merged(ports: Iterable[OpenPort]) -> list[OpenPort]:
    """One entry for each port. An intent without ranges opens the port to all."""
    found: dict[int, list[OpenPort]] = {}
    for one in ports:
        found.setdefault(one.port, []).append(one)
    made = []
    for port, those in sorted(found.items()):
        is_open = any(not one.ranges for one in those)
        ranges = () if is_open else tuple(sorted({item for one in those for item in one.ranges}))
        names = tuple(sorted(name for one in those for name in one.intents))
        made.append(OpenPort(port, names, ranges, any(one.by_address for one in those)))
    return made
