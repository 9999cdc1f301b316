"""The boundary and the mesh's own limits, with networks that a test opens and closes as it likes."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from lightkube.models.core_v1 import PodStatus
from lightkube.resources.core_v1 import Pod, Service

from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.topology import Topology
from sandbox.proof import boundary, identity, istiod, limits, workloads
from sandbox.proof.deployed import MeshFacts, NotObserved

ADDRESSES = addresses_of(Topology.of(2))
BALANCER, POD, CLUSTER_IP = "10.90.1.1", "10.88.0.5", "10.96.0.77"
EXPOSED = {f"{BALANCER}:15012", f"{BALANCER}:15017"}
OWN = {f"{POD}:{port}" for port in (8080, 15012, 15014, 15017)}
ALIVE = OWN | {"10.88.0.1:6443", "10.90.0.10:10250", "127.0.0.1:2379", "10.96.0.10:53/udp"}
THROUGH = {f"{POD}:15012", f"{POD}:15017"}


class Networks:
    """A deployed in which all is as it should be.

    opened: what answers from a network, by its name and whether the firewall stands; a test adds to it or takes away.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = {
            ("control-plane", True): set(ALIVE),
            ("data-plane", True): set(EXPOSED),
            ("pod", True): set(EXPOSED),
            ("wan", True): set(),
            ("data-plane", False): EXPOSED | THROUGH,
            ("wan", False): set(THROUGH),
        }
        self.standing = True
        self.tried: set[str] = set()
        self.ranges: list[str] | None = ["10.90.0.20/32"]
        self.node_ports: list[dict[str, Any]] = []
        self.mesh = MeshFacts("demo", "mesh-demo", "istiod.demo.test", 15012, 15017, "mesh.test", "", {})
        self.sandbox = SimpleNamespace(
            control_plane=SimpleNamespace(name="control-plane", addresses=ADDRESSES["control-plane"]),
            data_plane=SimpleNamespace(name="data-plane"),
        )
        self.control_plane = SimpleNamespace(list=self._services)
        self.data_plane = SimpleNamespace(list=lambda kind, namespace: [])
        monkeypatch.setattr(istiod, "live_pod", lambda deployed: Pod(status=PodStatus(podIP=POD)))
        monkeypatch.setattr(workloads, "ready_pod", lambda deployed, name: None)
        for module in (identity, boundary, limits):
            monkeypatch.setattr(module, "exposed_addresses", lambda deployed: {BALANCER})

    def _services(self, kind: type, namespace: str) -> list[Service]:
        exposed: dict[str, Any] = {
            "type": "LoadBalancer",
            "clusterIP": CLUSTER_IP,
            "loadBalancerSourceRanges": self.ranges,
        }
        ports = [{"port": 15012}, {"port": 53, "protocol": "UDP"}]
        given: list[dict[str, Any]] = [{**exposed, "ports": ports}]
        given += [{"type": "NodePort", "clusterIP": "None", "ports": [one]} for one in self.node_ports]
        return [Service.from_dict({"spec": spec}) for spec in given]

    def program_of(self, pod: object, program: str) -> str:
        return "pod"

    def in_network(self, network: str, script: str, user: str, *targets: str) -> dict[str, str]:
        self.tried |= set(targets)
        return {one: "open" if one in self.opened[network, self.standing] else "timed out" for one in targets}

    in_network_of = in_network

    @contextmanager
    def without_firewall(self):
        self.standing = False
        yield
        self.standing = True


@pytest.fixture
def networks(monkeypatch) -> Networks:
    return Networks(monkeypatch)


def test_all_as_it_should_be(networks):
    assert "closed" in boundary.observe(networks)
    assert networks.tried >= {
        "10.90.0.10:2379",
        "10.90.0.10:10250",
        "10.90.0.10:6443",
        "10.90.0.10:53/udp",
        f"{BALANCER}:2379",
        f"{BALANCER}:53/udp",
        f"{CLUSTER_IP}:15012",
        f"{CLUSTER_IP}:53/udp",
    }


NODE = "10.90.0.10"
LEAKS = [*(f"{NODE}:{port}" for port in (6443, 2379, 10250, 31000)), f"{POD}:15014", f"{CLUSTER_IP}:53/udp"]


@pytest.mark.parametrize("place", ["data-plane", "pod", "wan"])
@pytest.mark.parametrize("target", LEAKS)
def test_one_more_that_is_open_breaks_the_boundary(networks, place, target):
    networks.node_ports = [{"port": 80, "nodePort": 31000}]
    networks.opened[place, True].add(target)
    with pytest.raises(NotObserved, match=f"reaches {target}"):
        boundary.observe(networks)


@pytest.mark.parametrize("place", ["data-plane", "pod"])
def test_so_does_an_exposed_port_that_is_closed(networks, place):
    networks.opened[place, True].discard(f"{BALANCER}:15017")
    with pytest.raises(NotObserved, match=f"does not reach the exposed {BALANCER}:15017"):
        boundary.observe(networks)


def test_so_does_an_outsider_who_is_let_in(networks):
    networks.opened["wan", True] |= EXPOSED
    with pytest.raises(NotObserved, match=r"10\.90\.0\.1, which is in no source range, reaches"):
        boundary.observe(networks)


@pytest.mark.parametrize("ranges", [None, [], ["0.0.0.0/0"], ["10.90.0.20/32", "10.90.0.0/16"]])
def test_so_do_ranges_that_name_more_than_the_data_plane(networks, ranges):
    networks.ranges = ranges
    with pytest.raises(NotObserved, match=r"lets 10\.90\.0\.1 in"):
        boundary.observe(networks)


@pytest.mark.parametrize("target", sorted(ALIVE - {f"{POD}:8080"}))
def test_a_dead_target_proves_nothing(networks, target):
    networks.opened["control-plane", True].discard(target)
    for observe in (boundary.observe, limits.observe):
        with pytest.raises(NotObserved, match="nothing is proven"):
            observe(networks)


def test_the_limits_hold_without_the_firewall(networks):
    seen = limits.observe(networks)
    assert f"{POD}:15014, {POD}:8080 refused by the NetworkPolicy" in seen
    assert networks.standing


@pytest.mark.parametrize(
    ("place", "target"),
    [
        ("data-plane", f"{POD}:15014"),
        ("data-plane", f"{POD}:8080"),
        ("wan", f"{POD}:15014"),
        ("wan", f"{BALANCER}:15012"),
    ],
)
def test_one_more_that_is_open_breaks_the_limits(networks, place, target):
    networks.opened[place, False].add(target)
    with pytest.raises(NotObserved, match=f"reaches {target}"):
        limits.observe(networks)


def test_so_does_a_node_port_that_leads_past_the_ranges(networks):
    networks.node_ports = [{"port": 15012, "nodePort": 31000}]
    limits.observe(networks)
    networks.opened["wan", False].add("10.90.0.10:31000")
    with pytest.raises(NotObserved, match=r"reaches 10\.90\.0\.10:31000"):
        limits.observe(networks)


@pytest.mark.parametrize("place", ["data-plane", "wan"])
def test_a_way_that_was_not_open_proves_nothing(networks, place):
    networks.opened[place, False] -= THROUGH
    with pytest.raises(NotObserved, match="does not reach the exposed"):
        limits.observe(networks)
