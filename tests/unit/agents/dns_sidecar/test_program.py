"""The program as a process: `reader` and `publisher`, with API servers and an external-dns that this test serves."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from agents.dns_sidecar.records import object_name
from sandbox.bootstrap import CHECKOUT
from tests.support.authorities import Authority, pem
from tests.support.ports import free_port

LIMIT = 60  # seconds
NAME = "web.north.example.com"
RECORD = {"dnsName": NAME, "recordType": "TXT", "targets": ["text"]}
ENDPOINTS = "/apis/externaldns.k8s.io/v1alpha1/dnsendpoints"
ZONES = [{"provider": "inner", "include": ["north.example.com"], "exclude": [], "lease": "publisher", "types": ["TXT"]}]


def eventually(look: Callable[[], Any]) -> Any:
    """The first true result."""
    deadline = time.monotonic() + LIMIT
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


class Cluster:
    """An API server with Leases and DNSEndpoints."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self.gone = set[str]()
        self.endpoints: dict[str, dict[str, Any]] = {}
        self.version, self.changed, self.tokens = 1, threading.Condition(), set[str]()
        self.events: list[dict[str, Any]] = []

    def put(self, item: dict[str, Any], *, status: bool = False) -> dict[str, Any]:
        with self.changed:
            self.version += 1
            name = item["metadata"]["name"]
            old = self.endpoints.get(name)
            metadata = {"uid": name, "generation": 1, **item["metadata"], "resourceVersion": str(self.version)}
            self.endpoints[name] = (
                {**(old or {}), **item, "metadata": metadata} if status else {**item, "metadata": metadata}
            )
            kind = "MODIFIED" if old else "ADDED"
            self.events.append({"type": kind, "object": self.endpoints[name]})
            self.changed.notify_all()
            return self.endpoints[name]

    def respond(self, method: str, path: str, body: Any) -> Any:
        path, _, query = path.partition("?")
        name = path.removesuffix("/status").rpartition("/")[2]
        if path.endswith("/v1/leases"):
            key, _, value = parse_qs(query)["labelSelector"][0].partition("=")
            there = [one for one in self.leases.values() if one["metadata"].get("labels", {}).get(key) == value]
            return {"items": there}
        if "/leases/" in path:
            if name in self.gone:
                return None
            if method == "PUT":
                self.leases[name] = body
                if "deletionTimestamp" in body["metadata"] and not body["metadata"]["finalizers"]:
                    self.gone.add(name)
                    return self.leases.pop(name)
            return self.leases.setdefault(name, {"metadata": {"name": name}})
        if path == "/version":
            return {}
        if method in ("POST", "PUT"):
            return self.put(body, status=path.endswith("/status"))
        assert path.endswith("/dnsendpoints"), path
        return {"metadata": {"resourceVersion": str(self.version)}, "items": [*self.endpoints.values()]}

    def watch(self) -> Iterator[dict[str, Any]]:
        for number in itertools.count(1):
            with self.changed:
                self.changed.wait_for(partial(self.has_events, number))
            yield self.events[number - 1]

    def has_events(self, count: int) -> bool:
        return len(self.events) >= count


