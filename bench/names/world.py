"""A sandbox with edges that publish names in two ways: by the bridge, and by an external-dns inside each edge."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh.spec.dns import EXTERNAL_DNS_IMAGE

from bench.own_sandbox import kubectl, until
from sandbox import clusters, toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Topology
from sandbox.clusters.readiness import get_text
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import NAMES
from tests.engine.library.engine import Api
from tests.live.dns.bridge.dns_names import COREDNS, NAMESPACE, Names, deploy, gateway, service

HERE: Final = Path(__file__).parent
SERVERS: Final = HERE / "servers.yaml"
BRIDGE_PORT, INSIDE_PORT = 53, 1053
BRIDGE_PREFIX, INSIDE_PREFIX = "/skydns/", "/inside/"
ZONE: Final = "mesh.test"
INTERVAL_SECONDS = 60
APP: Final = "ingress"
ASIDE: Final = "inside"
"""Namespace of the external-dns inside an edge, and its names there."""
EDGES_PER_NODE: Final = 15
"""Of the control plane's cluster. An edge's Pods request 100m CPU, and a node has as many CPUs as the machine."""
LIMIT_SECONDS = 900.0
UP_SECONDS: Final = 3600.0
"""Of the `pulumi up` that makes the bridge: it takes long beside many API servers on few cores."""
DOCUMENT: Final[dict[str, Any]] = {
    "intervalSeconds": INTERVAL_SECONDS,
    "nameservers": [COREDNS],
    "providers": [
        {
            "id": "inner",
            "type": "coredns",
            "authentication": "none",
            "zones": [{"name": f"{{edge}}.{ZONE}"}],
            "controlPlaneZones": [f"centre.{ZONE}"],
            "coredns": {"endpoints": [f"http://{COREDNS}:2379"]},
            "ttl": 5,
        }
    ],
}


def inside(edge: str, etcd: str) -> list[dict[str, Any]]:
    """One external-dns in the edge's own cluster, as its users would run it. etcd: its address from there.

    Sources, filter and policy are those of the bridge. It acts after events, and reads all records as often.
    """
    metadata = {"name": ASIDE, "namespace": ASIDE}
    rules = [
        {"apiGroups": [group], "resources": [kind], "verbs": ["list", "watch"]}
        for group, kind in (("networking.istio.io", "gateways"), ("", "services"), ("networking.k8s.io", "ingresses"))
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ASIDE}
    container = {
        "name": "external-dns",
        "image": EXTERNAL_DNS_IMAGE,
        "args": [
            *("--source=istio-gateway", "--source=service", "--service-type-filter=LoadBalancer", "--events"),
            *(f"--interval={INTERVAL_SECONDS}s", "--policy=sync", "--registry=noop", f"--domain-filter={edge}.{ZONE}"),
            *("--provider=coredns", f"--coredns-prefix={INSIDE_PREFIX}", "--coredns-strictly-owned"),
            *(f"--txt-owner-id={ASIDE}.{edge}", "--min-ttl=5s", "--log-format=json"),
        ],
        "env": [{"name": "ETCD_URLS", "value": f"http://{etcd}:2379"}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 7979}, "periodSeconds": 5},
    }
    labels = {"app": ASIDE}
    pod = {"metadata": {"labels": labels}, "spec": {"serviceAccountName": ASIDE, "containers": [container]}}
    account = {"kind": "ServiceAccount", "name": ASIDE, "namespace": ASIDE}
    rbac = "rbac.authorization.k8s.io/v1"
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ASIDE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": ASIDE}, "rules": rules},
        {
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ASIDE},
            "roleRef": role,
            "subjects": [account],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod},
        },
    ]


def flow_schema(namespace: str) -> dict[str, Any]:
    """The FlowSchema by which an API server counts the requests of a namespace's accounts, with their default share."""
    accounts = {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": "*"}}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    rule = {
        "subjects": [accounts],
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": namespace},
        "spec": {
            "priorityLevelConfiguration": {"name": "workload-low"},
            "matchingPrecedence": 1000,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [rule],
        },
    }


