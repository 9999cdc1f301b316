"""Four running clusters for real: reached, guarded, named, searched, with nodes in zones. Pods: test_node.py."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.discovery_v1 import Endpoint, EndpointConditions, EndpointPort
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Namespace, Node, Secret, Service
from lightkube.resources.discovery_v1 import EndpointSlice

from sandbox import clusters
from sandbox.clusters import ClusterSpec, Sandbox, Topology
from sandbox.clusters.network.addresses import API_PORT, WAN_ROUTER, ClusterAddresses, addresses_of
from sandbox.clusters.network.load_balancers import HOSTNAME
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.support.changing import created
from tests.support.clusters import client_of, started
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

PROGRAMS = Path(__file__).parent / "programs"
STRANGER = "10.90.0.251"
PORT = 8080
# The last one has the control plane's own ranges, the second and third each other's.
ZONED = ClusterSpec(name="zoned", pods="10.88.0.0/16", services="10.96.0.0/16", zones=("a", "b"), region="here")
TOPOLOGY = Topology(clusters=(*Topology.of(3).clusters, ZONED))
CLUSTERS = addresses_of(TOPOLOGY)
CONTROL_PLANE, DATA_PLANE, OTHER, LAST = CLUSTERS.values()
DATA_PLANES = (DATA_PLANE, OTHER, LAST)
POD = {name: one.gateway.removesuffix(".0.1") + ".9.9" for name, one in CLUSTERS.items()}
CLOSED = {"timeout", "refused", "[Errno 113] No route to host", "[Errno 101] Network is unreachable"}
Balancer = Service | EndpointSlice


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path_factory.mktemp("clusters") / "state", tools, progress, topology=TOPOLOGY) as sandbox:
        yield sandbox


def peer(address: str, bridge: str, gateway: str, *command: str) -> list[str]:
    return [sys.executable, str(PROGRAMS / "peer.py"), bridge, address, gateway, *command]


def pod(cluster: ClusterAddresses, *command: str) -> list[str]:
    """Something with a Pod's address on a node's bridge."""
    return peer(POD[cluster.name], "br0", cluster.gateway, *command)


def reach(sandbox: Sandbox, network: str, argv: list[str]) -> dict[str, str]:
    done = sandbox.run(network, argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answers: dict[str, str] = json.loads(done.stdout)
    return answers


def from_node(sandbox: Sandbox, network: str, *targets: str) -> dict[str, str]:
    return reach(sandbox, network, peer("-", "-", "-", "connect", *targets))


def from_pod(sandbox: Sandbox, cluster: ClusterAddresses, *targets: str) -> dict[str, str]:
    return reach(sandbox, cluster.name, pod(cluster, "connect", *targets))


def from_stranger(sandbox: Sandbox, gateway: str, *targets: str) -> dict[str, str]:
    """From another machine on the wan, whose router sends everything of this one by way of `gateway`."""
    return reach(sandbox, "wan", peer(STRANGER, "wan", gateway, "connect", *targets))


@contextmanager
def listening_pod(sandbox: Sandbox, cluster: ClusterAddresses) -> Iterator[None]:
    argv = [*sandbox.enter(cluster.name), *pod(cluster, "serve", str(PORT))]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        assert server.stdout.readline() == b"listening\n"
        yield
        server.stdin.close()


def load_balancer(cluster: ClusterAddresses, name: str, *, ranges: list[str], host: str) -> list[Balancer]:
    """A Service whose only endpoint is the test's own listening Pod."""
    return [
        Service(
            metadata=ObjectMeta(name=name, namespace="default", annotations={HOSTNAME: host}),
            spec=ServiceSpec(
                type="LoadBalancer",
                externalTrafficPolicy="Local",  # the Pod sees who asks
                loadBalancerSourceRanges=ranges,
                ports=[ServicePort(name="tcp", port=PORT)],
            ),
        ),
        EndpointSlice(
            metadata=ObjectMeta(name=name, namespace="default", labels={"kubernetes.io/service-name": name}),
            addressType="IPv4",
            endpoints=[
                Endpoint(
                    addresses=[POD[cluster.name]],
                    conditions=EndpointConditions(ready=True),
                    nodeName=cluster.node_name,
                )
            ],
            ports=[EndpointPort(name="tcp", port=PORT)],
        ),
    ]


