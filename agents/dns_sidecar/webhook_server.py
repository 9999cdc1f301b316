"""The HTTP server of external-dns' webhook provider interface, on the loopback."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
MAX_BODY = 64 * 2**20  # bytes
OK, NO_CONTENT, NOT_FOUND, GONE, TOO_LARGE, UNAVAILABLE = 200, 204, 404, 410, 413, 503
# External-dns exits on `GONE`, and kubelet restarts it. On `UNAVAILABLE` external-dns retries.
Response = tuple[int, bytes]
"""Status and body."""


class Provider(Protocol):
    """The four requests of external-dns."""

    def negotiate(self) -> Response:
        """`GET /`: the domain filter."""

    def records(self) -> Response:
        """`GET /records`: all records. Starts a pass."""

    def adjust(self, body: bytes) -> Response:
        """`POST /adjustendpoints`: the wanted records, in the form that the provider stores."""

    def apply(self, body: bytes) -> Response:
        """`POST /records`: writes changes."""


def serve(provider: Provider, port: int) -> None:
    """Serves until the process ends. The Pod's containers share the loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            handlers = {"/": provider.negotiate, "/records": provider.records}
            handle = handlers.get(self.path)
            self._respond(*(handle() if handle else (NOT_FOUND, b"{}")))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > MAX_BODY:
                self.close_connection = True  # the body is unread
                self._respond(TOO_LARGE, b"{}")
                return
            body = self.rfile.read(length)
            handlers = {"/adjustendpoints": provider.adjust, "/records": provider.apply}
            handle = handlers.get(self.path)
            self._respond(*(handle(body) if handle else (NOT_FOUND, b"{}")))

        def _respond(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", MEDIA_TYPE)
            if status != NO_CONTENT:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if status != NO_CONTENT else b"")

        def log_message(self, template: str, *values: object) -> None:
            """Logs no request: external-dns and the provider log writes."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
