"""Real Envoys send spans and access logs to the collector: numbers, identities; and the parts that this Envoy has."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.control_plane.pushed_metrics import LOG_ATTRIBUTES
from pulumi_hosted_mesh.observability import proxy_objects

from sandbox import toolchain
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_TRACES
from tests.engine.library.running_jaeger import running_jaeger
from tests.support import pushing_envoys as envoys
from tests.support.authorities import Authority
from tests.support.ports import free_port
from tests.support.waiting import eventually
from tests.unit.agents.metrics_collector.collecting import HOST, Mesh, collecting
from tests.unit.agents.metrics_collector.receiving import backend, receiving, trusting


def requests(port: int, number: int, **headers: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in range(number):
        connection.request("GET", "/", headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def tenant(
    stack: ExitStack,
    tools: Tools,
    folder: Path,
    mesh: Mesh,
    *,
    named: str = "frontend.bookshop",
    to: int = 0,
    shows: Any = None,
) -> int:
    """A caller and a called workload of a tenant, each behind an Envoy; the caller's port.

    named: the caller's service in spans. to: another tenant's port at the collector. shows: another authority signs.
    """
    caller, called = (
        envoys.Workload(folder / mesh.name, name, mesh.domain, mesh.authority, shows if name == "frontend" else None)
        for name in ("frontend", "backend")
    )
    entry, inside, *admins = (free_port() for _ in range(4))
    for workload, own, there, admin in ((called, inside, None, admins[0]), (caller, entry, "called", admins[1])):
        clusters = [envoys.cluster("collector", to or mesh.port, workload.socket(name=HOST), grpc=True)]
        if there:
            clusters.append(envoys.cluster("called", inside))
        name = named if there else "backend.bookshop"
        listener = envoys.listener(own, there, traced_as=name, is_client=bool(there))
        stack.enter_context(
            envoys.envoy(tools, workload, {"listeners": [listener], "clusters": clusters}, admin, pushes=False)
        )
    return entry


def test_spans_of_two_tenants_equal_their_requests_and_each_trace_has_both_ends(tools: Tools, tmp_path: Path) -> None:
    meshes = [Mesh(name, tmp_path / name) for name in ("a", "b")]
    with ExitStack() as stack:
        found = stack.enter_context(receiving())
        collector = stack.enter_context(collecting(tmp_path, *meshes, traces=backend(found.port)))
        ports = [tenant(stack, tools, tmp_path / "envoys", one) for one in meshes]
        for port, number in zip(ports, (30, 20), strict=True):
            requests(port, number)
        eventually(lambda: len(found.spans) >= 100, "100 spans")
        expected = {
            (f"{one}/{name}.bookshop", one): number
            for one, number in (("a", 30), ("b", 20))
            for name in ("frontend", "backend")
        }
        assert Counter((each["service.name"], each["hosted_mesh.tenant"]) for each, _ in found.spans) == expected
        traces = Counter(bytes(span.trace_id) for _, span in found.spans)
        assert set(traces.values()) == {2} and len(traces) == 50
        assert collector.own("rejected_spans_total") == collector.own("lost_spans_total") == 0
        # The port of the other tenant, with the own certificate; and a name in another namespace.
        stranger = Mesh("c", tmp_path / "c")
        requests(tenant(stack, tools, tmp_path / "strangers", stranger, to=meshes[0].port), 10)
        forger = tenant(stack, tools, tmp_path / "forgers", meshes[1], named="frontend.payments")
        requests(forger, 10)
        eventually(lambda: collector.own("rejected_spans_total", tenant="b", reason="forged") == 10, "rejections")
        eventually(lambda: len(found.of("b")) == 50, "the other ends of the forger's requests")
        assert len(found.of("a")) == 60


@pytest.mark.nightly
@pytest.mark.timeout(1500)  # it builds Jaeger
def test_jaeger_shows_each_tenants_requests_under_its_own_services(tmp_path: Path, progress: Progress) -> None:
    """A collector for each tenant, one Jaeger for both. A tenant that adds to another's trace does so by its name."""
    tools = toolchain.ensure({"envoy", *FOR_TRACES}, progress=progress)
    meshes = [Mesh(name, tmp_path / name) for name in ("a", "b")]
    authority = Authority("jaeger")
    with ExitStack() as stack:
        port, jaeger = stack.enter_context(running_jaeger(tools["jaeger"], tmp_path, authority))
        to_jaeger = trusting(port, authority, tmp_path)
        collectors = [stack.enter_context(collecting(one.folder, one, traces=to_jaeger)) for one in meshes]
        ports = [tenant(stack, tools, tmp_path / "envoys", one) for one in meshes]
        for entry, number in zip(ports, (30, 20), strict=True):
            requests(entry, number)
        eventually(lambda: len(jaeger.spans()) >= 100, "100 spans")
        ends = {"a": ("a/frontend.bookshop", "a/backend.bookshop"), "b": ("b/frontend.bookshop", "b/backend.bookshop")}
        assert jaeger.services() == {*ends["a"], *ends["b"]}
        assert jaeger.calls() == {ends["a"]: 30, ends["b"]: 20}
        for name, number in (("a", 30), ("b", 20)):
            caller, called = ends[name]
            paths = [[(one.service, one.tenant, one.status) for one in path] for path in jaeger.paths(caller)]
            assert paths == [[(caller, name, "200"), (called, name, "200")]] * number
        assert len({one.trace for one in jaeger.spans()}) == 50
        for collector in collectors:
            assert collector.own("rejected_spans_total") == collector.own("lost_spans_total") == 0

        seen = jaeger.spans()[0]
        requests(ports[1 if seen.tenant == "a" else 0], 1, traceparent=f"00-{seen.trace:0>32}-{seen.id}-01")
        eventually(lambda: len(jaeger.spans()) >= 102, "the other tenant's spans")
        others = [one for one in jaeger.spans() if one.trace == seen.trace and one.tenant != seen.tenant]
        assert len(others) == 2
        assert all(one.service.startswith(f"{one.tenant}/") for one in jaeger.spans())


