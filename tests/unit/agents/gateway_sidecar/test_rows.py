"""Rows of the shared gateway: the sidecar trusts none, and each rejected one leaves the others."""

from __future__ import annotations

from typing import Any

import pytest

from agents.gateway_sidecar import envoy_config
from agents.gateway_sidecar.rows import Row, row_of, rows_of
from agents.gateway_sidecar.settings import Settings
from tests.unit.agents.gateway_sidecar.row_documents import SETTINGS, row


def settings(**changes: Any) -> Settings:
    both = {"listeners": {"443": 8443, "15012": 15012}}
    return Settings.of({**SETTINGS, **both, **changes})


def test_a_row_names_its_istiod_and_nothing_else() -> None:
    (found,), rejected = rows_of([row(revision="canary")], settings())
    assert rejected == {}
    assert found == Row("istiod.shop.mesh.test", "shop", "canary", ((443, "xds"),), ("203.0.113.0/24",), 10, 5)
    assert found.service == "istiod-canary.mesh-shop.svc"


@pytest.mark.parametrize(
    ("host", "changes", "reason"),
    [
        ("*.mesh.test", {}, "is no host name"),
        ("istiod.shop.other.test", {}, "is outside of the gateway's zones"),
        ("mesh.test", {}, "is outside of the gateway's zones"),
        ("istiod.xmesh.test", {}, "is outside of the gateway's zones"),
        ("a.mesh.test", {"version": 2}, "is a row of another version"),
        ("a.mesh.test", {"service": "istiod.mesh-bank.svc"}, "is a row of another version"),
        ("a.mesh.test", {"mesh": "shop.svc.bank"}, "has no valid mesh"),
        ("a.mesh.test", {"mesh": None}, "has no valid mesh"),
        ("a.mesh.test", {"revision": "../x"}, "has no valid revision"),
        ("a.mesh.test", {"routes": {"15017": "webhooks"}}, "has a port without a listener"),
        ("a.mesh.test", {"routes": {"443": "debug"}}, "has an unknown target"),
        ("a.mesh.test", {"routes": {}}, "has no routes"),
        ("a.mesh.test", {"sourceRanges": []}, "must have either sourceRanges or openToAll"),
        ("a.mesh.test", {"openToAll": True}, "must have either sourceRanges or openToAll"),
        ("a.mesh.test", {"sourceRanges": ["203.0.113.1/24"]}, "has an invalid range"),
        ("a.mesh.test", {"connections": 0}, "has no valid connections"),
        ("a.mesh.test", {"connections": True}, "has no valid connections"),
        ("a.mesh.test", {"newConnectionsPerSecond": None}, "has no valid newConnectionsPerSecond"),
    ],
)
def test_a_bad_row_is_rejected_with_its_reason_and_leaves_the_others(
    host: str, changes: dict[str, Any], reason: str
) -> None:
    rows, rejected = rows_of([row(host, **changes), row("good.mesh.test")], settings())
    assert ([one.host for one in rows], rejected) == (["good.mesh.test"], {host: reason})


def test_a_config_map_without_a_row_is_rejected() -> None:
    other = {"metadata": {"name": "a.mesh.test"}, "data": {"row": "{"}}
    empty = {"metadata": {"name": "b.mesh.test"}}
    assert rows_of([other, empty], settings())[1] == dict.fromkeys(
        ("a.mesh.test", "b.mesh.test"), "has no JSON under row"
    )


def chains(*rows: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    made = settings(**changes)
    (first, *_) = envoy_config.listeners(rows_of(rows, made)[0], made)
    found: list[dict[str, Any]] = first["filter_chains"]
    return found


def filters(chain: dict[str, Any]) -> list[str]:
    return [one["name"] for one in chain["filters"]]


def test_admitted_clients_have_limits_and_others_use_none_of_them() -> None:
    admitted, outside = chains(row())
    assert filters(admitted) == ["local_ratelimit", "connection_limit", "tcp_proxy"]
    assert admitted["filter_chain_match"]["source_prefix_ranges"] == [
        {"address_prefix": "203.0.113.0", "prefix_len": 24}
    ]
    assert filters(outside) == ["tcp_proxy"]
    assert outside["filters"][0]["typed_config"]["cluster"] == envoy_config.NOWHERE
    assert "source_prefix_ranges" not in outside["filter_chain_match"]


def test_every_chain_requires_tls_and_a_name() -> None:
    for chain in chains(row(), row("b.mesh.test", sourceRanges=None, openToAll=True), proxies=["192.0.2.0/24"]):
        assert chain["filter_chain_match"]["transport_protocol"] == "tls"
        assert len(chain["filter_chain_match"]["server_names"]) == 1


def test_behind_load_balancers_a_clients_range_counts_from_a_named_peer_alone() -> None:
    found = chains(row(), row("b.mesh.test", sourceRanges=None, openToAll=True), proxies=["192.0.2.0/24"])
    served = [one for one in found if one["filters"][-1]["typed_config"]["cluster"] != envoy_config.NOWHERE]
    assert len(served) == 2
    for chain in served:
        peers = chain["filter_chain_match"]["direct_source_prefix_ranges"]
        assert peers == [{"address_prefix": "192.0.2.0", "prefix_len": 24}]


def test_each_port_has_the_routes_of_its_own() -> None:
    made = settings()
    rows = (row_of("a.mesh.test", row(routes={"15012": "xds"})["data"], made),)
    names = {
        one["name"]: [chain["name"] for chain in one["filter_chains"]] for one in envoy_config.listeners(rows, made)
    }
    assert names == {"port-443": [], "port-15012": ["shop/a.mesh.test", "shop/a.mesh.test/outside"]}
    first, _ = envoy_config.clusters(rows, made)
    (locality,) = first["load_assignment"]["endpoints"]
    address = locality["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]
    assert address == {"address": "istiod.mesh-shop.svc.cluster.local.", "port_value": 15012}
