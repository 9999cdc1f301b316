"""Who publishes which name, and what CoreDNS is told."""

from __future__ import annotations

from pathlib import Path

from lightkube.models.core_v1 import LoadBalancerIngress, LoadBalancerStatus, ServiceSpec, ServiceStatus
from lightkube.models.core_v1 import Service as ServiceModel
from lightkube.models.meta_v1 import ObjectMeta

from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.network.dns import (
    SANDBOX,
    allowed,
    base_records,
    cluster_corefile,
    in_zone,
    precedence,
    publish,
    recorded,
    wan_corefile,
)
from sandbox.clusters.network.load_balancers import HOSTNAME, balanced, is_ours
from sandbox.clusters.topology import Topology

CLUSTERS = addresses_of(Topology.of(3))
ORDER = precedence(CLUSTERS.values())


def test_a_user_cannot_take_names_over(tmp_path: Path) -> None:
    publish(
        tmp_path,
        "data-plane",
        {"istiod.sandbox.test": "10.90.2.1", "api.data-plane-2.sandbox.test": "10.90.2.1"},
        ORDER,
    )
    publish(tmp_path, SANDBOX, base_records(CLUSTERS.values()), ORDER)
    apis = {"api.data-plane.sandbox.test": "10.90.0.20", "api.data-plane-2.sandbox.test": "10.90.0.30"}
    assert recorded(tmp_path) == {"istiod.sandbox.test": "10.90.2.1", **apis}
    publish(tmp_path, "control-plane", {"istiod.sandbox.test": "10.90.1.1"}, ORDER)
    assert recorded(tmp_path)["istiod.sandbox.test"] == "10.90.1.1"
    publish(tmp_path, "control-plane", {}, ORDER)
    assert recorded(tmp_path)["istiod.sandbox.test"] == "10.90.2.1"


def test_the_control_plane_goes_before_users_wherever_it_stands_in_the_topology() -> None:
    turned = Topology(clusters=tuple(reversed(Topology.of(3).clusters)))
    assert precedence(addresses_of(turned).values()) == [SANDBOX, "control-plane", "data-plane-2", "data-plane"]


def test_only_names_of_the_zone_are_published() -> None:
    names = ("a.sandbox.test", "deep.a.sandbox.test", "sandbox.test", "a.example.com", "asandbox.test", "")
    assert [in_zone(name) for name in names] == [True, True, False, False, False, False]


def service(**spec: object) -> ServiceModel:
    return ServiceModel(
        metadata=ObjectMeta(name="s", namespace="n", annotations={HOSTNAME: "A.sandbox.test., b.sandbox.test,c.com"}),
        spec=ServiceSpec(**{"type": "LoadBalancer", **spec}),
        status=ServiceStatus(loadBalancer=LoadBalancerStatus(ingress=[LoadBalancerIngress(ip="10.90.0.100")])),
    )


def test_what_is_read_from_a_service() -> None:
    read = balanced(service(loadBalancerIP="10.90.0.100"))
    assert (read.key, read.address, read.wanted) == (("n", "s"), "10.90.0.100", "10.90.0.100")
    assert read.names == ("a.sandbox.test", "b.sandbox.test")


def test_a_data_plane_has_no_name_in_the_meshs_zone() -> None:
    """Else it would win over the DNS server that answers for the zone."""
    names = {"istiod.demo.sandbox.test": "10.90.2.1", "demo.sandbox.test.sandbox.test": "10.90.2.2"}
    assert allowed(names, CLUSTERS["control-plane"]) == names
    assert allowed(names, CLUSTERS["data-plane"]) == {"demo.sandbox.test.sandbox.test": "10.90.2.2"}


def test_services_of_other_controllers_are_left_alone() -> None:
    assert is_ours(service())
    assert not is_ours(service(loadBalancerClass="someone.else/lb"))
    assert not is_ours(service(type="ClusterIP"))


def test_name_servers_listen_where_the_plan_says(tmp_path: Path) -> None:
    wan = wan_corefile(tmp_path, CLUSTERS["control-plane"].name_server)
    assert "bind 10.90.255.53" in wan
    # The mesh's zone is asked of a server in the control plane's cluster.
    assert wan.startswith("demo.sandbox.test {")
    assert "forward . 10.90.1.100" in wan
    data_plane = cluster_corefile(CLUSTERS["data-plane"], tmp_path / "k")
    assert "bind 10.90.0.20" in data_plane
    assert f"kubeconfig {tmp_path / 'k'}" in data_plane
    assert "forward . 10.90.255.53" in data_plane
    assert "bind 10.90.0.10" in cluster_corefile(CLUSTERS["control-plane"], tmp_path / "k")
