"""Receivers of the collector's spans, as Pods of the control plane, and the spans in them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Namespace, Pod, Service

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from tests.live.mesh.observed import TRACING, Observed
from tests.support.jaeger import Jaeger

RECEIVE = Path(__file__).parent / "programs" / "receive_spans.py"
OTLP_PORT, QUERY_PORT = 4317, 16686
TRACES = {"to": f"receiver.{TRACING}.svc:{OTLP_PORT}", "plaintext": True, "samplingPercent": 100}
"""`traces` of the observability document."""
SERVER, CLIENT = 2, 3
"""Kinds of spans: of the called workload's proxy, and of the caller's."""


@contextmanager
def receiver_of_spans(deployed: Deployed) -> Iterator[Callable[[int], None]]:
    """A receiver of the tests' own, which keeps spans in memory. Yields its start (1) and end (0)."""
    container = {
        "name": "receiver",
        "image": "hosted-mesh/metrics-collector:1",
        "command": ["python3", "/etc/receiver/receive_spans.py"],
        "workingDir": "/opt/hosted-mesh",
        "readinessProbe": {"httpGet": {"path": "/", "port": 4318}, "periodSeconds": 1},
    }
    with _receiver(deployed, container, files={"receive_spans.py": RECEIVE.read_text()}) as scale:
        yield scale


@contextmanager
def jaeger_of_spans(deployed: Deployed) -> Iterator[Jaeger]:
    """Jaeger's all-in-one program, which keeps spans in memory, at the same address."""
    container = {
        "name": "receiver",
        "image": "jaegertracing/all-in-one:1.62.0",
        # Without it Jaeger traces requests to itself.
        "env": [{"name": "OTEL_TRACES_SAMPLER", "value": "always_off"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 14269}, "periodSeconds": 1},
    }
    with _receiver(deployed, container, QUERY_PORT):
        service = deployed.control_plane.get(Service, "receiver", namespace=TRACING)
        assert service.spec is not None
        address = f"http://{service.spec.clusterIP}:{QUERY_PORT}"

        def get(path: str) -> Any:
            page = deployed.in_network(deployed.sandbox.control_plane.name, "http_get.py", address + path)
            if page["status"] != 200:
                raise NotObserved(f"Jaeger answers {page['status']}: {page['body'][:300]}")
            return json.loads(page["body"])

        yield Jaeger(get)


@contextmanager
def _receiver(
    deployed: Deployed, container: Mapping[str, Any], *ports: int, files: Mapping[str, str] | None = None
) -> Iterator[Callable[[int], None]]:
    """The receiver at the address in TRACES. Yields its start (1) and end (0).

    ports: of its Service, beside OTLP's. files: in /etc/receiver.
    """
    cluster = deployed.control_plane
    metadata = {"name": "receiver", "namespace": TRACING}
    all_ports = [{"name": f"port-{port}", "port": port, "targetPort": port} for port in (OTLP_PORT, *ports)]
    made = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TRACING}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(files or {})},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": "receiver"}, "ports": all_ports},
        },
    ]
    mounted = {**container, "volumeMounts": [{"name": "files", "mountPath": "/etc/receiver"}]}
    pod = {"containers": [mounted], "volumes": [{"name": "files", "configMap": {"name": "receiver"}}]}

    def scale(replicas: int) -> None:
        template = {"metadata": {"labels": {"app": "receiver"}}, "spec": pod}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "receiver"}}, "template": template}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        cluster.apply(workloads.parse(deployment), force=True)

        def is_scaled() -> None:
            pods = list(cluster.list(Pod, namespace=TRACING))
            if len(pods) != replicas or not all(map(workloads.is_ready, pods)):
                raise NotObserved(f"{len(pods)} Pods of the receiver")

        eventually(is_scaled, seconds=120)

    for one in made:
        cluster.apply(workloads.parse(one), force=True)
    try:
        scale(1)
        yield scale
    finally:
        cluster.delete(Deployment, "receiver", namespace=TRACING)
        cluster.delete(Namespace, TRACING)
        eventually(lambda: is_gone(deployed), seconds=120)  # another file makes it again


def is_gone(deployed: Deployed) -> None:
    if TRACING in {one.metadata and one.metadata.name for one in deployed.control_plane.list(Namespace)}:
        raise NotObserved(f"the namespace {TRACING} is still there")


def spans_of(observed: Observed, expected: Mapping[str, Mapping[int, int]], kind: int) -> Counter[tuple[str, int, str]]:
    """Expected spans: workload -> status -> number."""
    return Counter(
        {
            (f"{observed.deployed.mesh.name}/{name}.{observed.namespace}", kind, str(status)): number
            for name, numbers in expected.items()
            for status, number in numbers.items()
        }
    )


def both_ends(observed: Observed, plan: Mapping[int, int]) -> Counter[tuple[str, int, str]]:
    """Expected spans of the caller's requests, by status."""
    return spans_of(observed, {workloads.CALLER: plan}, CLIENT) + spans_of(observed, {workloads.CALLED: plan}, SERVER)


def has_spans(
    spans: Callable[[], list[tuple[str, int, str, str]]], expected: Counter[tuple[str, int, str]], before: int = 0
) -> list[Any]:
    """All spans after the first ones, once they are these, and still are after the proxies' next interval.

    spans: those of the receiver: service, kind, status, trace.
    """

    def equal() -> list[Any]:
        found = spans()[before:]
        counted = Counter((service, kind, status) for service, kind, status, _ in found)
        if counted != expected:
            raise NotObserved(f"too many: {counted - expected}, missing: {expected - counted}")
        return found

    eventually(equal, seconds=120)
    time.sleep(6)  # Envoy sends spans each five seconds
    return equal()


def settled_spans(observed: Observed) -> list[Any]:
    """The spans, once earlier tests' have arrived."""

    def same() -> list[Any]:
        # First the queue: all of it may arrive between two looks.
        if observed.own("queued_span_bytes"):
            raise NotObserved("spans wait in the collector")
        found = observed.spans()
        time.sleep(6)
        if len(observed.spans()) != len(found) or observed.own("queued_span_bytes"):
            raise NotObserved("spans still arrive")
        return found

    return eventually(same, seconds=120)