def address_of(client: Client, name: str) -> str | None:
    service = client.get(Service, name, namespace="default")
    assert service.status is not None
    ingress = (service.status.loadBalancer.ingress if service.status.loadBalancer else None) or []
    return ingress[0].ip if ingress else None


def test_all_clusters_answer_on_the_host_and_are_adopted_by_a_second_up(sandbox: Sandbox, tools: Tools) -> None:
    for name in CLUSTERS:
        namespaces = client_of(sandbox, name).list(Namespace)
        assert {str(one.metadata.name) for one in namespaces if one.metadata} >= {"default"}
    again = clusters.up(sandbox.state, tools, Progress.silent())
    assert again.supervisor == sandbox.supervisor
    eventually(lambda: all_answer(sandbox), "all answer")


def all_answer(sandbox: Sandbox) -> bool:
    return clusters.status(sandbox.state).answering == dict.fromkeys(CLUSTERS, True)


def test_keys_and_state_are_private(sandbox: Sandbox) -> None:
    private = [sandbox.kubeconfig, *(path for one in sandbox.clusters.values() for path in one.secret_files())]
    assert len(private) > 20
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    assert stat.S_IMODE((sandbox.state / "clusters").stat().st_mode) == 0o700


def private_targets() -> list[str]:
    """What only the control plane's own network may reach: API server, node, cluster addresses, a Pod."""
    inner = [
        f"{CONTROL_PLANE.gateway}:{API_PORT}",
        f"{CONTROL_PLANE.first_service_address}:443",
        f"{POD['control-plane']}:{PORT}",
    ]
    return [
        *inner,
        f"{CONTROL_PLANE.wan_address}:{API_PORT}",
        f"{CONTROL_PLANE.dns_address}:53",
        f"{CONTROL_PLANE.wan_address}:53",
    ]


def test_nothing_of_the_control_plane_is_reachable_from_a_data_plane(sandbox: Sandbox) -> None:
    targets = private_targets()
    unused = [f"{CONTROL_PLANE.wan_address}:{port}" for port in (22, 2379, 10250, 10256, 10257, 10259)]
    with listening_pod(sandbox, CONTROL_PLANE):

        def alive() -> bool:
            own = from_node(sandbox, "control-plane", *targets)
            return not {"timeout", "refused"} & set(own.values())

        eventually(alive, "the control plane's own node reaches all of it")
        for answers in (
            from_node(sandbox, DATA_PLANE.name, *targets, *unused),
            from_pod(sandbox, DATA_PLANE, *targets, *unused),
            from_node(sandbox, OTHER.name, *targets, *unused),
            from_pod(sandbox, OTHER, *targets, *unused),
            from_stranger(sandbox, WAN_ROUTER, *targets, *unused),
        ):
            assert set(answers.values()) <= CLOSED, answers
        # Where every packet is sent to the control plane's node, it is that node which drops it.
        straight = from_stranger(sandbox, CONTROL_PLANE.wan_address, *targets, *unused)
        assert set(straight.values()) == {"timeout"}, straight


