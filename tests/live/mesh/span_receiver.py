"""A receiver of the collector's spans, as Pods of the control plane, and the spans in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Namespace, Pod

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from tests.live.mesh.observed import TRACING, Observed

RECEIVE = Path(__file__).parent / "programs" / "receive_spans.py"
TRACES = {"to": f"receiver.{TRACING}.svc:4317", "plaintext": True, "samplingPercent": 100}
"""`traces` of the observability document."""
SERVER, CLIENT = 2, 3
"""Kinds of spans: of the called workload's proxy, and of the caller's."""


@contextmanager
def receiver_of_spans(deployed: Deployed) -> Iterator[Callable[[int], None]]:
    """A receiver on the control plane, which keeps spans in memory. Yields its start (1) and end (0)."""
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


def has_spans(observed: Observed, expected: Counter[tuple[str, int, str]], before: int = 0) -> list[Any]:
    """All spans after the first ones, once they are these, and still are after the proxies' next interval."""

    def equal() -> list[Any]:
        found = observed.spans()[before:]
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
