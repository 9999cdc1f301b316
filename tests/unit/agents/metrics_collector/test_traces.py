"""Spans on their way to a backend: identities, bounds, and a backend that is away. All connections are real."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from agents.metrics_collector import forwarding
from agents.metrics_collector.forwarding import LARGEST_BATCH
from agents.metrics_collector.settings import Settings, SettingsError
from tests.support.authorities import Authority
from tests.support.ports import free_port
from tests.support.waiting import eventually
from tests.unit.agents.metrics_collector.collecting import (
    Mesh,
    Proxy,
    collecting,
    requests,
    resident,
    sent_by,
)
from tests.unit.agents.metrics_collector.receiving import (
    backend,
    export,
    receiving,
    request,
    span,
    trusting,
)


def test_each_span_arrives_once_with_the_tenant_and_identity_of_its_sender(
    mesh: Mesh, other: Mesh, tmp_path: Path
) -> None:
    with receiving() as found, collecting(tmp_path, mesh, other, traces=backend(found.port)) as collector:
        sent = {one.name: [span(f"{one.name}-{number}") for number in range(20)] for one in (mesh, other)}
        for one in (mesh, other):
            assert export(one, *(request(each) for each in sent[one.name])) == [0] * 20
        eventually(lambda: len(found.spans) == 40, "40 spans")
        for one in (mesh, other):
            assert found.of(one.name) == sent[one.name]
            (resource,) = {
                tuple(sorted(each.items())) for each, _ in found.spans if each["hosted_mesh.tenant"] == one.name
            }
            assert dict(resource) == {
                "service.name": f"{one.name}/frontend.bookshop",
                "service.namespace": "bookshop",
                "k8s.namespace.name": "bookshop",
                "k8s.cluster.name": f"{one.name}-1",
                "k8s.pod.name": "frontend-1",
                "hosted_mesh.tenant": one.name,
                "hosted_mesh.network": f"net-{one.name}",
                "hosted_mesh.principal": one.principal("frontend"),
            }
            assert collector.own("sent_spans_total", tenant=one.name) == 20
            assert collector.own("received_spans_total", tenant=one.name) == 20
        assert collector.own("lost_spans_total") == collector.own("rejected_spans_total") == 0
        eventually(lambda: collector.own("queued_span_bytes") == 0, "an empty queue")


def test_attributes_of_the_resource_are_the_collectors(mesh: Mesh, tmp_path: Path) -> None:
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)):
        forged = {"hosted_mesh__tenant": "b", "k8s__namespace__name": "payments", "host__name": "x", "any": "y"}
        export(mesh, request(span(), **forged))
        eventually(lambda: len(found.spans) == 1, "the span")
        ((resource, _),) = found.spans
        assert (resource["hosted_mesh.tenant"], resource["k8s.namespace.name"]) == ("a", "bookshop")
        assert not {"host.name", "any"} & resource.keys()


@pytest.mark.parametrize(
    "forged",
    [
        {"istio__namespace": "payments"},
        {"istio__cluster_id": "b-1"},
        {"node_id": "sidecar~10.0.0.1~x.payments~payments.svc.cluster.local"},
        {"hosted_mesh__tenant": "b"},
        {"hosted_mesh__principal": "spiffe://b.mesh.test/ns/bookshop/sa/frontend"},
        {"service__name": "b/frontend.bookshop"},
        {"k8s__pod__name": "backend-1"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_span_with_anothers_identity_is_rejected_and_the_others_pass(
    mesh: Mesh, tmp_path: Path, forged: dict[str, str]
) -> None:
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)) as collector:
        assert export(mesh, request(span("good"), span("bad", **forged))) == [1]
        eventually(lambda: len(found.spans) == 1, "the good span")
        assert [one.name for _, one in found.spans] == ["good"]
        assert collector.own("rejected_spans_total", reason="forged") == 1


def test_identities_in_events_and_links_are_rejected_too(mesh: Mesh, tmp_path: Path) -> None:
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)) as collector:
        event, link = span("event"), span("link")
        event.events.add(name="x").attributes.add(key="hosted_mesh.tenant").value.string_value = "b"
        link.links.add().attributes.add(key="istio.namespace").value.string_value = "payments"
        assert export(mesh, request(event, link, span())) == [2]
        assert collector.own("rejected_spans_total", reason="forged") == 2


@pytest.mark.parametrize("name", ["frontend.payments", "b/frontend.bookshop", "frontend.bookshop.b", "x" * 64, ""])
def test_a_service_of_another_namespace_rejects_all_its_spans(mesh: Mesh, tmp_path: Path, name: str) -> None:
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)) as collector:
        assert export(mesh, request(span(), span(), service__name=name), request(span("good"))) == [2, 0]
        eventually(lambda: collector.own("sent_spans_total") == 1, "the good span")
        assert [one.name for _, one in found.spans] == ["good"]


def test_a_name_without_a_namespace_gets_the_certificates(mesh: Mesh, tmp_path: Path) -> None:
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)):
        export(mesh, request(span(), service__name="frontend"))
        eventually(lambda: len(found.spans) == 1, "the span")
        assert found.spans[0][0]["service.name"] == "a/frontend.bookshop"


def test_fields_that_the_collector_does_not_read_are_not_sent_on(mesh: Mesh, tmp_path: Path) -> None:
    """An older name of `scope_spans` (1000), and the scope, whose attributes backends show beside the span's."""
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)):
        hidden = request(span("hidden")).resource_spans[0].scope_spans[0].SerializeToString()
        plain = request(span()).resource_spans[0].SerializeToString()
        # Field 1000 with a length, then the same request: 1000 << 3 | 2 as a varint is c2 3e.
        smuggled = plain + b"\xc2\x3e" + _varint(len(hidden)) + hidden
        export(mesh, b"\x0a" + _varint(len(smuggled)) + smuggled)
        # Field 100 of a span.
        odd = span()
        odd.MergeFromString(b"\xa2\x06\x06hidden")
        export(mesh, request(odd))
        eventually(lambda: len(found.spans) == 2, "the spans")
        assert not [one for one in found.requests if b"hidden" in one]


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