def test_no_data_plane_reaches_anothers_api_server_and_all_reach_load_balancers(sandbox: Sandbox) -> None:
    """Although both data planes' Pods have the same address, here 10.89.9.9."""
    echo = load_balancer(DATA_PLANE, "echo", ranges=["0.0.0.0/0"], host="echo.data-plane.sandbox.test")
    with listening_pod(sandbox, DATA_PLANE), created(client_of(sandbox, DATA_PLANE.name), *echo):
        named = f"echo.data-plane.sandbox.test:{PORT}"
        open_to = [one for one in CLUSTERS.values() if one is not DATA_PLANE]
        for cluster in open_to:
            eventually(
                lambda: from_node(sandbox, cluster.name, named)[named] == cluster.wan_address,  # noqa: B023
                f"{cluster.name} gets through by name",
            )
            direct = f"{DATA_PLANE.pool[0]}:{PORT}"
            assert from_pod(sandbox, cluster, direct) == {direct: cluster.wan_address}
        for cluster in DATA_PLANES:
            others = [one for one in CLUSTERS.values() if one is not cluster]
            targets = [f"{one.wan_address}:{port}" for one in others for port in (API_PORT, 53, 2379, 10250)]
            for answers in (from_node(sandbox, cluster.name, *targets), from_pod(sandbox, cluster, *targets)):
                assert set(answers.values()) <= CLOSED, answers
    apis = [f"{one.wan_address}:{API_PORT}" for one in DATA_PLANES]
    assert from_pod(sandbox, CONTROL_PLANE, *apis) == dict.fromkeys(apis, "open")


def test_nobody_can_send_under_another_clusters_address(sandbox: Sandbox) -> None:
    """By the control plane's address a data plane would get its rights: to call another one's API server, for one."""

    def refused() -> int:
        """Packets that the wan's router dropped since their source does not lie where they came from."""
        table = sandbox.run("wan", ["cat", "/proc/net/netstat"], capture_output=True, text=True).stdout.splitlines()
        return int(dict(zip(table[0].split(), table[1].split(), strict=True))["IPReversePathFilter"])

    before, target = refused(), f"{OTHER.wan_address}:{API_PORT}"
    # Its own node would give a Pod's packets the node's address; the node itself may send what it likes.
    program = [sys.executable, str(PROGRAMS / "pass_for.py"), CONTROL_PLANE.wan_address, target]
    assert sandbox.run(DATA_PLANE.name, program, capture_output=True, text=True, timeout=60).stdout.strip() == "timeout"
    assert refused() > before


def test_pods_of_two_nodes_reach_each_other_and_a_drained_node_is_left(sandbox: Sandbox, tools: Tools) -> None:
    kubectl = Kubectl.of(sandbox.clusters["zoned"], tools)

    def where() -> str:
        """The node of the one Pod that is not being removed."""
        pods = kubectl.get("pods", "--selector=app=moved")["items"]
        return ",".join(str(one["spec"].get("nodeName")) for one in pods if "deletionTimestamp" not in one["metadata"])

    container: dict[str, Any] = {"name": "app", "image": "hosted-mesh/sample:1", "ports": [{"containerPort": PORT}]}
    container |= {"readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1}}
    preferred = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]}]}
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": preferred}]}
    still = {"containers": [container], "nodeSelector": {"topology.kubernetes.io/zone": "a"}}
    template: dict[str, Any] = {"metadata": {"labels": {"app": "moved"}}}
    template |= {"spec": {"containers": [container], "affinity": {"nodeAffinity": affinity}}}
    moved = {"selector": {"matchLabels": {"app": "moved"}}, "template": template}
    service = {"selector": {"app": "moved"}, "ports": [{"port": 80, "targetPort": PORT}]}
    objects = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "still"}, "spec": still},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "moved"}, "spec": moved},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "moved"}, "spec": service},
    ]
    kubectl.apply(*objects)
    kubectl("wait", "--for=condition=Ready", "pod/still", "--timeout=240s")
    kubectl("rollout", "status", "deployment/moved", "--timeout=240s")
    assert where() == "zoned-node-2"
    fetch = "import urllib.request as r; print(r.urlopen('http://moved', timeout=10).read().decode())"
    ask = ("exec", "still", "--", "python3", "-c", fetch)  # the node's own endpoint answers exec

    def answering() -> bool:
        """A ready Pod is in its Service's rules only after the node's next round, and refused until then."""
        done = kubectl.run(*ask)
        return done.returncode == 0 and json.loads(done.stdout)["pod"].startswith("moved-")

    eventually(answering, "the Service answers from the Pod on the other node")
    kubectl("drain", "zoned-node-2", "--timeout=240s")
    try:
        kubectl("rollout", "status", "deployment/moved", "--timeout=240s")
        assert where() == "zoned-node"
        eventually(answering, "it answers from its new node")
    finally:
        kubectl("uncordon", "zoned-node-2")


