"""`source: access-log` with a live istiod: numbers and spans equal the requests, with three objects and no program."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Namespace, Pod

from sandbox.clusters import Sandbox
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, differences, versions
from tests.live.mesh.observed import Observed
from tests.live.mesh.pushing import HOST, apply_all, document, has_address, pushing, ready
from tests.live.mesh.span_receiver import CLIENT, SERVER, TRACES, receiver_of_spans

pytestmark = pytest.mark.nightly  # test_pushed_metrics.py has spans, tests/engine access logs of Envoy with each change
NAMESPACE = "logged"
SEND = Path(__file__).parent / "programs" / "send_traced.py"
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
def observed(deployed: Deployed, before: Contents, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """A caller and a called workload, whose proxies send access logs and spans."""
    stack = document(deployed.mesh.name, source="access-log", traces=TRACES)
    ports = {name: {"name": "http", "port": workloads.PORT} for name in (workloads.CALLER, workloads.CALLED)}
    with receiver_of_spans(deployed), pushing(deployed, tmp_path_factory.mktemp("logs"), stack):
        eventually(lambda: has_address(deployed), seconds=60)
        made = workloads.manifests(deployed.mesh.injection_labels, ports, namespace=NAMESPACE)
        try:
            apply_all(deployed, *map(workloads.parse, made))
            pods = {name: eventually(lambda: ready(deployed, NAMESPACE, name), seconds=90) for name in ports}  # noqa: B023
            for pod in pods.values():
                eventually(lambda: sends_logs_and_spans(deployed, pod), seconds=60)  # noqa: B023
            yield Observed(deployed, NAMESPACE, pods)
        finally:
            deployed.data_plane.delete(Namespace, NAMESPACE)


def sends_logs_and_spans(deployed: Deployed, pod: PodModel) -> None:
    """Raises NotObserved unless the proxy's listeners have the collector as receiver of both."""
    found = deployed.of_proxy(deployed.program_of(pod, AGENT), "/config_dump?resource=dynamic_listeners")
    for part in ("envoy.access_loggers.open_telemetry", "envoy.tracers.opentelemetry", f"outbound|15018||{HOST}"):
        if part not in found:
            raise NotObserved(f"the proxy of {pod.metadata and pod.metadata.name} has no {part}")


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
    assert {labels["pod"] for _, labels, _ in durations} == {one.metadata.name for one in observed.pods.values()}
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
