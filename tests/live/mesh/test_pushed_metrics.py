"""Proxies push their metrics to the collector on the control plane: exact numbers, identities by certificate."""

from __future__ import annotations

import base64
import copy
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Namespace, Pod, Secret, Service
from pulumi_hosted_mesh.observability import dashboards

from sandbox.clusters import Cluster, Sandbox
from sandbox.engine import deployment
from sandbox.engine.name_server import addresses
from sandbox.proof import workloads
from sandbox.proof.deployed import PROGRAMS, Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.proof.processes import Process, find
from sandbox.proof.shown_traffic import require_push
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.live.observability.kiali_graph import Graph, Kiali, RefusedError
from tests.support.applied import apply
from tests.support.gateways import PROBE
from tests.support.kubectl import Kubectl
from tests.support.updates import update

NAMESPACE = "counted"
THIEF = "thief"
GATEWAY = "edge"
CALLERS = (workloads.CALLER, THIEF)
# Outside of the zone of `make up`: the sandbox's load balancer publishes it, as a cloud's external-dns does.
HOST = "collector.observed.sandbox.test"
# Of the committed document: the address for Pods of the control plane.
API_SERVER = "https://api.data-plane.sandbox.test:6443"
TOTAL = "istio_requests_total"
PROMETHEUS, PROMETHEUS_LABEL = "prometheus", "app.kubernetes.io/name"
TRACING = "tracing"
RECEIVE = Path(__file__).parent / "programs" / "receive_spans.py"
SERVER, CLIENT = 2, 3
"""Kinds of spans: of the called workload's proxy, and of the caller's."""
SEND = PROGRAMS / "send_requests.py"
STEADY = Path(__file__).parents[1] / "revisions" / "programs" / "steady.py"
SERIES = re.compile(r"([a-z_]+)\{(.*)\} (\S+)")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
EDGE = ("reporter", "source_workload", "source_principal", "destination_workload", "destination_principal")
Edges = Counter[tuple[str, ...]]
STATS = "type.googleapis.com/envoy.extensions.access_loggers.stats.v3.Config"
MANAGER = "envoy.filters.network.http_connection_manager"
Telemetry = create_namespaced_resource("telemetry.istio.io", "v1", "Telemetry", "telemetries")
Gateway = create_namespaced_resource("networking.istio.io", "v1", "Gateway", "gateways")
VirtualService = create_namespaced_resource("networking.istio.io", "v1", "VirtualService", "virtualservices")
EnvoyFilter = create_namespaced_resource("networking.istio.io", "v1alpha3", "EnvoyFilter", "envoyfilters")
FORGED_CODE, FOREIGN_CODE = "298", "299"


