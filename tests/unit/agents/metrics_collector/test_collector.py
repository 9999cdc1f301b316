"""The collector as a process, with real gRPC streams over mTLS on loopback."""

from __future__ import annotations

import dataclasses
import re
import socket
import threading
from pathlib import Path

import grpc
import pytest

from agents.metrics_collector import series
from agents.metrics_collector.exposition import REFUSED, REJECTED
from agents.metrics_collector.settings import Settings
from tests.support.authorities import Authority
from tests.support.waiting import eventually
from tests.unit.agents.metrics_collector.collecting import (
    Mesh,
    Proxy,
    collecting,
    counter,
    durations,
    export,
    flat,
    received_by,
    requests,
    sent_by,
)

TOTAL = "istio_requests_total"
OWN = "hosted_mesh_collector"


def test_counts_are_exact_by_code_and_edge(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        front, back = Proxy(mesh, "frontend"), Proxy(mesh, "backend")
        good, bad = sent_by(front), sent_by(front, code="503", response_flags="UF")
        front.send(requests(good, 10), requests(bad, 1))
        front.send(requests(good, 91), requests(bad, 9))
        back.send(requests(received_by(back, front.principal), 91))
        eventually(lambda: collector.sum(TOTAL) == 191, "191 requests")
        assert collector.sum(TOTAL, reporter="source", response_code="200") == 91
        ((_, labels, value),) = collector.samples(TOTAL, reporter="source", response_code="503")
        assert value == 9
        assert labels == {
            "tenant": "a",
            "cluster": "a-1",
            "network": "net-a",
            "pod": "frontend-1",
            "reporter": "source",
            "source_workload": "frontend",
            "source_workload_namespace": "bookshop",
            "source_principal": front.principal,
            "source_cluster": "a-1",
            "source_app": "frontend",
            "source_canonical_service": "frontend",
            "source_canonical_revision": "unknown",
            "source_version": "unknown",
            "destination_workload": "backend",
            "destination_workload_namespace": "bookshop",
            "destination_principal": back.principal,
            "destination_app": "backend",
            "destination_version": "v1",
            "destination_cluster": "a-1",
            "destination_canonical_service": "backend",
            "destination_canonical_revision": "v1",
            "destination_service": "backend.bookshop.svc.cluster.local",
            "destination_service_name": "backend",
            "destination_service_namespace": "bookshop",
            "request_protocol": "http",
            "response_code": "503",
            "grpc_response_status": "",
            "response_flags": "UF",
            "connection_security_policy": "unknown",
        }
        ((_, labels, value),) = collector.samples(TOTAL, reporter="destination")
        assert value == 91
        assert labels["source_principal"] == front.principal
        assert labels["source_workload_namespace"] == "bookshop"
        assert labels["destination_service"] == "backend.bookshop.svc.cluster.local"
        assert labels["connection_security_policy"] == "mutual_tls"


def test_intervals_of_histograms_add_up(mesh: Mesh, tmp_path: Path) -> None:
    metric = "istio_request_duration_milliseconds"
    with collecting(tmp_path, mesh) as collector:
        front = Proxy(mesh, "frontend")
        front.send(durations(sent_by(front), 0.5, 5, 50))
        front.send(durations(sent_by(front)))
        front.send(durations(sent_by(front), 7, 700))
        eventually(lambda: collector.sum(f"{metric}_count") == 5, "5 durations")
        found = {labels["le"]: value for _, labels, value in collector.samples(f"{metric}_bucket")}
        assert found == {"1": 1, "10": 3, "100": 4, "+Inf": 5}
        assert collector.sum(f"{metric}_sum") == 762.5


def test_two_names_of_one_series_are_added(mesh: Mesh, tmp_path: Path) -> None:
    """Requests in plain text have no principal in the proxy's tags, and are of the same principal."""
    with collecting(tmp_path, mesh) as collector:
        front = Proxy(mesh, "frontend")
        front.send(requests(sent_by(front), 5), requests(sent_by(front, source_principal=""), 2))
        front.send(requests(sent_by(front), 6), requests(sent_by(front, source_principal=""), 4))
        eventually(lambda: collector.sum(TOTAL) == 10, "10 requests")
        assert len(collector.samples(TOTAL)) == 1


@pytest.mark.parametrize(
    "forged",
    [
        {"source_principal": "spiffe://a.mesh.test/ns/bookshop/sa/backend"},
        {"source_principal": "spiffe://b.mesh.test/ns/bookshop/sa/frontend"},
        {"source_workload_namespace": "payments"},
        {"source_cluster": "b-1"},
    ],
    ids=lambda one: " ".join(one.values()),
)
def test_a_forged_label_of_the_senders_side_rejects_the_series(
    mesh: Mesh, tmp_path: Path, forged: dict[str, str]
) -> None:
    with collecting(tmp_path, mesh) as collector:
        front = Proxy(mesh, "frontend")
        front.send(requests(sent_by(front, **forged), 1000), requests(sent_by(front), 3))
        eventually(lambda: collector.sum(TOTAL) == 3, "3 requests")
        assert collector.own("rejected_series_total", reason="forged") == 1
        assert len(collector.samples(TOTAL)) == 1


def test_labels_of_the_endpoint_cannot_be_sent(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        front = Proxy(mesh, "frontend")
        named = requests(sent_by(front), 1)
        named.metric[0].label.add(name="tenant", value="b")
        quoted = sent_by(front, source_workload='x",tenant="b')
        front.send(named, requests(quoted, 1), requests(sent_by(front), 1))
        eventually(lambda: collector.sum(TOTAL) >= 2, "the others")
        assert {labels["tenant"] for _, labels, _ in collector.samples(TOTAL)} == {"a"}


def test_a_certificate_of_another_tenant_reaches_no_port_but_its_own(mesh: Mesh, other: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh, other) as collector:
        stranger = Proxy(mesh, "frontend", authority=other.authority)
        stranger.send(requests(sent_by(stranger), 1000))
        assert stranger.status() is grpc.StatusCode.UNAVAILABLE
        assert collector.samples(TOTAL) == []


def test_a_foreign_trust_domain_is_refused_under_one_root_too(tmp_path: Path) -> None:
    root = Authority("root")
    mesh, other = (Mesh(name, tmp_path / name, authority=root) for name in ("a", "b"))
    with collecting(tmp_path, mesh, other) as collector:
        stranger = Proxy(mesh, "frontend", shows=other.principal("frontend"))
        stranger.send(requests(sent_by(stranger), 1000))
        assert stranger.status() is grpc.StatusCode.PERMISSION_DENIED
        assert collector.samples(TOTAL) == []
        assert collector.own("refused_streams_total", tenant="a", reason="identity") == 1


@pytest.mark.parametrize("node", ["sidecar~10.0.0.1~x.payments~payments.svc.cluster.local", "x", 'sidecar~1~a"b.x~x'])
def test_a_node_of_another_namespace_is_refused(mesh: Mesh, tmp_path: Path, node: str) -> None:
    with collecting(tmp_path, mesh) as collector:
        front = Proxy(mesh, "frontend", node=node)
        front.send(requests(sent_by(front), 1))
        assert front.status() is grpc.StatusCode.PERMISSION_DENIED
        assert collector.samples(TOTAL) == []


def test_without_a_certificate_no_stream_opens(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh):
        roots = (mesh.folder / "ca.pem").read_bytes()
        options = [("grpc.ssl_target_name_override", "collector.a.test")]
        with grpc.secure_channel(f"127.0.0.1:{mesh.port}", grpc.ssl_channel_credentials(roots), options) as bare:
            with pytest.raises(grpc.RpcError) as error:
                bare.stream_unary("/envoy.service.metrics.v3.MetricsService/StreamMetrics")(iter([b""]), timeout=30)
            assert error.value.code() is grpc.StatusCode.UNAVAILABLE


def test_callers_cannot_make_series_by_their_server_names(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        back = Proxy(mesh, "backend")
        names = [f"outbound_.8080_._.x{number}.payments.svc.cluster.local" for number in range(50)]
        back.send(*(requests(received_by(back, mesh.principal("frontend"), server_name=one), 1) for one in names))
        eventually(lambda: collector.sum(TOTAL) == 50, "50 requests")
        ((_, labels, value),) = collector.samples(TOTAL)
        assert (labels["destination_service"], value) == ("unknown", 50)


def test_the_bound_of_series_holds_and_known_series_go_on(mesh: Mesh, tmp_path: Path) -> None:
    limits = {"series": 30, "proxy_series": 20}
    with collecting(tmp_path, mesh, limits=limits) as collector:
        front, batch = Proxy(mesh, "frontend"), Proxy(mesh, "batch")
        kept = sent_by(front)
        front.send(requests(kept, 1), *(requests(sent_by(front, code=str(one)), 1) for one in range(1000, 2000)))
        eventually(lambda: collector.own("rejected_series_total", reason="proxy-limit") == 981, "rejections")
        batch.send(*(requests(sent_by(batch, code=str(one)), 1) for one in range(1000, 1100)))
        eventually(lambda: collector.own("rejected_series_total", reason="proxy-limit") == 981, "no more")
        eventually(lambda: collector.own("rejected_series_total", reason="tenant-limit") == 90, "the tenant's bound")
        front.send(requests(kept, 7))
        eventually(lambda: collector.sum(TOTAL, response_code="200") == 7, "the known series")
        assert collector.own("series") == 30 == len(collector.samples(TOTAL))


def test_a_flood_of_one_tenant_leaves_the_others_numbers_right(mesh: Mesh, other: Mesh, tmp_path: Path) -> None:
    limits = {"bytes_per_second": 50_000, "burst": 100_000, "series": 500}
    with collecting(tmp_path, mesh, other, limits=limits) as collector:
        floods = [Proxy(mesh, f"flood-{number}") for number in range(4)]
        ended = threading.Event()

        def flood(proxy: Proxy) -> None:
            value = 0
            while not ended.is_set() and proxy.waiting.qsize() < 200:
                value += 1
                proxy.send(*(requests(sent_by(proxy, code=str(one)), value) for one in range(200)))

        threads = [threading.Thread(target=flood, args=(one,)) for one in floods]
        for thread in threads:
            thread.start()
        quiet = Proxy(other, "frontend")
        for value in range(1, 101):
            quiet.send(requests(sent_by(quiet), value))
        eventually(lambda: collector.sum(TOTAL, tenant="b") == 100, "the quiet tenant")
        eventually(lambda: collector.own("discarded_messages_total", tenant="a") > 0, "discarded messages")
        ended.set()
        for thread in threads:
            thread.join()
        assert collector.own("discarded_messages_total", tenant="b") == 0
        assert collector.own("rejected_series_total", tenant="b") == 0
        assert collector.own("series", tenant="a") <= 500
        for one in floods:
            one.close()


def test_streams_of_a_tenant_are_bounded(mesh: Mesh, other: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh, other, limits={"streams": 2}) as collector:
        first = [Proxy(mesh, f"w{number}") for number in range(2)]
        for one in first:
            one.send(requests(sent_by(one), 1))
        eventually(lambda: collector.own("streams", tenant="a") == 2, "two streams")
        third, foreign = Proxy(mesh, "w3"), Proxy(other, "w1")
        third.send(requests(sent_by(third), 1))
        assert third.status() is grpc.StatusCode.RESOURCE_EXHAUSTED
        foreign.send(requests(sent_by(foreign), 1))
        eventually(lambda: collector.sum(TOTAL, tenant="b") == 1, "the other tenant")
        first[0].close()
        eventually(lambda: collector.own("streams", tenant="a") == 1, "a free stream")


def test_a_reconnected_proxy_replaces_its_stream(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        old = Proxy(mesh, "frontend")
        old.send(requests(sent_by(old), 5))
        eventually(lambda: collector.sum(TOTAL) == 5, "5 requests")
        new = Proxy(mesh, "frontend")
        new.send(requests(sent_by(new), 8))
        eventually(lambda: collector.sum(TOTAL) == 8, "8 requests")
        old.send(requests(sent_by(old), 6))
        assert old.status() is grpc.StatusCode.ABORTED
        assert collector.sum(TOTAL) == 8


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "stopped"])
def test_totals_survive_a_restart_and_histograms_lose_one_interval(mesh: Mesh, tmp_path: Path, kill: bool) -> None:
    metric = "istio_request_duration_milliseconds_count"
    with collecting(tmp_path, mesh) as collector:
        before = Proxy(mesh, "frontend")
        before.send(requests(sent_by(before), 40), durations(sent_by(before), 5, 5))
        eventually(lambda: collector.sum(metric) == 2, "the first message")
        assert (collector.end(kill=kill) == 0) is not kill
        assert before.status() is not grpc.StatusCode.OK
        collector.start()
        assert collector.sum(TOTAL) == 0
        # Meanwhile 10 requests: Envoy's next message has its total, and the histogram of its last interval alone.
        after = Proxy(mesh, "frontend")
        after.send(requests(sent_by(after), 50), durations(sent_by(after), 5))
        eventually(lambda: collector.sum(TOTAL) == 50, "the total of all requests")
        assert collector.sum(metric) == 1


def test_a_restarted_proxy_resets_its_totals(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        proxy = Proxy(mesh, "frontend")
        proxy.send(requests(sent_by(proxy), 40))
        eventually(lambda: collector.sum(TOTAL) == 40, "40 requests")
        again = Proxy(mesh, "frontend")
        again.send(requests(sent_by(again), 2))
        eventually(lambda: collector.sum(TOTAL) == 2, "a reset")


def test_the_default_address_is_that_of_both_families(mesh: Mesh, tmp_path: Path) -> None:
    """`start` waits for an answer to IPv4, and the proxy connects by it."""
    default = next(one.default for one in dataclasses.fields(Settings) if one.name == "address")
    with collecting(tmp_path, mesh, address=str(default)) as collector:
        proxy = Proxy(mesh, "frontend")
        proxy.send(requests(sent_by(proxy), 3))
        eventually(lambda: collector.sum(TOTAL) == 3, "3 requests")
        if socket.has_dualstack_ipv6():
            for port in (collector.port, mesh.port):
                socket.create_connection(("::1", port), timeout=60).close()


def test_every_reason_is_shown_before_its_first_event(mesh: Mesh, tmp_path: Path) -> None:
    """Prometheus sees no increase in a counter that appears with its first event."""
    source = "".join(file.read_text() for file in Path(series.__file__).parent.glob("*.py"))
    rejected = set(re.findall(r'(?:rejected\[|RejectedSeriesError\()"([a-z-]+)"', source))
    refused = set(re.findall(r'_refuse\(context, "([a-z-]+)"', source))
    assert (set(REJECTED), set(REFUSED)) == (rejected, refused)
    with collecting(tmp_path, mesh) as collector:
        for name, reasons in (("rejected_series_total", REJECTED), ("refused_streams_total", REFUSED)):
            found = {labels["reason"]: value for _, labels, value in collector.samples(f"{OWN}_{name}", tenant="a")}
            assert found == dict.fromkeys(reasons, 0)


def test_silent_proxies_are_forgotten(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh, limits={"idle": 1}) as collector:
        proxy = Proxy(mesh, "frontend")
        proxy.send(requests(sent_by(proxy), 1))
        eventually(lambda: collector.own("series") == 1, "a series")
        eventually(lambda: collector.own("series") == 0 == collector.own("proxies"), "its removal")


def test_a_renewed_certificate_counts_without_a_restart(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        mesh.authority = Authority("new")
        mesh.renew()
        stranger = Proxy(mesh, "frontend", authority=Authority("a"))
        stranger.send(requests(sent_by(stranger), 1))
        assert stranger.status() is grpc.StatusCode.UNAVAILABLE
        (mesh.folder / "ca.pem").write_bytes((mesh.folder / "server.pem").read_bytes())
        proxy = Proxy(mesh, "frontend")
        proxy.send(requests(sent_by(proxy), 1))
        eventually(lambda: collector.sum(TOTAL) == 1, "a stream under the new root")


def test_tcp_and_foreign_metrics(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        proxy = Proxy(mesh, "frontend")
        tags = sent_by(proxy, response_code="0", request_protocol="-")
        proxy.send(
            counter(flat("istio_tcp_sent_bytes_total", tags), 113),
            counter(flat("istio_tcp_connections_closed_total", tags), 2),
            counter("cluster.outbound|8080||x.upstream_rq_total", 7),
            counter("istiocustom.istio_build.component.proxy.tag.1", 1),
        )
        eventually(lambda: collector.sum("istio_tcp_sent_bytes_total", request_protocol="tcp") == 113, "bytes")
        assert collector.sum("istio_tcp_connections_closed_total") == 2
        assert collector.own("series") == 2
        assert collector.own("rejected_series_total") == 1


def test_a_message_that_is_none_ends_the_stream(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        proxy = Proxy(mesh, "frontend")
        proxy.waiting.put(b"\xff\xff\xff")
        assert proxy.status() is grpc.StatusCode.INVALID_ARGUMENT
        assert collector.own("refused_streams_total", reason="message") == 1


def test_access_logs_count_as_the_metrics_service(mesh: Mesh, tmp_path: Path) -> None:
    with collecting(tmp_path, mesh) as collector:
        front, back = Proxy(mesh, "frontend"), Proxy(mesh, "backend")
        common = {"response_code": "200", "response_flags": "-", "request_protocol": "HTTP/1.1", "duration": "7"}
        sent = {
            **common,
            "workload": "frontend",
            "upstream_local": front.principal,
            "upstream_peer": back.principal,
            "destination": "backend;bookshop;backend;v1;a-1",
            "upstream_cluster": "outbound|8080||backend.bookshop.svc.cluster.local",
        }
        received = {
            **common,
            "workload": "backend",
            "downstream_peer": front.principal,
            "downstream_local": back.principal,
            "upstream_cluster": "inbound|8080||",
        }
        export(mesh, front.principal, "frontend-1.bookshop", sent, sent, {**sent, "upstream_local": back.principal})
        export(mesh, back.principal, "backend-1.bookshop", received)
        ((_, labels, value),) = collector.samples(TOTAL, reporter="source")
        assert (labels["source_workload"], labels["destination_workload"], value) == ("frontend", "backend", 2)
        ((_, labels, value),) = collector.samples(TOTAL, reporter="destination")
        assert (labels["source_principal"], labels["destination_workload"], value) == (front.principal, "backend", 1)
        assert collector.sum("istio_request_duration_milliseconds_bucket", le="10") == 3
        assert collector.sum("istio_request_duration_milliseconds_bucket", le="5") == 0
        assert collector.own("rejected_series_total", reason="forged") == 1
        assert collector.samples(TOTAL, pod="frontend-1")
        for principal, node in (
            ("spiffe://b.mesh.test/ns/bookshop/sa/frontend", "frontend-1.bookshop"),
            (front.principal, "frontend-1.payments"),
            (front.principal, ""),
        ):
            with pytest.raises(grpc.RpcError) as error:
                export(mesh, principal, node, sent)
            assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize("cluster", ["inbound|8080||", "InboundPassthroughCluster", "-"])
def test_an_inbound_access_log_is_the_destinations_whatever_its_cluster(
    mesh: Mesh, tmp_path: Path, cluster: str
) -> None:
    """`-`: a request that the proxy rejects by itself. As a source's report it would be a call by this workload."""
    front, back = mesh.principal("frontend"), mesh.principal("backend")
    common = {"direction": "1", "workload": "backend", "downstream_peer": front, "downstream_local": back}
    request = {"upstream_cluster": cluster, "response_code": "400", "request_protocol": "HTTP/1.1"}
    connection = {"upstream_cluster": cluster, "response_code": "0", "request_protocol": "-", "sent": "9"}
    with collecting(tmp_path, mesh) as collector:
        export(mesh, back, "backend-1.bookshop", {**common, **request}, {**common, **connection})
        for metric, value in ((TOTAL, 1), ("istio_tcp_connections_closed_total", 1), ("istio_tcp_sent_bytes_total", 9)):
            ((_, labels, found),) = collector.samples(metric)
            assert found == value
            assert (labels["reporter"], labels["source_principal"]) == ("destination", front)
            assert (labels["destination_workload"], labels["destination_principal"]) == ("backend", back)
