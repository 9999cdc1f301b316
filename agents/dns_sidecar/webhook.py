"""external-dns' webhook provider interface, whose records are the DNSEndpoints that this program made."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .lease import Lease
from .made import Made
from .pace import Pace
from .records import Write, touched, writes

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
LARGEST_BODY = 64 * 2**20  # bytes
HOLD_SECONDS = 60.0
OK, NO_CONTENT, GONE, UNAVAILABLE = 200, 204, 410, 503
# At `GONE` external-dns ends, and kubelet starts it anew; at `UNAVAILABLE` it asks again.
AT_ONCE = 8
"""Requests to an edge that may be far away: else many names would take as many round trips."""
PASSES = 10
"""Over a change of which others write some objects meanwhile. Then external-dns comes back."""
Answer = tuple[int, bytes]


class Webhook:
    """made: what there is. lease: without it nothing is answered or written; external-dns waits, and goes on as soon as
    it is held. reads: whether what external-dns knows of the edge has been kept true."""

    def __init__(
        self,
        made: Made,
        namespace: str,
        lease: Lease,
        pace: Pace,
        at_once: int = AT_ONCE,
        reads: Callable[[], bool] = lambda: True,
    ) -> None:
        self._made, self._namespace, self._lease, self._pace, self._reads = made, namespace, lease, pace, reads
        self._writers = ThreadPoolExecutor(at_once)
        self._term, self._refused = 0, False
        self.writing = threading.Lock()
        """Held while something is written."""

    def records(self) -> Answer:
        """The question that begins a pass."""
        self._pace.wait()
        held = self._reads() and self._lease.wait(HOLD_SECONDS)
        if not self._reads():
            return GONE, b"{}"
        if not held:
            return UNAVAILABLE, b"{}"
        self._term = self._lease.term
        return self._tried(lambda: (OK, self._made.records()))

    def adjust(self, body: bytes) -> Answer:
        """The names that it found, which are taken as they are."""
        self._pace.planned()
        return OK, body if body.strip() not in (b"", b"null") else b"[]"

    def apply(self, body: bytes) -> Answer:
        changes = json.loads(body or b"null") or {}
        with self.writing:
            return self._tried(lambda: self._apply(changes))

    def _apply(self, changes: dict[str, Any]) -> Answer:
        names = touched(changes)
        for _ in range(PASSES):
            todo = writes(self._made.named(names), changes, self._namespace)
            self._refused = False
            begun = [self._writers.submit(self._write, one) for one in todo]
            wait(begun)
            written = [one.result() for one in begun]
            if all(written):
                return NO_CONTENT, b""
        print("records: others change the same objects all the time", flush=True)
        return UNAVAILABLE, b"{}"

    def _write(self, write: Write) -> bool:
        """False if somebody else changed the object meanwhile, or another one was refused. Raises OSError."""
        if self._refused:
            return False
        try:
            if not self._lease.held() or self._lease.term != self._term:
                raise OSError("the Lease was lost")
            print(f"records: {write.verb} DNSEndpoint {write.item['metadata']['name']}", flush=True)
            return self._made.write(write)
        except OSError:
            self._refused = True
            raise

    def _tried(self, act: Callable[[], Answer]) -> Answer:
        try:
            answer = act()
        except OSError as error:
            # external-dns takes it for passing, writes nothing and comes back.
            print(f"records: {error}", flush=True)
            answer = UNAVAILABLE, b"{}"
        if answer[0] == UNAVAILABLE:
            self._pace.failed()
        elif answer[0] == OK:
            self._pace.begin()
        return answer


def serve(webhook: Webhook, port: int) -> None:
    """Serves on the loopback, which the Pod's containers share, until the process ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path == "/":
                self._answer(OK, b"{}")  # no domain filter
            elif self.path == "/records":
                self._answer(*webhook.records())
            else:
                self._answer(404, b"{}")

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LARGEST_BODY:
                self._answer(413, b"{}")
                return
            body = self.rfile.read(length)
            if self.path == "/adjustendpoints":
                self._answer(*webhook.adjust(body))
            elif self.path == "/records":
                self._answer(*webhook.apply(body))
            else:
                self._answer(404, b"{}")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", MEDIA_TYPE)
            if status != NO_CONTENT:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, template: str, *values: object) -> None:
            """Not every request: what is written is logged."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
