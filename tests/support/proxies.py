"""Proxies of a test's own, which connect every host to one server."""

from __future__ import annotations

import select
import socket
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import StreamRequestHandler
from typing import Any


class ConnectingProxy(ThreadingHTTPServer):
    """Keeps the target and the credential of each CONNECT, and connects to `port` of 127.0.0.1."""

    def __init__(self, port: int, handler: type | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or _Connect)
        self.port = port
        self.received: list[tuple[str, str | None]] = []


class _Connect(BaseHTTPRequestHandler):
    server: ConnectingProxy

    def do_CONNECT(self) -> None:
        self.server.received.append((self.path, self.headers.get("Proxy-Authorization")))
        self.send_response(200)
        self.end_headers()
        relay(self.connection, self.server.port)

    def log_message(self, *arguments: Any) -> None:
        pass


class Socks5(StreamRequestHandler):
    """SOCKS5 without a login (RFC 1928), for a ConnectingProxy."""

    server: ConnectingProxy

    def handle(self) -> None:
        _, methods = self.rfile.read(2)
        self.rfile.read(methods)
        self.wfile.write(b"\x05\x00")
        kind = self.rfile.read(4)[3]
        size = {1: 4, 4: 16}.get(kind) or self.rfile.read(1)[0]
        host = self.rfile.read(size).decode(errors="replace")
        (port,) = struct.unpack("!H", self.rfile.read(2))
        self.server.received.append((f"{host}:{port}", None))
        self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
        relay(self.connection, self.server.port)


def relay(client: socket.socket, port: int) -> None:
    """Copies bytes both ways until one side ends."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        others = {client: server, server: client}
        while True:
            for one in select.select(list(others), [], [])[0]:
                content = one.recv(65536)
                if not content:
                    return
                others[one].sendall(content)
