"""The rules' text. That they hold is shown with real sockets in tests/live/test_clusters.py."""

from __future__ import annotations

from sandbox.clusters.addresses import PROVIDER, USER
from sandbox.clusters.boundary import rules


def chain(text: str, name: str) -> list[str]:
    body = text.split(f"chain {name} {{", 1)[1].split("}\n", 1)[0]
    return [line.strip() for line in body.splitlines() if line.strip()]


def test_the_users_api_port_is_open_and_the_providers_is_not() -> None:
    opened = "iifname wan0 ip daddr 10.90.0.20 tcp dport 6443 accept"
    assert opened in chain(rules(USER), "to_the_node")
    assert "6443" not in rules(PROVIDER)


def test_every_chain_for_what_comes_in_ends_in_a_drop() -> None:
    for cluster in (PROVIDER, USER):
        for name in ("to_the_node", "to_pods"):
            assert chain(rules(cluster), name)[-1] == "iifname wan0 drop"


def test_a_translated_packet_comes_in_only_if_it_was_sent_to_the_pool() -> None:
    accepted = [line for line in chain(rules(PROVIDER), "to_pods") if line.endswith("accept")]
    assert accepted == [
        "iifname wan0 ct state established,related accept",
        "iifname wan0 ct status dnat ct original ip daddr 10.90.0.100-10.90.0.149 accept",
    ]


def test_pods_go_out_with_their_nodes_address() -> None:
    assert "oifname wan0 ip saddr 10.89.0.0/16 snat ip to 10.90.0.20" in chain(rules(USER), "from_pods")


def test_rules_replace_themselves() -> None:
    assert rules(USER).split("\n")[1:3] == ["table inet boundary", "delete table inet boundary"]