@dataclass(frozen=True)
class Observed:
    """The deployed mesh, with its collector."""

    deployed: Deployed
    pods: Mapping[str, PodModel]
    with_kiali: Callable[[dict[str, Any]], Any]
    """Updates the stack with another `kiali`."""

    def principal(self, name: str) -> str:
        namespace = self.deployed.mesh.namespace if name == GATEWAY else NAMESPACE
        return f"spiffe://{self.deployed.mesh.trust_domain}/ns/{namespace}/sa/{name}"

    @cached_property
    def target(self) -> tuple[str, str, str]:
        """Address, port and host of the called workload."""
        service = self.deployed.data_plane.get(Service, workloads.CALLED, namespace=NAMESPACE)
        assert service.spec is not None
        host = f"{workloads.CALLED}.{NAMESPACE}.svc.cluster.local:{workloads.PORT}"
        return str(service.spec.clusterIP), str(workloads.PORT), host

    def from_pod(self, name: str, program: Path, *arguments: str) -> list[str]:
        """The command of a program in a caller's network, behind its proxy."""
        agent = self.deployed.program_of(self.pods[name], AGENT)
        return [*self.deployed.enter(agent), sys.executable, "-I", str(program), *self.target, *arguments]

    def send(self, name: str, **plan: int) -> None:
        """Requests of a caller, all of them answered as requested."""
        numbers = {status.strip("_"): number for status, number in plan.items()}
        command = self.from_pod(name, SEND, *(f"{status}={number}" for status, number in numbers.items()))
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == numbers

    def edge(self, caller: str, called_by: str | None = None, **counts: int) -> Edges:
        """Expected reports of both ends. called_by: the workload's name by the caller's own proxy."""
        found = Edges()
        ends = {"source": called_by or caller, "destination": "unknown"}  # the plain Envoy exchanges no metadata
        for reporter, workload in ends.items():
            for status, number in counts.items():
                destination = (workloads.CALLED, self.principal(workloads.CALLED))
                found[reporter, workload, self.principal(caller), *destination, status.strip("_")] = number
        return found

    def send_from_outside(self, **plan: int) -> None:
        """Requests through the gateway, from a network without a mesh; the first once it has its route."""
        service = self.deployed.data_plane.get(Service, GATEWAY, namespace=self.deployed.mesh.namespace)
        assert service.status is not None
        assert service.status.loadBalancer is not None
        (ingress,) = service.status.loadBalancer.ingress or []
        first, *others = [name.strip("_") for name, number in plan.items() for _ in range(number)]

        def answer(status: str) -> None:
            url, network = f"http://{ingress.ip}/status/{status}", self.deployed.sandbox.control_plane.name
            if (found := self.deployed.in_network(network, "http_get.py", url))["status"] != int(status):
                raise NotObserved(f"the gateway answered {found['status']}: {found['body'][:120]}")

        # Until then the gateway answers by itself, which is no request to the workload.
        eventually(lambda: answer(first), seconds=60)
        for status in others:
            answer(status)

    def requests_in_logs(self, *pods: PodModel) -> list[str]:
        """Lines of the access logs of these Pods' proxies."""
        kubectl = Kubectl.of(self.deployed.sandbox.data_plane, self.deployed.tools)
        found = []
        for pod in pods:
            assert pod.metadata is not None
            text = kubectl("logs", str(pod.metadata.name), f"-n={pod.metadata.namespace}", f"-c={workloads.PROXY}")
            found += [line for line in text.splitlines() if '"GET /' in line]
        return found

    def collector(self) -> Process:
        """The running program of the collector."""
        pods = list(self.deployed.control_plane.list(Pod, namespace="obs-demo"))
        for pod in pods:
            assert pod.metadata is not None
            if workloads.is_ready(pod) and (found := self._programs(str(pod.metadata.name))):
                return found[0]
        raise NotObserved(f"no ready collector among {len(pods)} Pods of obs-demo")

    def _programs(self, pod: str) -> list[Process]:
        return find("python3", {"HOSTNAME": pod, "PYTHONPATH": "/opt/packages"}, self.deployed.read)

    def kill(self, process: Process) -> None:
        """Ends a process at once, which may be of another user."""
        program = f"import os, signal; os.kill({process.pid}, signal.SIGKILL)"
        subprocess.run([*self.deployed.enter(process), sys.executable, "-I", "-c", program], check=True, timeout=60)

    def samples(self) -> list[tuple[str, dict[str, str], float]]:
        """All of the collector's page. Raises NotObserved."""
        url = "http://127.0.0.1:15090/metrics"
        page = self.deployed.in_network_of(self.collector(), "http_get.py", url)
        assert page["status"] == 200
        found = [match for line in page["body"].splitlines() if (match := SERIES.fullmatch(line))]
        return [(one[1], dict(LABEL.findall(one[2])), float(one[3])) for one in found]

    def prometheus(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Prometheus' answer to an instant query: labels and value of each series."""
        pods = list(self.deployed.control_plane.list(Pod, namespace="obs-demo", labels={PROMETHEUS_LABEL: PROMETHEUS}))
        names = [str(pod.metadata.name) for pod in pods if pod.metadata and workloads.is_ready(pod)]
        found = find(PROMETHEUS, {"HOSTNAME": names[0]}, self.deployed.read) if names else []
        if not found:
            raise NotObserved(f"no ready Prometheus among {len(pods)} Pods")
        url = f"http://127.0.0.1:9090/api/v1/query?{urlencode({'query': query})}"
        page = self.deployed.in_network_of(found[0], "http_get.py", url)
        assert page["status"] == 200, page
        answer = json.loads(page["body"])
        return [(one["metric"], float(one["value"][1])) for one in answer["data"]["result"]]

    def own(self, metric: str, **labels: str) -> float:
        """A sum of the collector's own metrics."""
        name = f"hosted_mesh_collector_{metric}"
        return sum(value for one, found, value in self.samples() if one == name and labels.items() <= found.items())

    def spans(self) -> list[tuple[str, int, str, str]]:
        """Spans of this file's namespace at the receiver: service, kind, status, trace."""
        pods = list(self.deployed.control_plane.list(Pod, namespace=TRACING))
        names = [str(pod.metadata.name) for pod in pods if pod.metadata and workloads.is_ready(pod)]
        found = [each for name in names for each in self._programs(name)]
        if not found:
            raise NotObserved(f"no ready receiver of spans among {len(pods)} Pods")
        page = self.deployed.in_network_of(found[0], "http_get.py", "http://127.0.0.1:4318/")
        return [
            (resource["service.name"], kind, status, trace)
            for resource, kind, status, trace in json.loads(page["body"])
            if resource["service.namespace"] == NAMESPACE and resource["hosted_mesh.tenant"] == self.deployed.mesh.name
        ]

    def edges(self) -> Edges:
        """Requests from and to the workloads of this file, by edge and code."""
        found = Edges()
        for metric, labels, value in self.samples():
            ends = {labels.get("source_workload_namespace"), labels.get("destination_workload_namespace")}
            if metric == TOTAL and NAMESPACE in ends:
                assert value == int(value)
                found[(*(labels[name] for name in EDGE), labels["response_code"])] += int(value)
        return found

    def settles(self, expected: Edges, *, seconds: float = 60) -> None:
        """Waits until the collector has exactly these numbers, and has them still after all proxies pushed again."""

        def equal() -> float:
            if (found := self.edges()) != expected:
                raise NotObserved(f"too many: {found - expected}, missing: {expected - found}")
            return self.own("messages_total")

        seen = eventually(equal, seconds=seconds)

        def pushed_twice() -> None:
            # Two messages of each stream: one could have been on its way.
            if (now := self.own("messages_total")) < seen + 2 * self.own("streams"):
                raise NotObserved(f"the collector has {now - seen} more messages")

        eventually(pushed_twice, seconds=60)
        equal()


def document(mesh: str) -> dict[str, Any]:
    collector = {
        "placement": "control-plane",
        "host": HOST,
        "image": "hosted-mesh/metrics-collector:1",
        "exposure": {"sourceRanges": ["10.90.0.20/32"], "publishName": True},
    }
    prometheus = {"placement": "control-plane", "scrapeInterval": "2s"}
    return {
        "mesh": mesh,
        "collector": collector,
        "network": mesh,
        "prometheus": prometheus,
        "kiali": {"readers": ["login"], "apiServer": API_SERVER},
        "traces": {"to": f"receiver.{TRACING}.svc:4317", "plaintext": True, "samplingPercent": 100},
        "accessLogs": "gateways",
    }


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@pytest.fixture(scope="module")
def pushes(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """The stack `observability` beside the sandbox's own, and the address in the mesh document; both undone.

    Its update with another `kiali`.
    """
    sandbox, tools = deployed.sandbox, deployed.tools
    folder = tmp_path_factory.mktemp("metrics")
    deployment.engine(sandbox, tools)
    committed = deployment.config_file(sandbox.state)
    config = copy.deepcopy(yaml.safe_load(committed.read_text()))
    mesh = config["config"]["hosted-mesh:mesh"]
    mesh["revisions"][0]["proxies"] = {"metrics": {"host": HOST}}
    mesh["memberships"][0]["gateways"] = [{"name": GATEWAY, "chartValues": {"readinessProbe": PROBE}}]
    changed = folder / "stack.yaml"
    changed.write_text(yaml.safe_dump(config))
    secret = deployed.control_plane.get(Secret, "cacerts", namespace=deployed.mesh.namespace)
    files = {name: base64.b64decode(value).decode() for name, value in (secret.data or {}).items()}
    own: dict[str, Any] = {
        "observability": document(deployed.mesh.name),
        "controlPlane": {"kubeconfig": str(sandbox.kubeconfig), "context": sandbox.control_plane.name},
        "dataPlane": {"kubeconfig": str(sandbox.kubeconfig), "context": sandbox.data_plane.name},
    }
    project = Project.make(folder / "stacks", sandbox, tools)

    def stack_with(**changed: Any) -> Stack:
        observability = {**own, "observability": {**own["observability"], **changed}}
        config = {"stack": "observability", "observability": observability, "cacerts": files}
        return project.stack("observability", config)

    stack = stack_with()
    try:
        stack.up()
        assert stack.outputs() == {"push_address": f"{HOST}:15018", "debug_address": "", "namespace": "obs-demo"}
        update(sandbox, tools, changed)
        yield lambda kiali: stack_with(kiali=kiali).up()
    finally:
        update(sandbox, tools, committed)
        stack.destroy()


@pytest.fixture(scope="module")
def observed(deployed: Deployed, pushes: Callable[[dict[str, Any]], Any]) -> Iterator[Observed]:
    """A caller, a thief with a forging proxy, and the called workload, in a namespace of their own."""

    def resolves() -> None:
        if not addresses(deployed.sandbox, deployed.sandbox.data_plane.name, HOST):
            raise NotObserved(f"{HOST} has no address")

    eventually(resolves, seconds=60)
    ports = {name: {"name": "http", "port": workloads.PORT} for name in (*CALLERS, workloads.CALLED)}
    made = list(workloads.manifests(deployed.mesh.injection_labels, ports, namespace=NAMESPACE))
    for manifest in made:
        if manifest["kind"] == "Deployment" and manifest["metadata"]["name"] == THIEF:
            manifest["spec"]["template"]["metadata"]["annotations"] = forged_metadata()
    try:
        namespace, *others = map(workloads.parse, made)
        for one in (namespace, forging_filter(deployed), *route(deployed), *others):
            eventually(lambda: apply(deployed.data_plane, one), seconds=60)  # noqa: B023 (called at once)
        pods = {name: eventually(lambda: ready(deployed, name), seconds=90) for name in ports}  # noqa: B023
        # Its first Pod may have the bootstrap of before the update.
        kubectl = Kubectl.of(deployed.sandbox.data_plane, deployed.tools)
        there = (f"deployment/{GATEWAY}", f"--namespace={deployed.mesh.namespace}")
        kubectl("rollout", "restart", *there)
        kubectl("rollout", "status", *there, "--timeout=120s")
        yield Observed(deployed, pods, pushes)
    finally:
        deployed.data_plane.delete(Namespace, NAMESPACE)
        deployed.data_plane.delete(Gateway, GATEWAY, namespace=deployed.mesh.namespace)


def forged_metadata() -> dict[str, str]:
    """The thief's proxy calls itself by the other workload's name."""
    proxy = {"proxyMetadata": {"ISTIO_META_WORKLOAD_NAME": workloads.CALLED}}
    return {"proxy.istio.io/config": json.dumps(proxy)}


def forging_filter(deployed: Deployed) -> Any:
    """Two more loggers of the thief's proxy, which an administrator of the data plane may add.

    One reports each request as received by the called workload, from the other caller. One reports in the name of
    another tenant, cluster and network.
    """
    domain = deployed.mesh.trust_domain
    of = {name: f"spiffe://{domain}/ns/{NAMESPACE}/sa/{name}" for name in (*CALLERS, workloads.CALLED)}
    received = {
        "reporter": "destination",
        "source_principal": of[workloads.CALLER],
        "destination_workload": workloads.CALLED,
        "destination_principal": of[workloads.CALLED],
        "response_code": FORGED_CODE,
    }
    foreign = {
        "reporter": "source",
        "source_workload": THIEF,
        "source_principal": of[THIEF],
        "response_code": FOREIGN_CODE,
        "response_flags": "-",
        **dict.fromkeys(("tenant", "cluster", "network", "pod"), "other"),
    }
    loggers = [logger(f"forged-{position}", tags) for position, tags in enumerate((received, foreign))]
    kind = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    patch = {
        "applyTo": "NETWORK_FILTER",
        "match": {"context": "SIDECAR_OUTBOUND", "listener": {"filterChain": {"filter": {"name": MANAGER}}}},
        "patch": {"operation": "MERGE", "value": {"typed_config": {"@type": kind, "access_log": loggers}}},
    }
    spec = {"workloadSelector": {"labels": {"app": THIEF}}, "configPatches": [patch]}
    return EnvoyFilter.from_dict({"metadata": {"name": "forged", "namespace": NAMESPACE}, "spec": spec})


def route(deployed: Deployed) -> Iterator[Any]:
    """Everything that arrives at the gateway goes to the called workload."""
    metadata = {"name": GATEWAY, "namespace": NAMESPACE}
    server = {"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]}
    there = {**metadata, "namespace": deployed.mesh.namespace}
    yield Gateway.from_dict({"metadata": there, "spec": {"selector": {"istio": GATEWAY}, "servers": [server]}})
    host = f"{workloads.CALLED}.{NAMESPACE}.svc.cluster.local"
    backend = {"destination": {"host": host, "port": {"number": workloads.PORT}}}
    rules = {"hosts": ["*"], "gateways": [f"{there['namespace']}/{GATEWAY}"], "http": [{"route": [backend]}]}
    yield VirtualService.from_dict({"metadata": metadata, "spec": rules})


def logger(name: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """An access logger that counts each request with constant tags."""
    stat = {"name": TOTAL, "tags": [{"name": tag, "value_format": value} for tag, value in tags.items()]}
    config = {"@type": STATS, "stat_prefix": "istiocustom", "counters": [{"stat": stat, "value_fixed": 1}]}
    return {"name": name, "typed_config": config}


def ready(deployed: Deployed, name: str) -> PodModel:
    found = list(deployed.data_plane.list(Pod, namespace=NAMESPACE, labels={"app": name}))
    for pod in found:
        is_ending = pod.metadata is not None and pod.metadata.deletionTimestamp is not None
        if workloads.has_proxy(pod) and workloads.is_ready(pod) and not is_ending:
            return require_push(deployed, pod)
    raise NotObserved(f"{name} is not ready: {[one.status and one.status.containerStatuses for one in found]}")


def labels_of(samples: list[tuple[str, dict[str, str], float]], name: str) -> set[str]:
    return {labels[name] for metric, labels, _ in samples if metric == TOTAL}


def test_kialis_graph_equals_the_requests(observed: Observed) -> None:
    """The first test of the file: the graph of a minute has this traffic alone."""
    kiali = Kiali(observed.deployed, "obs-demo")
    # Twice the same: Prometheus counts an increase from a series' first sample on, and extrapolates by its share.
    plan = {"_200": 91, "_404": 4, "_500": 5}
    before = observed.edges()
    observed.send(workloads.CALLER, **plan)
    # Proxies that have just started may push their first message later.
    observed.settles(before + observed.edge(workloads.CALLER, **plan), seconds=120)
    eventually(lambda: has_data(observed, f'{TOTAL}{{response_code="500"}}'), seconds=30)
    observed.send(workloads.CALLER, **plan)
    graph = has_graph(observed, kiali, {"200": 91.0, "404": 4.0, "500": 5.0})
    edge = (workloads.CALLER, workloads.CALLED)
    assert graph.nodes == {(observed.deployed.mesh.name, NAMESPACE, name) for name in edge}
    assert list(graph.edges) == [edge]
    assert graph.errors == {edge: 9.0}
    # All of them are in the window, which is a minute, or the namespace's age. Prometheus extrapolates to its ends.
    assert graph.rates[edge] > 0.95 * 100 / 60
    found = {(one["cluster"], one["name"]) for one in kiali.get("namespaces")}
    assert found >= {("control-plane", "obs-demo"), (observed.deployed.mesh.name, NAMESPACE)}


def has_graph(observed: Observed, kiali: Kiali, percentages: dict[str, float]) -> Graph:
    """The graph, once the edge of caller and called workload has these percentages by code."""

    def equal() -> Graph:
        found = kiali.graph(NAMESPACE)
        if found.edges.get((workloads.CALLER, workloads.CALLED)) != percentages:
            raise NotObserved(str(found))
        return found

    return eventually(equal, seconds=60)


def test_numbers_equal_the_requests_by_edge_and_code(observed: Observed) -> None:
    before = observed.edges()
    observed.send(workloads.CALLER, _200=17, _404=5, _500=3)
    observed.settles(before + observed.edge(workloads.CALLER, _200=17, _404=5, _500=3))


def test_gateways_are_counted_too_and_alone_write_access_logs(observed: Observed) -> None:
    before, deployed = observed.edges(), observed.deployed
    observed.send_from_outside(_202=1, _404=3)
    observed.settles(before + observed.edge(GATEWAY, _202=1, _404=3))
    found = deployed.data_plane.list(Pod, namespace=deployed.mesh.namespace, labels={"app": GATEWAY})
    gateways = [pod for pod in found if pod.metadata and pod.metadata.deletionTimestamp is None]

    def written() -> None:
        found = observed.requests_in_logs(*gateways)
        if len([line for line in found if "/status/404" in line and " 404 " in line]) != 3:
            raise NotObserved(f"the gateway's log has {found}")

    eventually(written, seconds=60)
    assert observed.requests_in_logs(*observed.pods.values()) == []


def test_a_forging_proxy_counts_for_its_own_identity_alone(observed: Observed) -> None:
    """Its own report has the forged name of a workload, but its certificate's principal."""
    before = observed.edges()
    observed.send(THIEF, _200=4)
    foreign = ("source", THIEF, observed.principal(THIEF), "unknown", "unknown", FOREIGN_CODE)
    own = observed.edge(THIEF, called_by=workloads.CALLED, _200=4)
    observed.settles(before + own + Edges({foreign: 4}))
    assert observed.own("rejected_series_total", reason="forged") == 1
    samples, mesh = observed.samples(), observed.deployed.mesh.name
    assert [labels_of(samples, name) for name in ("tenant", "cluster", "network")] == [{mesh}] * 3
    assert "other" not in labels_of(samples, "pod")


def test_prometheus_has_the_numbers_and_each_panel_has_data(observed: Observed) -> None:
    before = observed.edges()
    observed.send(workloads.CALLER, _200=6, _500=2)
    expected = before + observed.edge(workloads.CALLER, _200=6, _500=2)
    observed.settles(expected)
    query = f'sum by ({", ".join((*EDGE, "response_code"))}) ({TOTAL}{{tenant="demo"}})'

    def equal() -> None:
        found = Edges()
        for labels, value in observed.prometheus(query):
            edge = (*(labels.get(name, "") for name in EDGE), labels["response_code"])
            if edge in expected:
                found[edge] = int(value)
        if found != expected:
            raise NotObserved(f"too many: {found - expected}, missing: {expected - found}")

    eventually(equal, seconds=60)
    for panel in dashboards.PANELS:
        for expression, _ in panel.queries:
            eventually(lambda: has_data(observed, expression.replace("$mesh", "demo")), seconds=60)  # noqa: B023


def has_data(observed: Observed, query: str) -> None:
    if not any(value == value for _, value in observed.prometheus(query)):
        raise NotObserved(f"Prometheus has nothing for {query}")


def test_requests_go_on_while_the_collector_is_killed_and_numbers_continue(observed: Observed, tmp_path: Path) -> None:
    before, file = observed.edges(), tmp_path / "counts.json"
    with subprocess.Popen(
        observed.from_pod(workloads.CALLER, STEADY, "new", str(file)), stdin=subprocess.PIPE
    ) as steady:
        try:
            wait_for(lambda: file.exists() and json.loads(file.read_text())["sent"] > 20, "requests")
            old = observed.collector()
            observed.kill(old)
            killed = time.monotonic()
            wait_for(lambda: restarted(observed, old), "another collector")
            eventually(lambda: has_numbers(observed), seconds=60)
            gap = time.monotonic() - killed
        finally:
            steady.communicate(timeout=60)
    counts = json.loads(file.read_text())
    assert counts["lost"] == []
    assert gap < 60
    observed.settles(before + observed.edge(workloads.CALLER, _200=counts["sent"]))


def restarted(observed: Observed, old: Process) -> bool:
    try:
        return observed.collector().pid != old.pid
    except NotObserved:
        return False


def has_numbers(observed: Observed) -> None:
    if not observed.edges():
        raise NotObserved("the collector has no requests")


def wait_for(look: Callable[[], bool], what: str) -> None:
    def seen() -> None:
        if not look():
            raise NotObserved(what)

    eventually(seen, seconds=60)


@pytest.fixture(scope="module")
def receiver(observed: Observed) -> Iterator[Callable[[int], None]]:
    """Starts and ends the receiver of spans on the control plane, which keeps them in memory."""
    deployed = observed.deployed
    cluster = deployed.control_plane
    metadata = {"name": "receiver", "namespace": TRACING}
    files = {"receive_spans.py": RECEIVE.read_text()}
    ports = [{"name": "grpc", "port": 4317, "targetPort": 4317}]
    made = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TRACING}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": "receiver"}, "ports": ports},
        },
    ]
    container = {
        "name": "receiver",
        "image": "hosted-mesh/metrics-collector:1",
        "command": ["python3", "/etc/receiver/receive_spans.py"],
        "workingDir": "/opt/hosted-mesh",
        "readinessProbe": {"httpGet": {"path": "/", "port": 4318}, "periodSeconds": 1},
        "volumeMounts": [{"name": "program", "mountPath": "/etc/receiver"}],
    }
    pod = {"containers": [container], "volumes": [{"name": "program", "configMap": {"name": "receiver"}}]}

    def scale(replicas: int) -> None:
        template = {"metadata": {"labels": {"app": "receiver"}}, "spec": pod}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "receiver"}}, "template": template}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        cluster.apply(workloads.parse(deployment), force=True)

        def is_scaled() -> None:
            pods = list(cluster.list(Pod, namespace=TRACING))
            if len(pods) != replicas or not all(map(workloads.is_ready, pods)):
                raise NotObserved(f"{len(pods)} Pods of the receiver")

        eventually(is_scaled, seconds=60)

    for one in made:
        cluster.apply(workloads.parse(one), force=True)
    try:
        scale(1)
        yield scale
    finally:
        cluster.delete(Deployment, "receiver", namespace=TRACING)
        cluster.delete(Namespace, TRACING)


