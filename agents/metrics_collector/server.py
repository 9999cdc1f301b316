"""Listeners: one for each endpoint (gRPC over mTLS), and one for Prometheus (HTTP)."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from .exposition import CONTENT_TYPE, exposed
from .forwarding import Forwarder, Traces
from .receivers import LARGEST_MESSAGE, Receiver
from .settings import Endpoint, Settings
from .store import Tenant

EXPIRY_INTERVAL: Final = 5.0
GRACE: Final = 2.0
REQUEST_LIMIT: Final = 16 * 2**10
OPTIONS: Final = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.so_reuseport", 0),
    # A proxy whose node vanished leaves a half-open connection.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)


class Collector:
    """All listeners. Tenants by name: two endpoints of one tenant share its limits."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        names = dict.fromkeys(one.tenant for one in settings.endpoints)
        backend = settings.traces
        self.tenants = {
            name: Tenant(name, settings.limits, Traces(Forwarder(backend)) if backend else None) for name in names
        }
        self.ports: list[int] = []
        self.metrics_port = 0
        self.ready = False
        self._servers: list[Any] = []
        self._http: asyncio.Server | None = None
        self._expiry: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listens. Raises: OSError, or RuntimeError of gRPC, if a port is taken or a file is missing."""
        for endpoint in self.settings.endpoints:
            server = grpc.aio.server(options=OPTIONS)
            server.add_generic_rpc_handlers(tuple(Receiver(endpoint, self.tenants[endpoint.tenant]).handlers()))
            address = f"{self.settings.address}:{endpoint.port}"
            self.ports.append(server.add_secure_port(address, credentials(endpoint)))
            await server.start()
            self._servers.append(server)
        listener = listening(self.settings.address, self.settings.metrics_port)
        self._http = await asyncio.start_server(self._answer, sock=listener, limit=REQUEST_LIMIT)
        self.metrics_port = self._http.sockets[0].getsockname()[1]
        self._expiry = asyncio.create_task(self._expire())
        for traces in self._traces():
            traces.forwarder.start()
        self.ready = True

    async def stop(self) -> None:
        """Ends. Proxies open new streams at their next interval, and lose no total."""
        self.ready = False
        await asyncio.gather(*(server.stop(GRACE) for server in self._servers))
        await asyncio.gather(*(traces.forwarder.stop() for traces in self._traces()))
        if self._expiry:
            self._expiry.cancel()
        if self._http:
            self._http.close()
            await self._http.wait_closed()

    def _traces(self) -> list[Traces]:
        return [one.traces for one in self.tenants.values() if one.traces]

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(EXPIRY_INTERVAL)
            for tenant in self.tenants.values():
                tenant.expire()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One HTTP request, then the connection ends."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), timeout=10)
            line, _, rest = head.decode("latin-1").partition("\r\n")
            status, body = self._page(*line.split(" ")[:2])
            fields = [f"HTTP/1.1 {status}", f"Content-Type: {CONTENT_TYPE}", "Connection: close"]
            if "gzip" in rest.lower():
                body = await asyncio.to_thread(gzip.compress, body, 1)
                fields.append("Content-Encoding: gzip")
            fields.append(f"Content-Length: {len(body)}")
            writer.write("\r\n".join([*fields, "", ""]).encode() + body)
            await asyncio.wait_for(writer.drain(), timeout=30)
        writer.close()

    def _page(self, method: str = "", path: str = "") -> tuple[str, bytes]:
        if method != "GET":
            return "405 Method Not Allowed", b""
        pages: dict[str, Callable[[], tuple[str, bytes]]] = {
            "/metrics": lambda: ("200 OK", "".join(exposed(self.tenants.values())).encode()),
            "/healthy": lambda: ("200 OK", b"ok\n"),
            "/ready": lambda: ("200 OK", b"ok\n") if self.ready else ("503 Service Unavailable", b"stops\n"),
        }
        return pages.get(path.partition("?")[0], lambda: ("404 Not Found", b""))()


def listening(address: str, port: int) -> socket.socket:
    """A socket as gRPC makes it: `[::]` is IPv4 too, and is IPv4 alone on a machine without IPv6.

    asyncio would listen on IPv6 only.
    """
    host = address.strip("[]")
    if host == "::" and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"  # noqa: S104 (the Pod's own network)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")


def credentials(endpoint: Endpoint) -> Any:
    """TLS of an endpoint. A client certificate is required; changed files count from the next connection on."""
    files = (endpoint.certificate, endpoint.key, endpoint.authorities)
    read = _stamps(files)

    def configuration() -> Any:
        certificate, key, authorities = (path.read_bytes() for path in files)
        return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=authorities)

    def changed() -> Any:
        nonlocal read
        with contextlib.suppress(OSError):  # in the moment of a change: the old files stay
            if (now := _stamps(files)) != read:
                found = configuration()
                read = now
                return found
        return None

    return grpc.dynamic_ssl_server_credentials(configuration(), changed, require_client_authentication=True)


def _stamps(files: tuple[Path, ...]) -> list[tuple[int, int]]:
    return [((found := path.stat()).st_mtime_ns, found.st_ino) for path in files]


async def serve(settings: Settings) -> None:
    """Runs until SIGTERM or SIGINT."""
    collector = Collector(settings)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await collector.start()
    print(f"listens on {collector.ports}, metrics on {collector.metrics_port}", file=sys.stderr, flush=True)
    await stopped.wait()
    await collector.stop()
