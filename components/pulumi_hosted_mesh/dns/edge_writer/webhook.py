"""external-dns' webhook provider interface, whose records are the DNSEndpoints that this program made."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .api import ApiError, EdgeApi
from .lease import Lease
from .records import MADE, MADE_LABEL, endpoints_of, writes

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
LARGEST_BODY = 64 * 2**20  # bytes
HOLD_SECONDS = 60.0
CONFLICT = 409
PASSES = 10
"""Over a change of which others write some objects meanwhile. Then external-dns comes back, an interval later."""


def serve(api: EdgeApi, namespace: str, port: int, lease: Lease, writing: threading.Lock) -> None:
    """Serves on the loopback, which the Pod's containers share, until the process ends.

    lease: without it nothing is answered or written; external-dns waits, and goes on as soon as it is held. writing:
    held while something is written.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/":
                self._answer(200, {})  # no domain filter
            elif self.path == "/records":
                self._try(lambda: _records(api, namespace, lease))
            else:
                self._answer(404, {})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LARGEST_BODY:
                self._answer(413, {})
                return
            given = json.loads(self.rfile.read(length) or b"null")
            if self.path == "/adjustendpoints":
                self._answer(200, given or [])
            elif self.path == "/records":
                with writing:
                    self._try(lambda: _apply(api, namespace, given or {}, lease))
            else:
                self._answer(404, {})

        def _try(self, act: Any) -> None:
            try:
                self._answer(*act())
            except OSError as error:
                # external-dns takes it for passing, writes nothing and comes back.
                print(f"records: {error}", flush=True)
                self._answer(503, {})

        def _answer(self, status: int, document: Any) -> None:
            body = b"" if status == 204 else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", MEDIA_TYPE)
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, template: str, *values: object) -> None:
            """Not every request: what is written is logged."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def _made(api: EdgeApi, namespace: str) -> list[dict[str, Any]]:
    return api.list(namespace, f"{MADE_LABEL}={MADE}")[0]


def _records(api: EdgeApi, namespace: str, lease: Lease) -> tuple[int, Any]:
    if not lease.wait(HOLD_SECONDS):
        return 503, {}
    return 200, endpoints_of(_made(api, namespace))


def _apply(api: EdgeApi, namespace: str, changes: dict[str, Any], lease: Lease) -> tuple[int, Any]:
    for _ in range(PASSES):
        changed = False
        for write in writes(_made(api, namespace), changes, namespace):
            if not lease.held():
                return 503, {}
            print(f"records: {write.verb} DNSEndpoint {write.item['metadata']['name']}", flush=True)
            try:
                getattr(api, write.verb)(write.item)
            except ApiError as error:
                if error.status != CONFLICT:
                    raise
                changed = True  # its conditions were written since it was read, for one: the next pass reads it again
        if not changed:
            return 204, None
    return 503, {}