def spans_of(expected: Mapping[str, Mapping[int, int]], kind: int, mesh: str) -> Counter[tuple[str, int, str]]:
    """Expected spans: workload -> status -> number."""
    return Counter(
        {
            (f"{mesh}/{name}.{NAMESPACE}", kind, str(status)): number
            for name, numbers in expected.items()
            for status, number in numbers.items()
        }
    )


def has_spans(observed: Observed, expected: Counter[tuple[str, int, str]], before: int = 0) -> list[Any]:
    """All spans after the first ones, once they are these, and still are after the proxies' next interval."""

    def equal() -> list[Any]:
        found = observed.spans()[before:]
        counted = Counter((service, kind, status) for service, kind, status, _ in found)
        if counted != expected:
            raise NotObserved(f"too many: {counted - expected}, missing: {expected - counted}")
        return found

    eventually(equal, seconds=90)
    time.sleep(6)  # Envoy sends spans each five seconds
    return equal()


def test_spans_at_the_receiver_equal_the_requests(observed: Observed, receiver: Callable[[int], None]) -> None:
    mesh, before = observed.deployed.mesh.name, len(settled_spans(observed))
    plan = {200: 9, 404: 3, 500: 2}
    observed.send(workloads.CALLER, _200=9, _404=3, _500=2)
    expected = spans_of({workloads.CALLER: plan}, CLIENT, mesh) + spans_of({workloads.CALLED: plan}, SERVER, mesh)
    traces = Counter(trace for *_, trace in has_spans(observed, expected, before))
    # Both ends of each request are in one trace.
    assert sorted(traces.values()) == [2] * 14
    assert observed.own("rejected_spans_total") == observed.own("lost_spans_total") == 0


