"""`python3 -m edge_writer.gate`: between the external-dns that plans an edge's records and the one that writes them.

The second is a webhook provider with the provider's credential; every request to it passes here. A replica that does
not hold the Lease gets no answer to the first question of a round, so it plans nothing and writes nothing. A large
change goes on in pieces, so that a Lease that is lost ends it soon.

The first one begins a round each second, so that a change is published soon. The provider does not notice: what it said
last is its answer until something is written, at most for an interval.

When its Lease is deleted, all records of this publisher are to go: the first one is told that nothing is wanted, and
the Lease is let go after a round that had nothing to take away any more.

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

from .api import EdgeApi, OwnApi, OwnEndpointsApi
from .lease import Lease
from .pace import Clock, Pace
from .proxy import EdgeProxy, hand_over_always, server
from .status import StatusKeeper
from .webhook import MEDIA_TYPE

Changes = dict[str, list[dict[str, Any]]]
AT_ONCE = 500
"""Records in one piece."""
HOLD_SECONDS, START_SECONDS, WRITE_SECONDS = 60.0, 30.0, 600.0
READ_SECONDS = 5.0
"""Between two questions for all of a provider's records: as external-dns asks by itself while changes come."""
PARTS = ("create", "updateOld", "updateNew", "delete")
OK, NO_CONTENT, ERROR, GONE, UNAVAILABLE = 200, 204, 300, 410, 503


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
    """upstream: port on the loopback of the external-dns that has the provider's credential.

    interval: seconds for which the provider's records are taken to be as they were. reads: whether what the one that
    plans knows of the edge has been kept true.
    """

    def __init__(
        self,
        lease: Lease,
        upstream: int,
        interval: float,
        clock: Clock = time,
        reads: Callable[[], bool] = lambda: True,
    ) -> None:
        self._lease, self._upstream, self._interval, self._clock = lease, upstream, interval, clock
        self._reads = reads
        self._pace = Pace(interval, clock)
        self._refused_changes = False
        self._wanted_nothing = False
        """In this round, in which nothing was written either: no record is left."""
        self._known: bytes | None = None
        self._read_at = -READ_SECONDS
        self._written: dict[str, list[str]] = {}
        self._term = 0
        """Of the Lease, in which `_known` was read and the round began."""
        self.writing = threading.Lock()

    def negotiate(self) -> tuple[int, bytes]:
        """Waits for the other, which is started at the same time. Who asks begins anew, even in mid-round."""
        self._wanted_nothing = False
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
        self._pace.wait()
        held = self._reads() and self._lease.wait(HOLD_SECONDS)
        if not self._reads():
            return GONE, b""  # it ends, and is started anew
        if not held:
            return UNAVAILABLE, b""
        if self._wanted_nothing and self._term == self._lease.term:
            self._lease.withdrawn()
        self._wanted_nothing = False
        status, body = self._read()
        if status >= ERROR:
            self._lease.note("its records cannot be read")
            self._pace.failed()
            return status, body
        if self._refused_changes:
            self._refused_changes = False  # said again if this round's are refused too
        else:
            self._lease.note("")
        self._pace.begin()
        return status, body

    def adjust(self, body: bytes) -> tuple[int, bytes]:
        if self._lease.is_ending:
            self._wanted_nothing = True
            self._pace.planned()
            return OK, b"[]"
        status, adjusted = self._tried("POST", "/adjustendpoints", body)
        (self._pace.failed if status >= ERROR else self._pace.planned)()
        return status, adjusted

    def apply(self, body: bytes) -> tuple[int, bytes]:
        changes = json.loads(body)
        self._wanted_nothing = False
        with self.writing:
            self._known = None
            for piece in pieces(changes):
                if not self._lease.held() or self._lease.term != self._term:
                    return UNAVAILABLE, b""
                status, _ = self._tried("POST", "/records", json.dumps(piece).encode())
                if status >= ERROR:
                    self._refused_changes = True
                    self._lease.note("it does not take changes")
                    self._pace.failed()
                    return status, b""
            self._lease.note("")
        written = {part: sorted(json.dumps(one, sort_keys=True) for one in changes.get(part) or []) for part in PARTS}
        if written == self._written:
            self._pace.failed()  # some providers store a record otherwise than asked: that is not tried at each look
        self._written = written
        return NO_CONTENT, b""

    def _read(self) -> tuple[int, bytes]:
        """The provider's records, as far as they are not known. Another replica may have written in another term."""
        age = self._clock.monotonic() - self._read_at
        if self._known is not None and self._term == self._lease.term and age < self._interval:
            return OK, self._known
        if self._term == self._lease.term:
            self._clock.sleep(max(READ_SECONDS - age, 0.0))
        self._term, self._read_at = self._lease.term, self._clock.monotonic()
        status, body = self._tried("GET", "/records")
        self._known = body if status < ERROR else None
        return status, body

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
        disable_nagle_algorithm = True

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


def read_edge(api: EdgeApi, lease: Lease, port: int, pipe: Path) -> EdgeProxy:
    """Lets the external-dns beside this program read the edge, while the Lease is held."""
    proxy = EdgeProxy(api, lease)
    start(server(proxy, port).serve_forever)
    start(proxy.mind)
    start(lambda: hand_over_always(pipe, port, proxy))
    return proxy


def keep_conditions(keeper: StatusKeeper) -> None:
    start(keeper.follow)
    start(keeper.look)


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
    parser.add_argument("--interval", type=float, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", type=int, required=True)
    parser.add_argument("--conditions", type=Path, help="a JSON file with `zones` and `nameservers`")
    parser.add_argument("--edge", type=Path, help="the kubeconfig of an edge, for a proxy to it")
    parser.add_argument("--edge-port", type=int)
    parser.add_argument("--edge-pipe", type=Path)
    given = parser.parse_args()
    own = OwnApi(given.account)
    lease = Lease(own, given.lease, socket.gethostname(), given.seconds, leaves_records=True)
    reads: Callable[[], bool] = lambda: True  # noqa: E731
    if given.edge:
        proxy = read_edge(EdgeApi(given.edge), lease, given.edge_port, given.edge_pipe)
        reads = lambda: proxy.passing  # noqa: E731
    gate = Gate(lease, given.upstream, given.interval, reads=reads)
    start(lambda: serve(gate, given.port))
    if given.conditions:
        config = json.loads(given.conditions.read_text(encoding="utf-8"))
        keep_conditions(StatusKeeper.of(config, OwnEndpointsApi(given.account), own, lease))
    end_with(lease, gate.writing)


if __name__ == "__main__":
    main()