def test_nodes_stand_in_their_zones(sandbox: Sandbox) -> None:
    found = {
        str(one.metadata.name): one.metadata.labels or {}
        for one in client_of(sandbox, "zoned").list(Node)
        if one.metadata
    }
    labels = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
    assert {name: tuple(one[label] for label in labels) for name, one in found.items()} == {
        "zoned-node": ("a", "here"),
        "zoned-node-2": ("b", "here"),
    }


def test_a_load_balancer_is_open_by_name_to_its_source_ranges_only(sandbox: Sandbox) -> None:
    control_plane, host = client_of(sandbox, "control-plane"), "echo.sandbox.test"
    allowed = [f"{DATA_PLANE.wan_address}/32"]
    with (
        listening_pod(sandbox, CONTROL_PLANE),
        created(control_plane, *load_balancer(CONTROL_PLANE, "echo", ranges=allowed, host=host)),
    ):
        eventually(lambda: address_of(control_plane, "echo") is not None, "an address")
        address = str(address_of(control_plane, "echo"))
        assert address == CONTROL_PLANE.pool[0]
        node_port = (control_plane.get(Service, "echo", namespace="default").spec or ServiceSpec()).ports
        assert node_port
        nodes = [
            f"{CONTROL_PLANE.wan_address}:{node_port[0].nodePort}",
            f"{CONTROL_PLANE.gateway}:{node_port[0].nodePort}",
        ]
        named = f"{host}:{PORT}"
        eventually(
            lambda: from_node(sandbox, DATA_PLANE.name, named)[named] == DATA_PLANE.wan_address,
            "the data plane's node gets through",
        )
        assert from_pod(sandbox, DATA_PLANE, f"{address}:{PORT}") == {f"{address}:{PORT}": DATA_PLANE.wan_address}
        others = [f"{address}:{port}" for port in (443, API_PORT, 10250, 15010)]
        for closed in (
            from_node(sandbox, "data-plane", *others, *nodes),
            from_stranger(sandbox, CONTROL_PLANE.wan_address, f"{address}:{PORT}", *others, *nodes),
        ):
            assert set(closed.values()) <= CLOSED, closed

    def gone() -> bool:
        links = sandbox.run("control-plane", ["cat", "/proc/net/fib_trie"], capture_output=True, text=True).stdout
        return address not in links

    eventually(gone, "the address is taken off the link")
    # NXDOMAIN, not a passing fault. The name goes after the address, when CoreDNS looks at its file again.
    unknown = "Name or service not known"
    eventually(lambda: unknown in from_node(sandbox, "data-plane", named)[named], "the name is taken out of the DNS")


def test_a_data_plane_cannot_take_over_a_name_of_the_control_plane(sandbox: Sandbox) -> None:
    host = "istiod.shop.sandbox.test"
    everyone = ["0.0.0.0/0"]
    control_plane, data_plane = client_of(sandbox, "control-plane"), client_of(sandbox, "data-plane")

    def lookup(name: str = host) -> str:
        found = sandbox.run("wan", ["getent", "hosts", name], capture_output=True, text=True).stdout.split()
        return found[0] if found else ""

    with created(data_plane, *load_balancer(DATA_PLANE, "thief", ranges=everyone, host=f"{host},{OTHER.api_host}")):
        eventually(lambda: lookup() == DATA_PLANE.pool[0], "a free name is published")
        with created(control_plane, *load_balancer(CONTROL_PLANE, "istiod", ranges=everyone, host=host)):
            eventually(lambda: lookup() == CONTROL_PLANE.pool[0], "the control plane has its name")
            eventually(lambda: lookup(OTHER.api_host) == OTHER.wan_address, "and another data plane its API server's")