def settled_spans(observed: Observed) -> list[Any]:
    """The spans, once earlier tests' have arrived."""

    def same() -> list[Any]:
        found = observed.spans()
        time.sleep(6)
        if len(observed.spans()) != len(found) or observed.own("queued_span_bytes"):
            raise NotObserved("spans still arrive")
        return found

    return eventually(same, seconds=120)


def test_spans_with_a_forged_tenant_are_rejected(observed: Observed, receiver: Callable[[int], None]) -> None:
    """By a Telemetry object of the thief's own: an administrator of the data plane may add it."""
    before, mesh = len(settled_spans(observed)), observed.deployed.mesh.name
    rejected = observed.own("rejected_spans_total", reason="forged")
    tags = {"hosted_mesh.tenant": {"literal": {"value": "other"}}}
    spec = {"selector": {"matchLabels": {"app": THIEF}}, "tracing": [{"customTags": tags}]}
    metadata = {"name": "forged", "namespace": NAMESPACE}
    apply(observed.deployed.data_plane, Telemetry.from_dict({"metadata": metadata, "spec": spec}))
    agent = observed.deployed.program_of(observed.pods[THIEF], AGENT)

    def configured() -> None:
        if "hosted_mesh.tenant" not in observed.deployed.of_proxy(agent, "/config_dump"):
            raise NotObserved("the thief's proxy has no forged tag")

    eventually(configured, seconds=60)
    observed.send(THIEF, _200=4)
    has_spans(observed, spans_of({workloads.CALLED: {200: 4}}, SERVER, mesh), before)
    assert observed.own("rejected_spans_total", reason="forged") == rejected + 4
    observed.deployed.data_plane.delete(Telemetry, "forged", namespace=NAMESPACE)