def handler_of(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            cluster.tokens.add(str(self.headers["Authorization"]))
            if "watch=1" in self.path:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for event in cluster.watch():
                    line = json.dumps(event).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
                return
            length = int(self.headers["Content-Length"] or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            found = cluster.respond(self.command, self.path, body)
            text = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_POST(self) -> None:
            self.do_GET()

        def do_PUT(self) -> None:
            self.do_GET()

        def log_message(self, template: str, *values: object) -> None: ...

    return Handler


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def request(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Waits until the program serves."""

    def attempt() -> tuple[int, Any] | None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        except ConnectionRefusedError:
            return None
        finally:
            connection.close()

    found: tuple[int, Any] = eventually(attempt)
    return found


class World:
    """A cluster, and files by which the program reaches it as its own cluster and as an edge."""

    def __init__(self, folder: Path, cluster: Cluster, port: int, authority: Authority) -> None:
        self.folder, self.cluster, self.port = folder, cluster, port
        self.account, self.pipe, self.kubeconfig = folder / "account", folder / "pipe", folder / "edge.json"
        self.account.mkdir()
        ca = pem(authority.certificate)
        for name, text in (("token", "of-the-pod"), ("namespace", "dns"), ("ca.crt", ca.decode())):
            (self.account / name).write_text(text)
        data = base64.b64encode(ca).decode()
        entry = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data}
        users = [{"user": {"token": "of-the-edge"}}]
        self.kubeconfig.write_text(json.dumps({"clusters": [{"cluster": entry}], "users": users}))

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """The program, as in a Pod: without packages outside the standard library."""
        cluster = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}
        command = [sys.executable, "-S", "-m", "dns_sidecar", *arguments]
        with subprocess.Popen(command, cwd=CHECKOUT / "agents", env={"PATH": os.defpath, **cluster}) as process:
            try:
                yield process
            finally:
                process.kill()

    def read_pipe(self) -> Any:
        """As external-dns reads its kubeconfig."""
        eventually(self.pipe.exists)
        return json.loads(self.pipe.read_text())

    def holder(self, lease: str) -> Any:
        return self.cluster.leases.get(lease, {}).get("spec", {}).get("holderIdentity")

    def conditions(self) -> Sequence[str]:
        item = self.cluster.endpoints.get(object_name(NAME), {})
        return [one["reason"] for one in item.get("status", {}).get("conditions", [])]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    authority, cluster = Authority("cluster"), Cluster()
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    key = tmp_path / "key.pem"
    served = authority.sign(x509.Name([]), authority.key.public_key(), names=names)
    key.write_bytes(
        pem(served)
        + authority.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(key)
    with serving(handler_of(cluster), tls) as port:
        yield World(tmp_path, cluster, port, authority)


def test_a_reader_stores_names_on_the_edge_and_sets_their_conditions(world: World) -> None:
    port, proxy = free_port(), free_port()
    config = world.folder / "config.json"
    config.write_text(
        json.dumps(
            {
                "lease": {"name": "reader", "seconds": 15, "account": str(world.account)},
                "kubeconfig": str(world.kubeconfig),
                "proxy": {"port": proxy, "pipe": str(world.pipe)},
                "namespace": "dns",
                "port": port,
                "zones": ZONES,
                "nameservers": [],
            }
        )
    )
    with world.running("reader", str(config)) as process:
        assert world.read_pipe()["clusters"][0]["cluster"] == {"server": f"http://127.0.0.1:{proxy}"}
        assert request(proxy, "GET", ENDPOINTS)[1]["items"] == []
        assert request(port, "GET", "/") == (200, {})
        assert request(port, "GET", "/records") == (200, [])
        assert request(port, "POST", "/adjustendpoints", [RECORD]) == (200, [RECORD])
        assert request(port, "POST", "/records", {"create": [RECORD]}) == (204, None)
        assert request(port, "GET", "/records") == (200, [RECORD])
        assert request(port, "GET", "/elsewhere")[0] == request(port, "POST", "/elsewhere", [])[0] == 404
        assert eventually(world.conditions) == ["Accepted", "Programmed"]
        assert world.cluster.tokens == {"Bearer of-the-pod", "Bearer of-the-edge"}
        assert world.holder("reader") == socket.gethostname()
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT)
    assert world.holder("reader") == ""


class Upstream(BaseHTTPRequestHandler):
    """The external-dns with the provider's credential."""

    records: list[Any]

    def do_GET(self) -> None:
        self._respond(200, self.records if self.path == "/records" else {"filter": "north"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/records":
            self.records += body["create"]
            self._respond(204, None)
        else:
            self._respond(200, body)

    def _respond(self, status: int, body: Any) -> None:
        self.send_response(status)
        self.end_headers()
        if body is not None:
            self.wfile.write(json.dumps(body).encode())

    def log_message(self, template: str, *values: object) -> None: ...


@pytest.mark.parametrize("own", [False, True], ids=["an edge's records", "the program's own"])
def test_a_publisher_passes_changes_on_while_it_holds_the_lease(world: World, own: bool) -> None:
    port, proxy = free_port(), free_port()
    conditions = world.folder / "conditions.json"
    conditions.write_text(json.dumps({"zones": ZONES, "nameservers": []}))
    edge = (f"--edge={world.kubeconfig}", f"--edge-port={proxy}", f"--edge-pipe={world.pipe}")
    more = (f"--conditions={conditions}",) if own else edge
    world.cluster.put({"metadata": {"name": object_name(NAME), "namespace": "dns"}, "spec": {"endpoints": [RECORD]}})
    upstream = type("Upstream", (Upstream,), {"records": []})
    with serving(upstream) as provider:
        lease = ("--lease=publisher", "--seconds=15", f"--account={world.account}", "--interval=60", "--metrics-port=1")
        with world.running("publisher", *lease, f"--port={port}", f"--upstream={provider}", *more) as process:
            if not own:
                assert request(port, "GET", "/records")[0] == 410  # before external-dns has its kubeconfig
                world.read_pipe()
                (item,) = eventually(lambda: request(proxy, "GET", ENDPOINTS)[1])["items"]
                assert item["spec"]["endpoints"] == [RECORD]
            assert request(port, "GET", "/") == (200, {"filter": "north"})
            assert request(port, "GET", "/records") == (200, [])
            assert request(port, "POST", "/adjustendpoints", [RECORD]) == (200, [RECORD])
            assert request(port, "POST", "/records", {"create": [RECORD]}) == (204, None)
            assert upstream.records == [RECORD]
            finalizers = world.cluster.leases["publisher"]["metadata"]["finalizers"]
            assert finalizers == ["hosted-mesh.io/dns-published"]
            assert eventually(world.conditions) == ["Accepted", "Programmed"] if own else world.conditions() == []
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
    assert world.holder("publisher") == ""


def test_a_renamed_publisher_takes_records_over_that_are_never_withdrawn(world: World) -> None:
    """Two processes, each with a Lease. Pulumi creates the second Lease, then it deletes the first."""
    first_port, second_port = free_port(), free_port()
    labels = {"hosted-mesh.io/dns-handover": "abc"}
    for name, created in (("old", "2026-01-01T00:00:00Z"), ("new", "2026-01-02T00:00:00Z")):
        metadata = {"name": name, "namespace": "dns", "labels": labels, "creationTimestamp": created}
        world.cluster.leases[name] = {"metadata": metadata}
    upstream = type("Upstream", (Upstream,), {"records": [RECORD]})
    common = ("--seconds=15", f"--account={world.account}", "--interval=60", "--metrics-port=1")
    with serving(upstream) as provider, ThreadPoolExecutor(1) as pool:

        def publisher(name: str, port: int) -> tuple[str, ...]:
            return "publisher", f"--lease={name}", *common, f"--port={port}", f"--upstream={provider}"

        with world.running(*publisher("old", first_port)), world.running(*publisher("new", second_port)):
            assert request(first_port, "GET", "/records") == (200, [RECORD])
            waiting = pool.submit(request, second_port, "GET", "/records")
            time.sleep(3)
            assert (world.holder("new"), waiting.done()) == (None, False)
            # All records are wanted until the Lease is gone: external-dns deletes none.
            while lease := world.cluster.leases.get("old"):
                lease["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"  # again, if a renewal replaced it
                assert request(first_port, "POST", "/adjustendpoints", [RECORD]) == (200, [RECORD])
            assert waiting.result(LIMIT) == (200, [RECORD])
            assert world.holder("new") == socket.gethostname()
            assert request(first_port, "POST", "/records", {"delete": [RECORD]})[0] == 503
    assert upstream.records == [RECORD]


def test_the_pipe_is_created_once(world: World) -> None:
    for _ in range(2):
        with world.running("pipe", str(world.pipe)) as process:
            assert process.wait(LIMIT) == 0
    assert world.pipe.is_fifo()