def test_access_logs_of_both_ends_equal_the_requests(tools: Tools, tmp_path: Path) -> None:
    """With `source: access-log`: the provider's attributes, in Envoy's own messages."""
    mesh = Mesh("a", tmp_path / "a")
    caller, called = (envoys.Workload(tmp_path, name, mesh.domain, mesh.authority) for name in ("frontend", "backend"))
    entry, inside, app, *admins = (free_port() for _ in range(5))
    outbound, inbound = "outbound|8080||backend.bookshop.svc.cluster.local", "inbound|8080||"
    with collecting(tmp_path, mesh) as collector, ExitStack() as stack:
        for workload, listeners, to, admin in (
            (
                called,
                [
                    envoys.listener(inside, inbound, socket=called.socket(server=True), logs=LOG_ATTRIBUTES),
                    envoys.listener(app, None),
                ],
                envoys.cluster(inbound, app),
                admins[0],
            ),
            (
                caller,
                [envoys.listener(entry, outbound, logs=LOG_ATTRIBUTES, is_client=True)],
                envoys.cluster(outbound, inside, caller.socket(name=called.principal)),
                admins[1],
            ),
        ):
            push = envoys.cluster("collector", mesh.port, workload.socket(name=HOST), grpc=True)
            resources = {"listeners": listeners, "clusters": [to, push]}
            stack.enter_context(envoys.envoy(tools, workload, resources, admin, pushes=False))
        requests(entry, 23)
        for reporter in ("source", "destination"):
            ends = {"source_principal": caller.principal, "destination_principal": called.principal}
            labels = {"reporter": reporter, **ends, "response_code": "200", "request_protocol": "http"}
            eventually(lambda: collector.sum("istio_requests_total", **labels) == 23, f"23 of the {reporter}")  # noqa: B023
        assert collector.sum("istio_requests_total") == 46
        assert collector.sum("istio_requests_total", source_workload="frontend", reporter="source") == 23
        assert collector.sum("istio_requests_total", pod="backend-1", reporter="destination") == 23
        assert collector.sum("istio_request_duration_milliseconds_count") == 46
        assert collector.own("rejected_series_total") == 0


FILTER = {
    "@type": "type.googleapis.com/xds.type.v3.TypedStruct",
    "type_url": "type.googleapis.com/stats.PluginConfig",
    "value": {},
}


@pytest.mark.parametrize(
    ("filters", "loggers", "words"),
    [
        ([], [proxy_objects.access_logger(proxy_objects.SENDS, http=True)], ""),
        (
            [{"name": "istio.stats", "typed_config": FILTER}],
            [],
            "Didn't find a registered implementation for 'istio.stats'",
        ),
    ],
    ids=["access-logger", "stats-filter"],
)
def test_this_envoy_has_the_access_logger_and_lacks_istios_filter(
    tools: Tools, tmp_path: Path, filters: list[Any], loggers: list[Any], words: str
) -> None:
    """So `source: stats-filter` cannot run here; the istio-proxy image has the filter."""
    listener = envoys.listener(free_port(), None)
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    manager["http_filters"], manager["access_log"] = [*filters, *manager["http_filters"]], loggers
    file = tmp_path / "envoy.json"
    file.write_text(json.dumps({"static_resources": {"listeners": [listener]}}))
    command = [str(tools["envoy"]), "--mode", "validate", "--config-path", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode == 0) is not bool(words), done.stderr
    assert words in done.stderr
