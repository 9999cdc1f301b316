"""The proxy between external-dns and an edge, and the pipe of its kubeconfig."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from agents.dns_sidecar.api import EdgeApi, EndpointsApi
from agents.dns_sidecar.edge_proxy import WAIT_SECONDS as PROXY_WAIT_SECONDS
from agents.dns_sidecar.edge_proxy import EdgeProxy, server
from agents.dns_sidecar.kubeconfig_pipe import make_pipe, proxy_kubeconfig, serve_once
from agents.dns_sidecar.leader_gate import LeaderGate
from agents.dns_sidecar.lease import Lease
from agents.dns_sidecar.owned_endpoints import OwnedEndpoints
from agents.dns_sidecar.throttle import SyncThrottle
from agents.dns_sidecar.webhook import DnsEndpointProvider

ENDPOINTS = "/apis/externaldns.k8s.io/v1alpha1/dnsendpoints"
GATEWAYS = "/apis/networking.istio.io/v1/gateways"
ALLOWED = [{"name": "alias", "value": "true"}, {"name": "aws/weight", "value": "9"}]
# With another prefix external-dns would drop it, because its provider is a webhook.
PASSED_ON = [{"name": "alias", "value": "true"}, {"name": "webhook/aws/weight", "value": "9"}]
PROXIED = {"name": "external-dns.alpha.kubernetes.io/cloudflare-proxied", "value": "true"}
PROXIED_ON = {**PROXIED, "name": f"webhook/{PROXIED['name']}"}
RECORD = {
    "dnsName": "shop.example.com",
    "recordType": "A",
    "recordTTL": 5,
    "setIdentifier": "one",
    "targets": ["192.0.2.1"],
}
# Names below its own name: istiod.mesh.shop.example.com can belong to another owner.
ELSEWHERE = {"labels": {"192.0.2.1": "istiod.mesh", "originalText": "text"}, "Labels": {"192.0.2.1": "istiod.mesh"}}
HOSTNAME = {"name": "external-dns.alpha.kubernetes.io/cloudflare-custom-hostname", "value": "bank.example.org"}
NOTED = {
    "metadata": {"name": "a", "generation": 3, "managedFields": [{}]},
    "spec": {
        "endpoints": [
            {**RECORD, **ELSEWHERE, "providerSpecific": [*ALLOWED, PROXIED, HOSTNAME]},
            {**RECORD, "providerSpecific": [HOSTNAME]},
            None,
        ]
    },
    "status": {"conditions": [{"type": "Ready"}]},
}
WAIT_SECONDS = 30


class Held:
    """A Lease, as one replica sees it."""

    def __init__(self) -> None:
        self.is_held, self.term, self.changed = True, 1, threading.Condition()
        self.writing = threading.Lock()
        self.patience = float(WAIT_SECONDS)
        self.is_terminating = False

    def held(self) -> bool:
        return self.is_held

    def wait(self, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(self.held, min(seconds, self.patience))

    def take(self) -> None:
        with self.changed:
            self.is_held = True
            self.changed.notify_all()


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Edge:
    """An API server. A watch returns one object, and then nothing until the test ends."""

    def __init__(self) -> None:
        self.asked, self.tokens, self.over = list[str](), set[str](), threading.Event()
        self.half = False
        edge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                edge.asked.append(self.path)
                edge.tokens.add(self.headers["Authorization"])
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                if "watch=" in self.path:
                    self._part(json.dumps({"type": "ADDED", "object": NOTED}) + "\n")
                    edge.over.wait(WAIT_SECONDS)
                else:
                    self._part(json.dumps({"kind": "List", "items": [NOTED]}))
                    if edge.half:
                        self.close_connection = True
                        return
                with suppress(OSError):  # the client may have disconnected
                    self.wfile.write(b"0\r\n\r\n")

            def _part(self, text: str) -> None:
                self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())

            def log_message(self, template: str, *values: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


class Plain(EndpointsApi):
    """The client of that server, without TLS."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        return cast(http.client.HTTPSConnection, http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": "Bearer of-the-edge"}