@pytest.mark.nightly
def test_while_the_receiver_is_away_requests_go_on_and_spans_wait(
    observed: Observed, receiver: Callable[[int], None]
) -> None:
    settled_spans(observed)
    receiver(0)
    observed.send(workloads.CALLER, _200=7)

    def waits() -> None:
        if not observed.own("queued_span_bytes"):
            raise NotObserved("no span waits")

    eventually(waits, seconds=60)
    receiver(1)
    mesh, plan = observed.deployed.mesh.name, {200: 7}
    expected = spans_of({workloads.CALLER: plan}, CLIENT, mesh) + spans_of({workloads.CALLED: plan}, SERVER, mesh)
    has_spans(observed, expected)
    assert observed.own("lost_spans_total") == 0


def test_the_users_view_takes_a_token_of_their_cluster_and_needs_no_right_on_the_control_plane(
    observed: Observed,
) -> None:
    """The last test of the file: it replaces the provider's view."""
    deployed, mesh = observed.deployed, observed.deployed.mesh.name
    observed.with_kiali({"login": "token", "apiServer": API_SERVER})
    kubectl = Kubectl.of(deployed.sandbox.control_plane, deployed.tools)
    account = "--as=system:serviceaccount:obs-demo:kiali"
    assert kubectl.run("auth", "can-i", "list", "pods", "--all-namespaces", account).stdout.strip() == "no"
    tokens = {
        one.name: token_in(observed, one) for one in (deployed.sandbox.control_plane, deployed.sandbox.data_plane)
    }
    users = Kiali(deployed, "obs-demo", tokens[deployed.sandbox.data_plane.name])
    eventually(users.process, seconds=90)
    for other in ("", tokens[deployed.sandbox.control_plane.name], "forged"):
        with pytest.raises(RefusedError) as refused:
            replace(users, token=other).get("namespaces")
        assert refused.value.status == 401
    namespaces = users.get("namespaces")
    assert {one["cluster"] for one in namespaces} == {mesh}
    assert NAMESPACE in {one["name"] for one in namespaces}
    observed.send(workloads.CALLER, _200=10)
    wanted = (workloads.CALLER, workloads.CALLED)

    def shown() -> None:
        if wanted not in (found := users.graph(NAMESPACE)).edges:  # earlier tests' edges may be in its window
            raise NotObserved(str(found))

    eventually(shown, seconds=60)


def token_in(observed: Observed, cluster: Cluster) -> str:
    """Of an account that may view the cluster."""
    kubectl = Kubectl.of(cluster, observed.deployed.tools)
    name = "kiali-user"
    kubectl("create", "serviceaccount", name, "--namespace=default")
    kubectl("create", "clusterrolebinding", name, "--clusterrole=view", f"--serviceaccount=default:{name}")
    return str(kubectl("create", "token", name, "--namespace=default")).strip()
