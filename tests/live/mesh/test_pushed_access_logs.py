"""`source: access-log` with a live istiod: numbers and spans equal the requests, with three objects and no program."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from lightkube.resources.core_v1 import Pod, Service

from sandbox.clusters import Sandbox
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, differences, versions
from tests.live.mesh.observed import EDGE, GATEWAY, TOTAL, Edges, Observed
from tests.live.mesh.pushing import LOGS, SPANS, Gateway, VirtualService, apply_all, document, pushing, sending
from tests.live.mesh.span_receiver import CLIENT, SERVER, TRACES, receiver_of_spans
from tests.support.gateways import PROBE
from tests.support.updates import update

pytestmark = pytest.mark.nightly  # test_pushed_metrics.py has spans, tests/engine access logs of Envoy with each change
NAMESPACE = "logged"
SEND = Path(__file__).parent / "programs" / "send_traced.py"
EXCHANGE = Path(__file__).parent / "programs" / "exchange_bytes.py"
LEDGER = "ledger"
"""A called workload that is TCP for the mesh."""
LEDGER_PORT, GATEWAY_PORT = 5432, 443
CLOSED, SENT, RECEIVED = (f"istio_tcp_{name}_total" for name in ("connections_closed", "sent_bytes", "received_bytes"))
INTERVAL = 6.0
"""Seconds: Envoy sends spans each five, and access logs each second."""
SAMPLED, UNSAMPLED = "01", "00"
"""Flags of `traceparent`."""
Plan = tuple[int, Mapping[str, str]]
"""Status and headers of a request."""
EXPECTED = re.compile(
    # The test's own; an address for each of its Services; istiods' elections, which they renew.
    rf"\S+ {NAMESPACE}/.*|Namespace\.core /{NAMESPACE}|IPAddress\.networking\.k8s\.io /.*|ConfigMap\.core \S+-election"
)
INJECTED = ("app", workloads.PROXY, "istio-init")
"""Containers of a Pod, as without a collector."""


@dataclass(frozen=True)
class Contents:
    """A data plane before the collector: each object, and the Pods."""

    objects: Mapping[str, tuple[str, str]]
    pods: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, deployed: Deployed) -> Contents:
        pods = (pod.metadata for pod in deployed.data_plane.list(Pod, namespace="*"))
        return cls(
            versions(Api(deployed.sandbox.data_plane, deployed.tools)),
            frozenset((str(one.namespace), str(one.name)) for one in pods if one),
        )


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@pytest.fixture(scope="module")
def before(deployed: Deployed) -> Contents:
    return Contents.of(deployed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def observed(deployed: Deployed, before: Contents, folder: Path) -> Iterator[Observed]:
    """A caller and two called workloads, whose proxies send access logs and spans."""
    stack = document(deployed.mesh.name, source="access-log", traces=TRACES)
    ports = {name: {"name": "http", "port": workloads.PORT} for name in (workloads.CALLER, workloads.CALLED)}
    ports[LEDGER] = {"name": "tcp", "port": LEDGER_PORT, "targetPort": workloads.PORT}
    with (
        receiver_of_spans(deployed),
        pushing(deployed, folder, stack),
        sending(deployed, NAMESPACE, ports, LOGS, SPANS) as found,
    ):
        yield found


def test_numbers_and_spans_equal_the_requests_and_spans_have_their_traces(observed: Observed) -> None:
    sampled = dict(zip(traces(14), [200] * 9 + [404] * 3 + [500] * 2, strict=True))
    plans = [traced(status, trace) for trace, status in sampled.items()]
    plans += [traced(200, trace, UNSAMPLED) for trace in traces(4)]
    # Istio's provider follows W3C's header alone: these requests begin traces.
    foreign = traces(3)
    plans += [(202, {"x-b3-traceid": one, "x-b3-spanid": one[:16], "x-b3-sampled": "1"}) for one in foreign]
    requests(observed, plans)

    has_spans(observed, sampled, begun={202: len(foreign)})
    assert not {trace for *_, trace in observed.spans()} & set(foreign)
    edges = observed.edge(workloads.CALLER, _200=13, _202=3, _404=3, _500=2)
    eventually(lambda: observed.require(edges), seconds=30)
    durations = [one for one in observed.samples() if one[0] == "istio_request_duration_milliseconds_count"]
    assert sum(value for _, _, value in durations) == edges.total()
    ends = (observed.pods[name].metadata for name in (workloads.CALLER, workloads.CALLED))
    assert {labels["pod"] for _, labels, _ in durations} == {one.name for one in ends if one}
    assert observed.own("received_spans_total") == observed.own("sent_spans_total") == 2 * (14 + 3)
    for refused in ("rejected_spans_total", "lost_spans_total", "rejected_series_total", "refused_streams_total"):
        assert observed.own(refused) == 0, refused


def traces(number: int) -> list[str]:
    """Trace ids."""
    return [secrets.token_hex(16) for _ in range(number)]


def traced(status: int, trace: str, flag: str = SAMPLED) -> Plan:
    """A request of a trace that began before the mesh."""
    return status, {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-{flag}"}


def requests(observed: Observed, plans: Sequence[Plan]) -> None:
    """Requests of the caller, all of them answered as requested."""
    command = observed.from_pod(workloads.CALLER, SEND, json.dumps(plans))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [status for status, _ in plans]


def has_spans(observed: Observed, sampled: Mapping[str, int], begun: Mapping[int, int]) -> None:
    """The receiver has both ends of each request, and no more after the proxies' next interval.

    sampled: status by trace. begun: numbers by status of requests whose trace begins at the caller's proxy.
    """
    expected = Counter[tuple[str, int, str, str]]()
    for name, kind in ((workloads.CALLER, CLIENT), (workloads.CALLED, SERVER)):
        service = f"{observed.deployed.mesh.name}/{name}.{NAMESPACE}"
        expected.update((service, kind, str(status), trace) for trace, status in sampled.items())
        expected.update({(service, kind, str(status), ""): number for status, number in begun.items()})

    def equal() -> None:
        spans = observed.spans()
        found = Counter(
            (service, kind, status, trace if trace in sampled else "") for service, kind, status, trace in spans
        )
        if found != expected:
            raise NotObserved(f"too many: {found - expected}, missing: {expected - found}")
        assert set(Counter(trace for *_, trace in spans).values()) == {2}

    eventually(equal, seconds=60)
    time.sleep(INTERVAL)
    equal()


def test_nothing_else_is_in_the_data_planes_cluster(observed: Observed, before: Contents) -> None:
    """Three objects of Istio's in the mesh's namespace: no EnvoyFilter, no program, and no more containers."""
    deployed = observed.deployed
    after, mesh = Contents.of(deployed), deployed.mesh.namespace
    found = {key.partition(": ")[2]: how for key, how in differences(before.objects, after.objects).items()}
    assert {key: how for key, how in found.items() if not EXPECTED.fullmatch(key)} == {
        f"Telemetry.telemetry.istio.io {mesh}/access-logs": "made",
        f"ServiceEntry.networking.istio.io {mesh}/metrics-collector": "made",
        f"DestinationRule.networking.istio.io {mesh}/metrics-collector": "made",
    }
    assert {pod for pod in after.pods if pod[0] != NAMESPACE} == before.pods
    for pod in observed.pods.values():
        assert pod.spec is not None
        names = [one.name for one in (*pod.spec.containers, *(pod.spec.initContainers or []))]
        assert sorted(names) == sorted(INJECTED)


@pytest.fixture(scope="module")
def gateway(observed: Observed, folder: Path) -> Iterator[None]:
    """An ingress gateway: HTTP to the called workload, TCP to the other one. `pushing` removes it."""
    deployed, mesh = observed.deployed, observed.deployed.mesh
    config = yaml.safe_load((folder / "stack.yaml").read_text())
    gateways = [{"name": GATEWAY, "chartValues": {"readinessProbe": PROBE}}]
    config["config"]["hosted-mesh:mesh"]["memberships"][0]["gateways"] = gateways
    changed = folder / "with-gateway.yaml"
    changed.write_text(yaml.safe_dump(config))
    update(deployed.sandbox, deployed.tools, changed)
    servers = [
        {"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]},
        {"port": {"number": GATEWAY_PORT, "name": "tcp", "protocol": "TCP"}, "hosts": ["*"]},
    ]
    ways = {
        "http": [{"match": [{"uri": {"prefix": "/status/"}}], **to(workloads.CALLED, workloads.PORT)}],
        "tcp": [{"match": [{"port": GATEWAY_PORT}], **to(LEDGER, LEDGER_PORT)}],
    }
    there = {"name": GATEWAY, "namespace": mesh.namespace}
    rules = {"hosts": ["*"], "gateways": [f"{mesh.namespace}/{GATEWAY}"], **ways}
    metadata = {"name": GATEWAY, "namespace": NAMESPACE}
    apply_all(
        deployed,
        Gateway.from_dict({"metadata": there, "spec": {"selector": {"istio": GATEWAY}, "servers": servers}}),
        VirtualService.from_dict({"metadata": metadata, "spec": rules}),
    )
    yield
    deployed.data_plane.delete(Gateway, GATEWAY, namespace=mesh.namespace)


def to(workload: str, port: int) -> dict[str, object]:
    """A route of a VirtualService."""
    return {"route": [{"destination": {"host": f"{workload}.{NAMESPACE}.svc.cluster.local", "port": {"number": port}}}]}


def stays(observed: Observed, counter: str, expected: Edges) -> None:
    """The collector has these numbers, and still has them after the proxies' next interval."""
    eventually(lambda: observed.require(expected, counter), seconds=60)
    time.sleep(3)
    observed.require(expected, counter)