@pytest.mark.parametrize("broken", [{"trace_id": b"x" * 15}, {"span_id": b""}, {"parent_span_id": b"x"}], ids=str)
def test_a_span_without_proper_ids_is_rejected(mesh: Mesh, tmp_path: Path, broken: dict[str, bytes]) -> None:
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)) as collector:
        bad = span("bad")
        for name, value in broken.items():
            setattr(bad, name, value)
        assert export(mesh, request(bad, span("good"))) == [1]
        assert collector.own("rejected_spans_total", reason="invalid") == 1


def test_another_tenant_writes_no_span(tmp_path: Path) -> None:
    """Neither with a certificate of another root, nor with one of the same root and another trust domain."""
    root = Authority("root")
    mesh, other = (Mesh(name, tmp_path / name, authority=root) for name in ("a", "b"))
    with receiving() as found, collecting(tmp_path, mesh, other, traces=backend(found.port)) as collector:
        for authority, code in (
            (None, grpc.StatusCode.PERMISSION_DENIED),
            (Authority("x"), grpc.StatusCode.UNAVAILABLE),
        ):
            with pytest.raises(grpc.RpcError) as error:
                export(mesh, request(span()), principal=other.principal("frontend"), authority=authority)
            assert error.value.code() is code
        assert collector.own("received_spans_total") == 0 == len(found.spans)
        assert collector.own("refused_streams_total", tenant="a", reason="identity") == 1


def test_without_a_backend_spans_are_not_accepted(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh):
        with pytest.raises(grpc.RpcError) as error:
            export(mesh, request(span()))
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_text_that_is_not_utf8_rejects_its_request(mesh: Mesh, tmp_path: Path) -> None:
    """A backend would reject all requests that are sent with it."""
    with receiving() as found, collecting(tmp_path, mesh, traces=backend(found.port)):
        raw = request(span("NAME")).SerializeToString().replace(b"NAME", b"NA\xff\xfe")
        with pytest.raises(grpc.RpcError) as error:
            export(mesh, raw)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_while_the_backend_is_away_memory_is_bounded_and_lost_spans_are_counted(mesh: Mesh, tmp_path: Path) -> None:
    port, bound = free_port(), 2**20
    given = backend(port, queue_bytes=bound, bytes_per_second=2**30)
    with collecting(tmp_path, mesh, traces=given) as collector:
        export(mesh, request(span()))
        before = resident(collector.process.pid)
        large = [request(*(span("x" * 200) for _ in range(50))) for _ in range(40)]
        for _ in range(10):
            assert export(mesh, *large) == [0] * 40
        received, lost = collector.own("received_spans_total"), collector.own("lost_spans_total", reason="queue")
        assert received == 20_001
        assert 0 < collector.own("queued_span_bytes") <= bound
        assert resident(collector.process.pid) - before < 30
        proxy = Proxy(mesh, "frontend")
        proxy.send(requests(sent_by(proxy), 3))
        eventually(lambda: collector.sum("istio_requests_total") == 3, "metrics, which go on")
        with receiving(port) as found:
            eventually(lambda: collector.own("queued_span_bytes") == 0, "the queued spans")
            assert len(found.spans) == received - lost == collector.own("sent_spans_total")
            assert lost > 10_000


