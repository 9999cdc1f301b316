"""Real Envoys send access logs to the collector: TCP connections, and requests that a proxy rejects by itself."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.control_plane.pushed_metrics import LOG_ATTRIBUTES

from sandbox.toolchain import Tools
from tests.support import pushing_envoys as envoys
from tests.support.ports import free_port
from tests.support.waiting import eventually
from tests.unit.agents.metrics_collector.collecting import HOST, Collector, Mesh, collecting

OPENED, CLOSED = "istio_tcp_connections_opened_total", "istio_tcp_connections_closed_total"
SENT, RECEIVED = "istio_tcp_sent_bytes_total", "istio_tcp_received_bytes_total"
REQUESTS = "istio_requests_total"
PORTS = {"tcp": 5432, "http": 8080, "closed": 9999}
NO_HTTP = b"this is no request\r\n\r\n"


@dataclass(frozen=True)
class Pair:
    """A caller and a called workload, each behind an Envoy. entries: the caller's ports by their way at the other."""

    collector: Collector
    caller: envoys.Workload
    called: envoys.Workload
    entries: dict[str, int]

    def labels(self, reporter: str) -> dict[str, str]:
        ends = {"source_principal": self.caller.principal, "destination_principal": self.called.principal}
        return {"reporter": reporter, **ends}

    def open(self, way: str) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.entries[way]), timeout=30)

    def exchange(self, way: str, sent: bytes) -> int:
        """Bytes of the answer, until the other side closes."""
        with self.open(way) as connection:
            connection.sendall(sent)
            return received(connection)

    def counts(self, metric: str, number: float) -> None:
        """Waits until both ends have the number, and no other series has any."""
        for reporter in ("source", "destination"):
            eventually(lambda: self.collector.sum(metric, **self.labels(reporter)) == number, f"{metric}: {number}")  # noqa: B023
        assert self.collector.sum(metric) == 2 * number


def received(connection: socket.socket) -> int:
    found = 0
    while data := connection.recv(65536):
        found += len(data)
    return found


def request(*, body: int = 0) -> bytes:
    """An HTTP request, which is opaque to a TCP proxy. The workload answers it and closes."""
    return (
        f"POST / HTTP/1.1\r\nHost: ledger\r\nContent-Length: {body}\r\nConnection: close\r\n\r\n".encode() + b"x" * body
    )


@pytest.fixture
def pair(tools: Tools, tmp_path: Path) -> Iterator[Pair]:
    """All ways of the caller are TCP over mTLS. At the called one they end in TCP, in HTTP, or are rejected."""
    mesh = Mesh("a", tmp_path / "a")
    caller, called = (envoys.Workload(tmp_path, name, mesh.domain, mesh.authority) for name in ("frontend", "ledger"))
    entries, inside = ({way: free_port() for way in PORTS} for _ in range(2))
    app, *admins = (free_port() for _ in range(3))
    own, other = called.socket(server=True), caller.socket(name=called.principal)
    listeners: list[dict[str, Any]] = [envoys.listener(app, None)]
    listeners.append(envoys.listener(inside["http"], "inbound|8080||", socket=own, logs=LOG_ATTRIBUTES))
    for way in ("tcp", "closed"):
        listeners.append(
            envoys.tcp_listener(
                inside[way], f"inbound|{PORTS[way]}||", socket=own, logs=LOG_ATTRIBUTES, rejects=way == "closed"
            )
        )
    clusters = [envoys.cluster(f"inbound|{port}||", app) for port in PORTS.values()]
    away = {way: f"outbound|{port}||ledger.bookshop.svc.cluster.local" for way, port in PORTS.items()}
    outside = [envoys.tcp_listener(entries[way], away[way], logs=LOG_ATTRIBUTES, is_client=True) for way in PORTS]
    ways = [envoys.cluster(away[way], inside[way], other) for way in PORTS]
    with collecting(tmp_path, mesh) as collector, ExitStack() as stack:
        for workload, here, there, admin in (
            (called, listeners, clusters, admins[0]),
            (caller, outside, ways, admins[1]),
        ):
            push = envoys.cluster("collector", mesh.port, workload.socket(name=HOST), grpc=True)
            resources = {"listeners": here, "clusters": [*there, push]}
            stack.enter_context(envoys.envoy(tools, workload, resources, admin, pushes=False))
        yield Pair(collector, caller, called, entries)


def test_connections_and_bytes_of_both_ends_equal_the_traffic(pair: Pair) -> None:
    """An open connection has no access log: it counts, with all its bytes, when it closes."""
    bodies = (0, 1, 70_000)
    answered = [pair.exchange("tcp", request(body=body)) for body in bodies]
    sent = [len(request(body=body)) for body in bodies]
    pair.counts(CLOSED, 3)
    pair.counts(SENT, sum(answered))
    pair.counts(RECEIVED, sum(sent))
    with pair.open("tcp") as held:
        held.sendall(request()[:20])
        answered.append(pair.exchange("tcp", request()))
        sent.append(len(request()))
        pair.counts(CLOSED, 4)
        pair.counts(RECEIVED, sum(sent))
        held.sendall(request()[20:])
        answered.append(received(held))
        sent.append(len(request()))
    pair.counts(CLOSED, 5)
    pair.counts(SENT, sum(answered))
    pair.counts(RECEIVED, sum(sent))
    assert pair.collector.sum(OPENED) == pair.collector.sum(REQUESTS) == 0
    assert pair.collector.own("rejected_series_total") == 0


def test_rejected_connections_and_requests_count_at_the_end_that_rejects_them(pair: Pair) -> None:
    """Before the direction was sent, a rejected request was a call by the called workload: it has no cluster."""
    assert pair.exchange("closed", request()) == 0
    pair.counts(CLOSED, 1)
    pair.counts(SENT, 0)
    answer = pair.exchange("http", NO_HTTP)
    eventually(lambda: pair.collector.sum(REQUESTS) == 1, "the rejected request")
    labels = {**pair.labels("destination"), "destination_workload": "ledger", "response_code": "400"}
    assert pair.collector.sum(REQUESTS, **labels) == 1
    # The caller's proxy does not read HTTP: for it this is a connection.
    source = pair.labels("source")
    eventually(lambda: pair.collector.sum(CLOSED, **source) == 2, "its connection")
    assert pair.collector.sum(SENT, **source) == answer > 0
    assert pair.collector.own("rejected_series_total") == 0
