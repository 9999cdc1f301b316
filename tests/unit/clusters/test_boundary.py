"""The rules' text. That they hold is shown with real sockets in tests/live/sandbox/test_clusters.py."""

from __future__ import annotations

import pytest

from sandbox.clusters.network.addresses import ClusterAddresses, addresses_of
from sandbox.clusters.network.boundary import opened, rules
from sandbox.clusters.topology import ClusterSpec, Topology

CLUSTERS = addresses_of(Topology.of(5))
CONTROL_PLANE, DATA_PLANE = CLUSTERS["control-plane"], CLUSTERS["data-plane"]


def chain(text: str, name: str) -> list[str]:
    body = text.split(f"chain {name} {{", 1)[1].split("}\n", 1)[0]
    return [line.strip() for line in body.splitlines() if line.strip()]


def test_a_users_api_port_is_open_to_the_control_plane_alone_and_the_providers_to_nobody() -> None:
    opened = "iifname wan0 ip saddr { 10.90.0.10 } ip daddr 10.90.0.30 tcp dport 6443 accept"
    assert [line for line in chain(rules(CLUSTERS["data-plane-2"]), "to_the_node") if "6443" in line] == [opened]
    assert "6443" not in rules(CONTROL_PLANE)


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_every_chain_for_what_comes_in_ends_in_a_drop(cluster: ClusterAddresses) -> None:
    for name in ("to_the_node", "to_pods"):
        assert chain(rules(cluster), name)[-1] == "iifname wan0 drop"


def test_all_nodes_of_a_cluster_are_let_through_to_a_user_and_guarded() -> None:
    provider = ClusterSpec(name="p", role="control-plane", zones=("a", "b"))
    found = addresses_of(Topology(clusters=(provider, ClusterSpec(name="u"))))
    assert "ip saddr { 10.90.0.10, 10.90.0.11 } ip daddr 10.90.0.20" in rules(found["u"])
    assert "ip daddr != { 10.90.0.10, 10.90.0.11, 10.90.1.1-10.90.1.100 } drop" in rules(found["p"])


def test_a_translated_packet_comes_in_only_if_it_was_sent_to_the_pool() -> None:
    accepted = [line for line in chain(rules(CONTROL_PLANE), "to_pods") if line.endswith("accept")]
    assert accepted == [
        "iifname wan0 ct state established,related accept",
        "iifname wan0 ct status dnat ct original ip daddr 10.90.1.1-10.90.1.100 accept",
    ]


def test_pods_go_out_with_their_nodes_address() -> None:
    assert "oifname wan0 ip saddr 10.89.0.0/16 snat ip to 10.90.0.20" in chain(rules(DATA_PLANE), "from_pods")


def test_opened_lets_everything_in_and_keeps_the_address_that_pods_leave_by() -> None:
    assert "drop" not in opened(DATA_PLANE)
    assert chain(opened(DATA_PLANE), "from_pods") == chain(rules(DATA_PLANE), "from_pods")


def test_rules_replace_themselves() -> None:
    assert rules(DATA_PLANE).split("\n")[1:3] == ["table inet boundary", "delete table inet boundary"]
