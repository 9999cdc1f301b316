"""The seam `names`: the publication of inbound hosts, by the DNS bridge or as records for a webhook. Pure."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pulumi_hosted_mesh.spec.inventory import InventoryCluster, InventoryGateway, NamesType
from pulumi_hosted_mesh.vocabulary import PREFIX

TARGET: Final = "external-dns.alpha.kubernetes.io/target"
UNPUBLISHED: Final = {"external-dns.alpha.kubernetes.io/controller": f"{PREFIX}/webhook"}
"""external-dns skips an object with another controller."""


def addresses_of(gateway: InventoryGateway) -> list[str]:
    """The addresses that callers outside use."""
    return sorted(gateway.public_addresses or gateway.addresses)


def _dns_bridge(gateway: InventoryGateway) -> Mapping[str, str]:
    """The bridge reads the hosts of Gateways; by default it also finds the load balancer's address."""
    addresses = addresses_of(gateway)
    return {TARGET: ",".join(addresses)} if addresses else {}


def _webhook(_gateway: InventoryGateway) -> Mapping[str, str]:
    return UNPUBLISHED


NAMES: Final[Mapping[NamesType, Callable[[InventoryGateway], Mapping[str, str]]]] = {
    NamesType.DNS_BRIDGE: _dns_bridge,
    NamesType.WEBHOOK: _webhook,
}


def records(cluster: InventoryCluster, hosts: Iterable[tuple[str, InventoryGateway, str]]) -> dict[str, str]:
    """The body for a webhook of external-dns' protocol, by path. hosts: each with its gateway and its intent."""
    if cluster.names is not NamesType.WEBHOOK:
        return {}
    made = []
    for host, gateway, intent in sorted(hosts, key=lambda one: one[0]):
        for version, kind in ((4, "A"), (6, "AAAA")):
            targets = [one for one in addresses_of(gateway) if ipaddress.ip_address(one).version == version]
            if targets:
                labels = {f"{PREFIX}/intent": intent}
                made.append({"dnsName": host, "recordType": kind, "targets": targets, "labels": labels})
    return {f"names/{cluster.name}.json": json.dumps(made, indent=2) + "\n"} if made else {}