def test_a_data_planes_api_server_is_reached_by_name_and_nothing_else_of_that_node(sandbox: Sandbox) -> None:
    named = f"{DATA_PLANE.api_host}:{API_PORT}"
    assert from_node(sandbox, "control-plane", named) == {named: "open"}
    # Pods have the cluster's resolver in their own resolv.conf; here the wan's, so they ask for the address.
    direct = f"{DATA_PLANE.wan_address}:{API_PORT}"
    others = [f"{DATA_PLANE.wan_address}:{port}" for port in (53, 2379, 10250)]
    inner = [f"{DATA_PLANE.first_service_address}:443", f"{DATA_PLANE.gateway}:{API_PORT}"]
    answers = from_pod(sandbox, CONTROL_PLANE, direct, *others, *inner)
    assert answers.pop(direct) == "open"
    assert set(answers.values()) <= CLOSED, answers


def test_the_cluster_dns_answers_at_its_service_address(sandbox: Sandbox) -> None:
    for cluster in CLUSTERS.values():
        for name, expected in (
            ("kubernetes.default.svc.cluster.local", cluster.first_service_address),
            *((one.api_host, one.wan_address) for one in DATA_PLANES),
        ):
            eventually(lambda: dns_answer(sandbox, cluster, name) == expected, f"{name} is {expected}")  # noqa: B023


def dns_answer(sandbox: Sandbox, cluster: ClusterAddresses, name: str) -> str:
    argv = [sys.executable, str(PROGRAMS / "ask_dns.py"), cluster.dns_address, name]
    return str(sandbox.run(cluster.name, argv, capture_output=True, text=True).stdout).strip()


def test_etcd_is_searched_with_its_history(sandbox: Sandbox) -> None:
    data_plane, cluster = client_of(sandbox, "data-plane"), sandbox.data_plane
    began = cluster.etcd_revision()
    data_plane.create(
        Secret(metadata=ObjectMeta(name="needle", namespace="default"), stringData={"a": "in-the-haystack"})
    )
    data_plane.delete(Secret, "needle", namespace="default")
    ended = cluster.etcd_revision()

    def finds_it(items: list[tuple[bytes, bytes]]) -> bool:
        return any(b"in-the-haystack" in value for key, value in items if b"/secrets/default/needle" in key)

    everything = list(cluster.etcd_items())
    assert finds_it(everything)
    assert finds_it(list(cluster.etcd_items(began)))
    assert not finds_it(list(cluster.etcd_items(ended)))
    assert any(key == b"/registry/namespaces/kube-system" for key, _ in everything)
    assert len(list(cluster.etcd_items(began))) < len(everything)


def test_a_process_that_dies_is_started_again_and_that_is_seen(sandbox: Sandbox) -> None:
    def process(name: str) -> clusters.ProcessStatus:
        return next(one for one in clusters.status(sandbox.state).processes if one.name == name)

    before = process("data-plane-apiserver")
    sandbox.run("wan", ["kill", "-9", str(before.pid)], check=True)
    eventually(lambda: process("data-plane-apiserver").restarts == before.restarts + 1, "a restart is counted")
    assert process("data-plane-apiserver").last_exit == "killed by SIGKILL"
    eventually(lambda: process("data-plane-apiserver").phase == "ready", "it is ready again")
    eventually(lambda: all_answer(sandbox), "it answers")


def test_the_load_balancer_controller_may_not_read_secrets(sandbox: Sandbox) -> None:
    config = KubeConfig.from_file(sandbox.state / "clusters" / "data-plane" / "load-balancers.kubeconfig")
    controller = Client(config=_at(config, sandbox), trust_env=False)
    with pytest.raises(ApiError, match="forbidden"):
        list(controller.list(Secret, namespace="default"))


def _at(config: KubeConfig, sandbox: Sandbox) -> KubeConfig:
    for cluster in config.clusters.values():
        cluster.server = sandbox.data_plane.server
    return config
