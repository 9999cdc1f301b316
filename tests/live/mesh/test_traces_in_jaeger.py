"""Jaeger with a live mesh: its query API shows the requests of the mesh's workloads, and no other span."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain.catalogue import FOR_TRACES
from tests.live.mesh.observed import GATEWAY, Observed
from tests.live.mesh.pushing import SPANS, apply_all, document, forged_tenant, pushing, route, sending
from tests.live.mesh.span_receiver import CLIENT, SERVER, TRACES, both_ends, has_spans, jaeger_of_spans, spans_of
from tests.support.clusters import started
from tests.support.gateways import PROBE
from tests.support.jaeger import Jaeger, Span

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1500)]  # the first test builds Jaeger

NAMESPACE = "traced"
THIEF = "thief"


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Deployed]:
    """In a sandbox of its own: nodes of the shared one have no Jaeger."""
    tools = toolchain.ensure(also=FOR_TRACES, progress=progress)
    with started(tmp_path_factory.mktemp("traces"), tools, progress) as sandbox:
        deployment.up(sandbox, tools, progress)
        yield Deployed.of(sandbox, tools)


@pytest.fixture(scope="module")
def jaeger(deployed: Deployed) -> Iterator[Jaeger]:
    with jaeger_of_spans(deployed) as found:
        yield found


@pytest.fixture(scope="module")
def observed(deployed: Deployed, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """Two callers and the called workload, and a gateway to it; their proxies send spans."""
    folder: Path = tmp_path_factory.mktemp("stacks")
    ports = {name: {"name": "http", "port": workloads.PORT} for name in (workloads.CALLER, THIEF, workloads.CALLED)}
    gateways = ({"name": GATEWAY, "chartValues": {"readinessProbe": PROBE}},)
    with (
        pushing(deployed, folder, document(deployed.mesh.name, traces=TRACES), gateways),
        sending(deployed, NAMESPACE, ports, SPANS) as found,
    ):
        apply_all(deployed, *route(deployed, NAMESPACE))
        yield found


def service(observed: Observed, name: str) -> str:
    """Of a workload, in Jaeger's list."""
    namespace = observed.deployed.mesh.namespace if name == GATEWAY else observed.namespace
    return f"{observed.deployed.mesh.name}/{name}.{namespace}"


def shown(jaeger: Jaeger) -> Counter[tuple[str, int, str]]:
    return Counter((service, kind, status) for service, kind, status, _ in jaeger.rows())


def described(path: list[Span]) -> tuple[tuple[str, int, str], ...]:
    return tuple((one.service, one.kind, one.status) for one in path)


def test_traces_equal_the_requests_and_each_call_is_the_callers_child(observed: Observed, jaeger: Jaeger) -> None:
    plan = {200: 9, 404: 3, 500: 2}
    observed.send(workloads.CALLER, _200=9, _404=3, _500=2)
    has_spans(jaeger.rows, both_ends(observed, plan))
    caller, called = service(observed, workloads.CALLER), service(observed, workloads.CALLED)
    expected = Counter(
        {((caller, CLIENT, str(status)), (called, SERVER, str(status))): number for status, number in plan.items()}
    )
    assert Counter(map(described, jaeger.paths(caller))) == expected
    assert jaeger.calls() == {(caller, called): 14}
    assert jaeger.services() == {caller, called}
    assert {one.tenant for one in jaeger.spans()} == {observed.deployed.mesh.name}
    assert observed.own("received_spans_total") == observed.own("sent_spans_total") == 28
    assert observed.own("rejected_spans_total") == observed.own("lost_spans_total") == 0


def test_requests_through_a_gateway_are_traces_from_the_gateway_to_the_workload(
    observed: Observed, jaeger: Jaeger
) -> None:
    before, plan = jaeger.calls(), {202: 3, 404: 1, 500: 2}
    observed.send_from_outside(_202=3, _404=1, _500=2)
    gateway, called = service(observed, GATEWAY), service(observed, workloads.CALLED)
    ends = ((gateway, SERVER), (gateway, CLIENT), (called, SERVER))
    expected = Counter({tuple((*end, str(status)) for end in ends): number for status, number in plan.items()})

    def equal() -> None:
        # Without the gateway's own answers, before it has its route.
        found = Counter(described(path) for path in jaeger.paths(gateway) if path[-1].service == called)
        if found != expected:
            raise NotObserved(f"too many: {found - expected}, missing: {expected - found}")

    eventually(equal, seconds=60)
    assert jaeger.calls() - before == {(gateway, called): 6}


def test_a_tenant_by_the_senders_word_is_not_shown(observed: Observed, jaeger: Jaeger) -> None:
    """The forging proxy's own spans are missing. The called workload's are there, whose parents they were."""
    before = shown(jaeger)
    with forged_tenant(observed, THIEF):
        observed.send(THIEF, _200=4)
        has_spans(jaeger.rows, before + spans_of(observed, {workloads.CALLED: {200: 4}}, SERVER))
    assert service(observed, THIEF) not in jaeger.services()
    assert {one.tenant for one in jaeger.spans()} == {observed.deployed.mesh.name}
    assert observed.own("rejected_spans_total", reason="forged") == 4