def exchange(observed: Observed, sizes: Sequence[int], held: int = 0) -> list[str]:
    """The command of a caller's connections to the TCP workload."""
    deployed = observed.deployed
    service = deployed.data_plane.get(Service, LEDGER, namespace=NAMESPACE)
    assert service.spec is not None
    enter = deployed.enter(deployed.program_of(observed.pods[workloads.CALLER], AGENT))
    there = (str(service.spec.clusterIP), str(LEDGER_PORT))
    return [*enter, sys.executable, "-I", str(EXCHANGE), *there, json.dumps(sizes), str(held)]


@pytest.mark.usefixtures("gateway")
def test_requests_through_a_gateway_are_counted_at_both_ends(observed: Observed) -> None:
    before = observed.edges()
    observed.send_from_outside(_202=2, _404=3, _500=1)
    stays(observed, TOTAL, before + observed.edge(GATEWAY, _202=2, _404=3, _500=1))
    # A request without a route is the gateway's own answer: no workload reports it.
    owned = own_answers(observed)
    url, network = f"http://{observed.gateway_address}/none", observed.deployed.sandbox.control_plane.name
    for _ in range(4):
        assert observed.deployed.in_network(network, "http_get.py", url)["status"] == 404

    def counted() -> None:
        if (found := own_answers(observed) - owned) != 4:
            raise NotObserved(f"{found} answers of the gateway's own")

    eventually(counted, seconds=60)
    observed.require(before + observed.edge(GATEWAY, _202=2, _404=3, _500=1))


