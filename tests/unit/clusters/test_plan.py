"""The table of processes: complete, in order, each cluster to itself, for any number of clusters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lightkube.resources.core_v1 import Service
from lightkube.resources.discovery_v1 import EndpointSlice

from sandbox.clusters.credentials.addons import objects
from sandbox.clusters.environment import program_environment
from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.processes.table import plan
from sandbox.clusters.state import Layout
from sandbox.clusters.supervisor.plan import Plan, Process
from sandbox.clusters.topology import ClusterSpec, Topology

NUMBERS = range(1, 6)


class Tools:
    bin_dir = Path("/tools")

    def __getitem__(self, name: str) -> Path:
        return self.bin_dir / name


def made(topology: Topology | None = None, *, nodes: bool) -> Plan:
    clusters = addresses_of(topology or Topology.of(2))
    listeners = {name: 7 + place for place, name in enumerate(clusters)}
    return plan(Layout(Path("/state")), Tools(), [*clusters.values()], listeners, nodes=nodes)


def by_name(found: Plan) -> dict[str, Process]:
    return {process.name: process for process in found.processes}


@pytest.mark.parametrize("number", NUMBERS)
def test_names_are_unique_and_what_is_waited_for_exists(number: int) -> None:
    for nodes in (False, True):
        found = made(Topology.of(number), nodes=nodes)
        processes = by_name(found)
        assert len(processes) == len(found.processes) == (4 + 8 * number if nodes else 1 + 3 * number)
        assert {name for one in found.processes for name in one.after} <= set(processes)
        assert found.networks == [*addresses_of(Topology.of(number))]


def test_a_cluster_of_several_zones_has_an_agent_for_each_node_and_one_of_the_rest() -> None:
    zoned = Topology(clusters=(*Topology.of(1).clusters, ClusterSpec(name="data-plane", zones=("a", "b", "b"))))
    more, fewer = set(by_name(made(zoned, nodes=True))), set(by_name(made(nodes=True)))
    assert more - fewer == {"data-plane-node-2", "data-plane-node-3"}


def test_the_host_reaches_each_cluster_by_its_own_socket() -> None:
    forwarder = by_name(made(Topology.of(3), nodes=False))["forwarder"]
    assert forwarder.argv[-3:] == ["control-plane:7", "data-plane:8", "data-plane-2:9"]
    assert forwarder.inherited == [7, 8, 9]


def test_agents_stop_first_then_api_servers_and_etcd_last() -> None:
    stages = {name: process.stop_stage for name, process in by_name(made(nodes=True)).items()}
    for cluster in ("control-plane", "data-plane"):
        own = {name.removeprefix(f"{cluster}-"): stage for name, stage in stages.items() if name.startswith(cluster)}
        assert own["node"] == min(stages.values())
        assert own["node"] < own["kube-proxy"] < own["controller-manager"] < own["apiserver"] < own["etcd"]
        assert own["etcd"] == max(stages.values())


def test_no_process_of_one_cluster_is_told_of_a_file_or_network_of_another() -> None:
    clusters = addresses_of(Topology.of(4))
    shared = {"forwarder", "network", "wan-dns", "addons"}
    for name, process in by_name(made(Topology.of(4), nodes=True)).items():
        if name in shared:
            assert process.network == "wan"
        else:
            assert name.startswith(process.network)
            others = clusters.keys() - {process.network}
            assert not any(f"/state/clusters/{other}/" in word for word in process.argv for other in others)


def test_the_api_server_is_as_agreed() -> None:
    argv = by_name(made(nodes=False))["data-plane-apiserver"].argv
    for flag in (
        "--authorization-mode=Node,RBAC",
        "--api-audiences=https://kubernetes.default.svc.cluster.local,istio-ca",
        "--advertise-address=10.90.0.20",
        "--kubelet-preferred-address-types=InternalIP",
    ):
        assert flag in argv
    assert "--use-service-account-credentials=false" in by_name(made(nodes=False))["data-plane-controller-manager"].argv


def test_without_nodes_the_hosts_resolver_stays() -> None:
    assert made(nodes=False).resolver is None
    assert made(nodes=True).resolver == "10.90.255.53"


def test_a_plan_survives_its_file() -> None:
    assert Plan.model_validate_json(made(nodes=True).model_dump_json()) == made(nodes=True)


def test_nothing_of_the_callers_secrets_or_proxies_gets_inside() -> None:
    outside = {"HOME": "/h", "HTTPS_PROXY": "http://p", "https_proxy": "http://p", "PULUMI_CONFIG_PASSPHRASE": "x"}
    inside = program_environment(Path("/tools"), outside)
    assert set(inside) == {"HOME", "PATH", "PYTHONPATH", "PYTHONUNBUFFERED"}
    assert inside["PATH"].split(os.pathsep)[0] == "/tools"


def test_the_dns_service_is_at_its_fixed_address_and_backed_by_the_node() -> None:
    for cluster in addresses_of(Topology.of(2)).values():
        (service,) = (one for one in objects(cluster) if isinstance(one, Service))
        (endpoints,) = (one for one in objects(cluster) if isinstance(one, EndpointSlice))
        assert service.spec
        assert service.spec.clusterIP == cluster.dns_address
        assert endpoints.endpoints
        assert endpoints.endpoints[0].addresses == [cluster.wan_address]
