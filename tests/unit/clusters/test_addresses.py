"""The address plan holds together for any number of clusters."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

import pytest

from sandbox.clusters.network.addresses import MOST_CLUSTERS, MOST_NODES, WAN_DNS, WAN_ROUTER, WAN_SUBNET, addresses_of
from sandbox.clusters.topology import ClusterSpec, Topology

NUMBERS = [*range(1, 6), MOST_CLUSTERS]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("nodes", [1, 3, MOST_NODES])
def test_every_address_on_the_wan_has_one_owner(number: int, nodes: int) -> None:
    specs = (one.model_copy(update={"zones": ("a",) * nodes}) for one in Topology.of(number).clusters)
    owned = [WAN_ROUTER, WAN_DNS]
    for cluster in addresses_of(Topology(clusters=tuple(specs))).values():
        owned += [*(node.address for node in cluster.nodes), *cluster.pool_addresses()]
    assert len(owned) == len(set(owned)) == 2 + number * (100 + nodes)
    assert all(IPv4Address(one) in WAN_SUBNET for one in owned)


@pytest.mark.parametrize("number", NUMBERS)
def test_addresses_lie_in_their_own_networks(number: int) -> None:
    for cluster in addresses_of(Topology.of(number)).values():
        pods, services = IPv4Network(cluster.pod_cidr), IPv4Network(cluster.service_cidr)
        assert IPv4Address(cluster.gateway) in pods
        assert IPv4Address(cluster.dns_address) in services
        assert not any(one.overlaps(other) for one, other in combinations((pods, services, WAN_SUBNET), 2))


def test_of_two_the_addresses_are_these() -> None:
    found = addresses_of(Topology.of(2))
    control_plane, data_plane = found["control-plane"], found["data-plane"]
    assert (control_plane.wan_address, control_plane.first_service_address) == ("10.90.0.10", "10.96.0.1")
    assert (data_plane.wan_address, data_plane.api_host, data_plane.pod_prefix_length) == (
        "10.90.0.20",
        "api.data-plane.sandbox.test",
        16,
    )
    assert data_plane.pool == ("10.90.2.1", "10.90.2.100")


def test_a_cluster_keeps_its_addresses_when_others_are_added() -> None:
    two, five = addresses_of(Topology.of(2)), addresses_of(Topology.of(5))
    assert all(five[name] == cluster for name, cluster in two.items())
    assert [*five] == ["control-plane", "data-plane", "data-plane-2", "data-plane-3", "data-plane-4"]
    assert len({five[name].pod_cidr for name in ("data-plane", "data-plane-2", "data-plane-3", "data-plane-4")}) == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_only_the_control_plane_may_call_a_users_api_server(number: int) -> None:
    for cluster in addresses_of(Topology.of(number)).values():
        assert cluster.api_clients == (() if cluster.role == "control-plane" else ("10.90.0.10",))


@pytest.mark.parametrize("number", [1, 2, 3, 5, MOST_NODES])
def test_nodes_of_a_cluster_have_parts_of_its_pod_range_and_their_zones(number: int) -> None:
    zones = tuple(f"zone-{count}" for count in range(number))
    spec = ClusterSpec(name="p", role="control-plane", zones=zones, region="here")
    nodes = addresses_of(Topology(clusters=(spec,)))["p"].nodes
    parts = [IPv4Network(node.pods) for node in nodes]
    assert not any(one.overlaps(other) for one, other in combinations(parts, 2))
    assert all(part.subnet_of(spec.pods) for part in parts)
    assert [(node.zone, node.region) for node in nodes] == [(zone, "here") for zone in zones]
    assert [node.name for node in nodes] == ["p-node", *(f"p-node-{count}" for count in range(2, number + 1))]
