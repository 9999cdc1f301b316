"""`python3 -m edge_writer.gate`: between the external-dns that plans an edge's records and the one that writes them.

The second is a webhook provider with the provider's credential; every request to it passes here. A replica that does
not hold the Lease gets no answer to the first question of a round, so it plans nothing and writes nothing. A large
change goes on in pieces, so that a Lease that is lost ends it soon.

With `--conditions` it also keeps the conditions of the DNSEndpoints of its namespace: those that the program wrote.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .api import OwnApi, OwnEndpointsApi
from .lease import Lease
from .status import StatusKeeper
from .webhook import MEDIA_TYPE

Changes = dict[str, list[dict[str, Any]]]
AT_ONCE = 500
"""Records in one piece."""
HOLD_SECONDS, START_SECONDS, WRITE_SECONDS = 60.0, 30.0, 600.0
PARTS = ("create", "updateOld", "updateNew", "delete")
OK, NO_CONTENT, ERROR, UNAVAILABLE = 200, 204, 300, 503


def pieces(changes: dict[str, Any], at_once: int = AT_ONCE) -> Iterator[Changes]:
    """The same changes in several requests. All records of a name stay together, also those that say who owns it."""
    by_name: dict[str, Changes] = {}
    for part in PARTS:
        for one in changes.get(part) or []:
            # The registry's record of a name is `<type>-owner.<name>`.
            name = one["dnsName"].partition("-owner.")[2] or one["dnsName"].replace("*.", "any.")
            by_name.setdefault(name, {each: [] for each in PARTS})[part].append(one)
    piece, size = {part: list[dict[str, Any]]() for part in PARTS}, 0
    for of_name in by_name.values():
        for part in PARTS:
            piece[part] += of_name[part]
        size += sum(map(len, of_name.values()))
        if size >= at_once:
            yield piece
            piece, size = {part: [] for part in PARTS}, 0
    if size:
        yield piece


class Gate:
    """upstream: port on the loopback of the external-dns that has the provider's credential."""

    def __init__(self, lease: Lease, upstream: int) -> None:
        self._lease, self._upstream = lease, upstream
        self._refused_changes = False
        self.writing = threading.Lock()

    def negotiate(self) -> tuple[int, bytes]:
        """Waits for the other, which is started at the same time."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self._ask("GET", "/")
            except OSError:
                if time.monotonic() > deadline:
                    return UNAVAILABLE, b""
                time.sleep(0.2)

    def records(self) -> tuple[int, bytes]:
        """The question that begins a round. Who does not hold the Lease waits here, and goes on when it does."""
        if not self._lease.wait(HOLD_SECONDS):
            return UNAVAILABLE, b""
        status, body = self._tried("GET", "/records")
        if status >= ERROR:
            self._lease.note("its records cannot be read")
        elif self._refused_changes:
            self._refused_changes = False  # said again if this round's are refused too
        else:
            self._lease.note("")
        return status, body

    def adjust(self, body: bytes) -> tuple[int, bytes]:
        return self._tried("POST", "/adjustendpoints", body)

    def apply(self, body: bytes) -> tuple[int, bytes]:
        with self.writing:
            for piece in pieces(json.loads(body)):
                if not self._lease.held():
                    return UNAVAILABLE, b""
                status, _ = self._tried("POST", "/records", json.dumps(piece).encode())
                if status >= ERROR:
                    self._refused_changes = True
                    self._lease.note("it does not take changes")
                    return status, b""
            self._lease.note("")
            return NO_CONTENT, b""

    def _tried(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            return self._ask(method, path, body)
        except OSError as error:
            print(f"gate: {method} {path}: {type(error).__name__}", flush=True)
            return UNAVAILABLE, b""

    def _ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=WRITE_SECONDS)
        try:
            connection.request(method, path, body, {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise OSError(type(error).__name__) from None
        finally:
            connection.close()


def serve(gate: Gate, port: int) -> None:
    """Serves on the loopback, which the Pod's containers share, until the process ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(*(gate.records() if self.path == "/records" else gate.negotiate()))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(*(gate.apply(body) if self.path == "/records" else gate.adjust(body)))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", MEDIA_TYPE)
            if status != NO_CONTENT:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if status != NO_CONTENT else b"")

        def log_message(self, template: str, *values: object) -> None:
            """Not every request: the external-dns beside it logs what is written."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def start(run: Callable[[], None]) -> None:
    """Runs it beside all else. The process ends with it: else the Pod would look well and do half of its work."""

    def work() -> None:
        try:
            run()
        finally:
            os._exit(1)

    threading.Thread(target=work, daemon=True).start()


def end_with(lease: Lease, writing: threading.Lock) -> None:
    """At the Pod's end gives the Lease back, once nothing is being written any more."""

    def stop(*_: object) -> None:
        raise SystemExit

    signal.signal(signal.SIGTERM, stop)
    try:
        lease.run()
    finally:  # without the election the Pod would look well and never act again
        try:
            # No longer than until the Pod is killed: then the Lease runs out by itself.
            if writing.acquire(timeout=2):
                lease.release()
        finally:
            os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lease", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--account", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", type=int, required=True)
    parser.add_argument("--conditions", type=Path, help="a JSON file with `zones` and `nameservers`")
    given = parser.parse_args()
    own = OwnApi(given.account)
    lease = Lease(own, given.lease, socket.gethostname(), given.seconds)
    gate = Gate(lease, given.upstream)
    start(lambda: serve(gate, given.port))
    if given.conditions:
        config = json.loads(given.conditions.read_text(encoding="utf-8"))
        start(StatusKeeper.of(config, OwnEndpointsApi(given.account), own, lease).run)
    end_with(lease, gate.writing)


if __name__ == "__main__":
    main()
