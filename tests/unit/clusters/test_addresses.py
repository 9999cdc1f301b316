"""The address plan holds together."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from sandbox.clusters.addresses import CLUSTERS, PROVIDER, USER, WAN_DNS, WAN_GATEWAY, WAN_SUBNET, named


def test_no_two_networks_overlap() -> None:
    networks = [IPv4Network(one) for c in CLUSTERS.values() for one in (c.pod_cidr, c.service_cidr)] + [WAN_SUBNET]
    assert [(a, b) for a, b in combinations(networks, 2) if a.overlaps(b)] == []


def test_every_address_on_the_wan_has_one_owner() -> None:
    owned = [WAN_GATEWAY, WAN_DNS]
    for cluster in CLUSTERS.values():
        owned += [cluster.wan_address, *cluster.pool_addresses()]
    assert len(owned) == len(set(owned)) == 2 + 2 * 51
    assert all(IPv4Address(one) in WAN_SUBNET for one in owned)


def test_addresses_lie_in_their_own_networks() -> None:
    for cluster in CLUSTERS.values():
        assert IPv4Address(cluster.gateway) in IPv4Network(cluster.pod_cidr)
        assert IPv4Address(cluster.dns_address) in IPv4Network(cluster.service_cidr)
        assert named(cluster.name) is cluster
    assert PROVIDER.first_service_address == "10.96.0.1"
    assert (USER.api_host, USER.pod_prefix_length) == ("api.user.sandbox.test", 16)


def test_only_the_users_api_server_is_on_the_wan() -> None:
    assert [one.name for one in CLUSTERS.values() if one.api_on_wan] == ["user"]