class World:
    """An edge, the proxy to it, and a client without a credential, like external-dns."""

    def __init__(self, edge: Edge, api: Plain, port: int, proxy: EdgeProxy, lease: Held, clock: Clock) -> None:
        self.edge, self.api, self.port = edge, api, port
        self.proxy, self.lease, self.clock = proxy, lease, clock

    def ask(self, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        connection.request("GET", path, headers={"Accept": "application/json"})
        return connection.getresponse()


@pytest.fixture
def world() -> Iterator[World]:
    edge, lease, clock = Edge(), Held(), Clock()
    api = Plain(edge.server.server_port)
    proxy = EdgeProxy(cast(EdgeApi, api), cast(Lease, lease), clock)
    with running(edge.server), running(serving := server(proxy, 0)):
        yield World(edge, api, serving.server_port, proxy, lease, clock)
        edge.over.set()


@contextmanager
def running(one: ThreadingHTTPServer) -> Iterator[None]:
    one.daemon_threads = True
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        one.shutdown()
        one.server_close()
        thread.join()


def test_a_watch_lasts_an_hour_and_tells_at_once(world: World) -> None:
    world.proxy.activate()
    answer = world.ask(f"{GATEWAYS}?allowWatchBookmarks=true&timeoutSeconds=377&watch=true")
    assert json.loads(answer.readline()) == {"type": "ADDED", "object": NOTED}  # while the watch goes on
    assert world.edge.asked == [f"{GATEWAYS}?allowWatchBookmarks=true&timeoutSeconds=3600&watch=true"]
    assert world.edge.tokens == {"Bearer of-the-edge"}


def test_external_dns_finds_its_note_in_each_object_and_of_its_records_what_names_nothing_else(world: World) -> None:
    world.proxy.activate()
    seen = {
        "metadata": {"name": "a", "generation": 3},
        "spec": {"endpoints": [{**RECORD, "providerSpecific": [*PASSED_ON, PROXIED_ON]}, RECORD]},
        "status": {**cast(Any, NOTED["status"]), "observedGeneration": 3},
    }
    assert json.loads(world.ask(ENDPOINTS).read())["items"] == [seen]
    assert json.loads(world.ask(f"{ENDPOINTS}?watch=1").readline())["object"] == seen


@pytest.mark.parametrize("path", [GATEWAYS, ENDPOINTS])
def test_half_of_a_list_is_no_list(world: World, path: str) -> None:
    world.proxy.activate()
    assert len(json.loads(world.ask(path).read())["items"]) == 1
    world.edge.half = True
    with pytest.raises(http.client.IncompleteRead):
        world.ask(path).read()


def test_who_stands_by_asks_the_edge_for_nothing(world: World) -> None:
    assert [world.ask(path).status for path in (GATEWAYS, f"{ENDPOINTS}?watch=1")] == [503, 503]
    world.lease.is_held, world.lease.patience = False, 0
    assert not world.proxy.ready()
    assert world.edge.asked == []


def test_who_lost_the_lease_for_good_is_cut_off_and_ends(world: World) -> None:
    endpoints, upstream = cast(OwnedEndpoints, None), 1
    lease = cast(Lease, world.lease)
    webhook = DnsEndpointProvider(
        endpoints, "dns", lease, SyncThrottle(15, world.clock), cache_valid=lambda: world.proxy.active
    )
    gate = LeaderGate(lease, upstream, 60, world.clock, lambda: world.proxy.active)
    assert (webhook.records()[0], gate.records()[0]) == (410, 410)  # it read by a proxy that is gone
    world.proxy.activate()
    watch = world.ask(f"{GATEWAYS}?watch=1")
    assert watch.readline()
    own = world.api.watch("1", 3600)
    assert next(own)["type"] == "ADDED"
    world.lease.is_held = False
    for _ in range(60):
        world.clock.now += 1
        world.proxy.check_lease()
    assert world.proxy.active
    world.clock.now += 1
    world.proxy.check_lease()
    with pytest.raises(http.client.IncompleteRead):
        watch.read()
    assert world.ask(GATEWAYS).status == 503
    assert list(own) == []  # this program's own watch ended too
    world.lease.take()  # its view of the edge is old nevertheless
    assert (webhook.records()[0], gate.records()[0]) == (410, 410)


def test_a_lease_that_is_lost_for_a_moment_cuts_nobody_off(world: World) -> None:
    world.proxy.activate()
    for held in (False, True, False, True):
        world.lease.is_held = held
        for _ in range(50):
            world.clock.now += 1
            world.proxy.check_lease()
    assert world.proxy.active


def test_each_external_dns_gets_one_kubeconfig_when_the_lease_is_there(world: World, tmp_path: Path) -> None:
    pipe = tmp_path / "kubeconfig"
    make_pipe(pipe)
    make_pipe(pipe)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            world.lease.is_held = False
            given = pool.submit(serve_once, pipe, proxy_kubeconfig(8890), world.proxy.ready, world.proxy.activate)
            read = pool.submit(pipe.read_text)
            assert not world.proxy.active
            world.lease.take()
            given.result(WAIT_SECONDS)
            assert json.loads(read.result(WAIT_SECONDS))["clusters"][0]["cluster"] == {
                "server": "http://127.0.0.1:8890"
            }
            assert world.proxy.active
            world.proxy.deactivate()
    assert world.edge.asked == ["/version"] * 3


def test_one_that_reads_late_gets_its_own_kubeconfig_alone(world: World, tmp_path: Path) -> None:
    pipe, late = tmp_path / "kubeconfig", threading.Event()
    make_pipe(pipe)

    def read_late() -> str:
        with pipe.open() as opened:
            late.wait(WAIT_SECONDS)
            return opened.read()

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(read_late)
        serve_once(pipe, proxy_kubeconfig(1), world.proxy.ready, world.proxy.activate)
        given = pool.submit(serve_once, pipe, proxy_kubeconfig(2), world.proxy.ready, world.proxy.activate)
        assert pool.submit(pipe.read_text).result(WAIT_SECONDS) == proxy_kubeconfig(2)
        given.result(WAIT_SECONDS)
        late.set()
        assert first.result(WAIT_SECONDS) == proxy_kubeconfig(1)


def test_of_two_that_open_the_pipe_at_once_one_gets_the_kubeconfig_whole(world: World, tmp_path: Path) -> None:
    """The other reads nothing and exits; after its restart it waits at the next pipe."""
    pipe, opened = tmp_path / "kubeconfig", threading.Barrier(3, timeout=WAIT_SECONDS)
    make_pipe(pipe)

    def read() -> str:
        with pipe.open() as one:
            opened.wait()
            return one.read()

    with ThreadPoolExecutor(4) as pool:
        world.lease.is_held = False
        both = [pool.submit(read) for _ in range(2)]
        given = pool.submit(serve_once, pipe, proxy_kubeconfig(1), world.proxy.ready, world.proxy.activate)
        opened.wait()
        world.lease.take()
        given.result(WAIT_SECONDS)
        assert sorted(one.result(WAIT_SECONDS) for one in both) == ["", proxy_kubeconfig(1)]
        again = pool.submit(pipe.read_text)
        serve_once(pipe, proxy_kubeconfig(2), world.proxy.ready, world.proxy.activate)
        assert again.result(WAIT_SECONDS) == proxy_kubeconfig(2)


def test_an_edge_that_is_away_is_waited_for() -> None:
    """External-dns would end, and be started anew less and less often."""
    away, clock = Edge(), Clock()
    away.server.server_close()
    proxy = EdgeProxy(cast(EdgeApi, Plain(away.server.server_port)), cast(Lease, Held()), clock)
    assert [proxy.ready() for _ in range(6)] == [False] * 6
    assert clock.now == 1000 + 1 + 2 + 4 + 8 + 15 + 15


def test_an_edge_whose_records_are_to_go_is_not_asked_any_more(world: World) -> None:
    """It may be gone. External-dns finds the kind, and no object of it."""
    world.lease.is_terminating = True
    assert world.proxy.ready()
    world.proxy.activate()
    group = ENDPOINTS.rpartition("/")[0]
    assert [one["kind"] for one in json.loads(world.ask(group).read())["resources"]] == ["DNSEndpoint"]
    assert [json.loads(world.ask(path).read())["kind"] for path in ("/api", "/apis")] == ["APIVersions", "APIGroupList"]
    found = json.loads(world.ask(f"{ENDPOINTS}?limit=500").read())
    assert (found["kind"], found["items"]) == ("DNSEndpointList", [])
    watch = world.ask(f"{ENDPOINTS}?sendInitialEvents=true&watch=true")
    (event,) = (json.loads(line) for line in watch.read().splitlines())
    assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert world.clock.now == Clock.now + PROXY_WAIT_SECONDS  # a watch that ends at once would be repeated at once
    assert world.edge.asked == []