def test_metrics_go_on_beyond_the_budget_of_spans(mesh: Mesh, tmp_path: Path) -> None:
    with (
        receiving() as found,
        collecting(tmp_path, mesh, traces=backend(found.port, bytes_per_second=1000)) as collector,
    ):
        many = request(*(span() for _ in range(50)))
        with pytest.raises(grpc.RpcError) as error:
            export(mesh, many)
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert collector.own("refused_streams_total", reason="span-budget") == 1
        proxy = Proxy(mesh, "frontend")
        proxy.send(requests(sent_by(proxy), 3))
        eventually(lambda: collector.sum("istio_requests_total") == 3, "metrics")
        assert collector.own("discarded_messages_total") == 0


def test_a_request_that_the_backend_rejects_spoils_no_other(mesh: Mesh, tmp_path: Path) -> None:
    port = free_port()
    with collecting(tmp_path, mesh, traces=backend(port)) as collector:
        export(mesh, *(request(span(f"s{number}")) for number in range(5)), request(span("poison")))
        eventually(lambda: collector.own("queued_span_bytes") > 0, "waiting spans")
        with receiving(port, poison="poison") as found:
            eventually(lambda: collector.own("queued_span_bytes") == 0, "an empty queue")
            assert [one.name for _, one in found.spans] == [f"s{number}" for number in range(5)]
            assert collector.own("lost_spans_total", reason="backend") == 1
            assert collector.own("sent_spans_total") == 5


def test_spans_that_the_backend_rejects_are_counted(mesh: Mesh, tmp_path: Path) -> None:
    with receiving(rejects=2) as found, collecting(tmp_path, mesh, traces=backend(found.port)) as collector:
        export(mesh, request(span(), span(), span()))
        eventually(lambda: collector.own("sent_spans_total") == 1, "the accepted span")
        assert collector.own("lost_spans_total", reason="backend") == 2


def test_batches_are_within_a_bound(mesh: Mesh, tmp_path: Path) -> None:
    port = free_port()
    with collecting(tmp_path, mesh, traces=backend(port, bytes_per_second=2**30)) as collector:
        export(mesh, *(request(*(span("x" * 500) for _ in range(100))) for _ in range(40)))
        with receiving(port) as found:
            eventually(lambda: collector.own("sent_spans_total") == 4000, "all spans")
            assert 1 < len(found.requests) < 20
            assert max(map(len, found.requests)) <= LARGEST_BATCH


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "of another authority"])
def test_the_backends_certificate_is_verified(mesh: Mesh, tmp_path: Path, is_trusted: bool) -> None:
    authority = Authority("backends")
    with receiving(authority=authority) as found:
        given = trusting(found.port, authority if is_trusted else Authority("others"), tmp_path)
        with collecting(tmp_path, mesh, traces=given) as collector:
            export(mesh, request(span()))
            if is_trusted:
                eventually(lambda: len(found.spans) == 1, "the span")
            else:
                time.sleep(2)
                assert collector.own("queued_span_bytes") > 0 == len(found.spans)


def test_a_stopped_collector_sends_the_queue_first(mesh: Mesh, tmp_path: Path) -> None:
    with (
        receiving(delay=0.5) as found,
        collecting(tmp_path, mesh, traces=backend(found.port)) as collector,
    ):
        export(mesh, *(request(span()) for _ in range(20)))
        assert len(found.spans) < 20
        assert collector.end() == 0
        assert len(found.spans) == 20


def test_every_reason_is_shown_before_its_first_event(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh, traces=backend(free_port())) as collector:
        for name, reasons in (
            ("rejected_spans_total", {"forged", "invalid"}),
            ("lost_spans_total", {forwarding.QUEUE, forwarding.REFUSED, forwarding.STOPPED}),
        ):
            found = {labels["reason"]: value for _, labels, value in collector.samples(f"hosted_mesh_collector_{name}")}
            assert found == dict.fromkeys(reasons, 0)


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        ({}, "traces: address is required."),
        ({"address": 4317}, "traces.address: must be str."),
        ({"address": "x:1", "plaintext": "yes"}, "traces.plaintext: must be bool."),
        ({"address": "x:1", "queue": 1}, "traces: the fields are address, plaintext, authorities, "),
        ({"address": "x:1", "queue_bytes": True}, "traces.queue_bytes: must be int."),
    ],
    ids=["address", "text", "plaintext", "unknown", "number"],
)
def test_a_mistake_in_the_configuration_is_one_line(mesh: Mesh, traces: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as error:
        Settings.of({"endpoints": [mesh.endpoint], "traces": traces})
    assert str(error.value).startswith(words)
    assert os.linesep not in str(error.value)