def own_answers(observed: Observed) -> float:
    """Requests that the gateway rejected for want of a route."""
    expected = {
        "reporter": "source",
        "source_workload": GATEWAY,
        "source_principal": observed.principal(GATEWAY),
        "destination_service": "unknown",
        "response_code": "404",
        "response_flags": "NR",
    }
    samples = observed.samples()
    return sum(value for name, labels, value in samples if name == TOTAL and expected.items() <= labels.items())


def test_connections_and_bytes_equal_the_traffic_once_connections_are_closed(observed: Observed) -> None:
    """Between sidecars. A connection has one access log, at its end."""
    before = {name: observed.edges(name) for name in (CLOSED, SENT, RECEIVED)}
    sizes = (0, 1, 3_000, 200_000)
    with subprocess.Popen(
        exchange(observed, sizes, held=2), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "held\n"
        edge = observed.edge(workloads.CALLER, called=LEDGER, _0=len(sizes))
        stays(observed, CLOSED, before[CLOSED] + edge)
        answer, _ = running.communicate(timeout=60)
    sent, received = json.loads(answer)
    edge = observed.edge(workloads.CALLER, called=LEDGER, _0=len(sizes) + 2)
    stays(observed, CLOSED, before[CLOSED] + edge)
    for name, number in ((RECEIVED, sent), (SENT, received)):
        observed.require(before[name] + observed.edge(workloads.CALLER, called=LEDGER, _0=number), name)
    assert not [one for one in observed.samples() if one[0] == "istio_tcp_connections_opened_total"]


@pytest.mark.usefixtures("gateway")
def test_connections_through_a_gateway_are_counted_at_both_ends(observed: Observed) -> None:
    before = {name: observed.edges(name) for name in (CLOSED, SENT, RECEIVED)}
    sizes = (0, 500, 100_000)
    arguments = (observed.gateway_address, str(GATEWAY_PORT), json.dumps(sizes), "0")
    command = [sys.executable, "-I", str(EXCHANGE), *arguments]
    sandbox = observed.deployed.sandbox

    def sent_all() -> list[int]:
        done = sandbox.run(sandbox.control_plane.name, command, capture_output=True, timeout=60)
        if done.returncode:
            raise NotObserved(done.stderr.decode()[-300:])
        found: list[int] = json.loads(done.stdout)
        return found

    sent, received = eventually(sent_all, seconds=60)
    stays(observed, CLOSED, before[CLOSED] + observed.edge(GATEWAY, called=LEDGER, _0=len(sizes)))
    for name, number in ((RECEIVED, sent), (SENT, received)):
        observed.require(before[name] + observed.edge(GATEWAY, called=LEDGER, _0=number), name)


def test_a_connection_in_plain_text_counts_at_the_workload_that_rejects_it(observed: Observed) -> None:
    """Mutual TLS is STRICT. The access log has no cluster: without its direction it would be a call by the workload."""
    pod, network = observed.pods[workloads.CALLED], observed.deployed.sandbox.data_plane.name
    assert pod.status is not None
    with pytest.raises(NotObserved, match="ConnectionResetError"):
        observed.deployed.in_network(network, "http_get.py", f"http://{pod.status.podIP}:{workloads.PORT}/status/200")

    def counted() -> None:
        found = [(labels, value) for name, labels, value in observed.samples() if name == CLOSED]
        rejected = [(labels, value) for labels, value in found if labels["response_flags"] == "NR"]
        if not rejected:
            raise NotObserved(f"no rejected connection in {len(found)} series")
        ((labels, value),) = rejected
        edge = ("destination", "unknown", "unknown", workloads.CALLED, observed.principal(workloads.CALLED))
        assert (tuple(labels[name] for name in EDGE), value) == (edge, 1)

    eventually(counted, seconds=60)


def test_no_series_was_rejected(observed: Observed) -> None:
    """The last test of the file."""
    assert observed.own("rejected_series_total") == observed.own("refused_streams_total") == 0