class Observer:
    """`answered` in the DNS server's network, for one caller at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, asked: Mapping[str, Any]) -> Any:
        """Raises SandboxError when it has ended."""
        self.begin(asked)
        return self.end()

    def begin(self, asked: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()

    def end(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SandboxError("The program that queries the DNS server ended during the measurement.")
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@dataclass(frozen=True)
class World:
    """The running sandbox. addresses: of each edge's ingress."""

    names: Names
    addresses: Mapping[str, str]

    @contextmanager
    def observer(self) -> Iterator[Observer]:
        enter = self.names.sandbox.enter("control-plane", CHECKOUT)
        # Its import of the library takes a second of computing, so one process serves many queries.
        found = Observer([*enter, sys.executable, "-m", "bench.names.answered", COREDNS])
        try:
            yield found
        finally:
            found.close()

    def metrics(self, edge: str) -> str:
        """Of an edge's API server."""
        return get_text(self.names.sandbox.clusters[edge], "/metrics")

    def run_bridge(self, *, on: bool) -> None:
        """Starts or ends all Pods of the bridge, and waits."""
        _scale(self.names.centre, NAMESPACE, 2 if on else 0)

    def run_inside(self, *, on: bool) -> None:
        for edge in self.names.edges.values():
            _scale(edge, ASIDE, 1 if on else 0)

    def change(self, edge: str, *gateways: dict[str, Any]) -> None:
        """Makes or changes Gateways."""
        _kubectl(self.names.edges[edge], "apply", "--server-side", "-f", "-", given=gateways)

    def take_away(self, edge: str, *gateways: dict[str, Any]) -> None:
        _kubectl(self.names.edges[edge], "delete", "--wait=false", "-f", "-", given=gateways)


def gateways(edge: str, count: int, each: int) -> list[dict[str, Any]]:
    """Gateways with so many names in all, at most `each` of them in one."""
    hosts = [f"n{number}.many.{edge}.{ZONE}" for number in range(count)]
    parts = [hosts[first : first + each] for first in range(0, count, each)]
    return [gateway(f"many-{number}", *part, app=APP) for number, part in enumerate(parts)]


def key_prefix(prefix: str, edge: str) -> str:
    """Of the etcd keys of those names."""
    return prefix + "/".join(reversed(f"many.{edge}.{ZONE}".split("."))) + "/"


def prepare(directory: Path, progress: Progress, edges: int) -> World:
    """Starts all of it in `directory`; the caller ends the clusters of `directory`/state. Nothing publishes yet."""
    tools = toolchain.ensure(set(NAMES) - {"istioctl"}, progress=progress)
    charts = toolchain.ensure(progress=progress).charts
    sandbox = clusters.up(directory / "state", tools, progress, topology=_topology(edges))
    centre = Api(sandbox.control_plane, tools)
    names = Names(sandbox, centre, {one.name: Api(one, tools) for one in sandbox.data_planes})
    with progress.step("DNS server, bridge, and an external-dns inside each edge"):
        _kubectl(centre, "apply", "-f", str(SERVERS))
        etcd = _address(centre, "etcd", "dns")
        addresses = {}
        for name, edge in names.edges.items():
            _kubectl(edge, "apply", "--server-side", "-f", str(charts / "base" / "files" / "crd-all.gen.yaml"))
            counted = [flow_schema(NAMESPACE), flow_schema(ASIDE)]
            given = [*inside(name, etcd), service(APP, APP), *counted]
            _kubectl(edge, "apply", "--server-side", "-f", "-", given=given)
            addresses[name] = _address(edge, APP, "default")
        deploy(names, directory, DOCUMENT, limit=UP_SECONDS)
        world = World(names, addresses)
        world.run_bridge(on=False)
    return world


def _topology(edges: int) -> Topology:
    control_plane, *others = Topology.of(edges + 1).clusters
    nodes = ("a",) * (1 + edges // EDGES_PER_NODE)
    return Topology(clusters=(control_plane.model_copy(update={"zones": nodes}), *others))


def _address(api: Api, name: str, namespace: str) -> str:
    def given() -> str:
        found = api.get("service", name, "-n", namespace)["status"]["loadBalancer"].get("ingress") or [{}]
        return str(found[0].get("ip", ""))

    return until(given, f"an address for {name}", seconds=LIMIT_SECONDS, every=0.5)


def _scale(api: Api, namespace: str, replicas: int) -> None:
    _kubectl(api, "scale", "deployment", "--all", "-n", namespace, f"--replicas={replicas}")

    def settled() -> bool:
        items = api.get("deployments", "-n", namespace)["items"]
        pods = api.get("pods", "-n", namespace)["items"]
        ready = sum(int(one.get("status", {}).get("readyReplicas", 0)) for one in items)
        return ready == len(pods) == replicas * len(items)

    until(settled, f"{replicas} Pods of each Deployment in {namespace}", seconds=LIMIT_SECONDS, every=0.5)


def _kubectl(api: Api, *arguments: str, given: Iterable[dict[str, Any]] = ()) -> None:
    kubectl(api.tools, api.cluster, *arguments, given=given)
