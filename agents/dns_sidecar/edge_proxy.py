"""What external-dns takes for an edge's API server: a proxy on the loopback, which passes on what it reads.

External-dns gets no credential of the edge. It waits for its kubeconfig, a pipe, before it builds its sources; the
kubeconfig is handed over when this replica holds the Lease, so who stands by does not watch the edge, and knows nothing
that may be old. Who lost the Lease for good is cut off, and ends at its next question (`Gate`, `Webhook`); kubelet
starts it anew, and it waits again.

A watch lasts an hour here, for external-dns asks for five to ten minutes, which no flag of it changes. DNSEndpoints
pass as if external-dns had noted which generation it saw: it would write that into each one, one after the other.

When the publisher's Lease is deleted, the edge is not asked any more, for it may be gone: there are no DNSEndpoints.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from .api import GROUP, WATCH_SECONDS, EdgeApi, Object, path_of
from .lease import Lease
from .pace import Clock
from .passed import passed

GRACE_SECONDS = 60.0
"""Without the Lease: an API server of the control plane that is away for a moment does not start all readers anew."""
LOOK_SECONDS, LONGEST_PAUSE, HOLD_SECONDS = 1.0, 15.0, 60.0
LARGEST_PART = 64 * 2**10  # bytes
OK, UNAVAILABLE = 200, 503
PASSED = ("Accept", "Accept-Encoding", "User-Agent")
RETURNED = ("Content-Type", "Content-Encoding", "Retry-After")

_VERSION = GROUP.removeprefix("/apis/")
EMPTY: dict[str, Object] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"apiVersion": "v1", "kind": "APIGroupList", "groups": []},
    GROUP: {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": _VERSION,
        "resources": [
            {"name": "dnsendpoints", "kind": "DNSEndpoint", "namespaced": True, "verbs": ["get", "list", "watch"]}
        ],
    },
    path_of(""): {
        "apiVersion": _VERSION,
        "kind": "DNSEndpointList",
        "metadata": {"resourceVersion": "1"},
        "items": [],
    },
}
"""What an API server answers that has the kind, and no object of it, by path."""
END_OF_LIST: Object = {
    "apiVersion": _VERSION,
    "kind": "DNSEndpoint",
    "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}},
}


@dataclass(frozen=True)
class Answer:
    """parts: of the body, as they come. Raises OSError where it was not whole. Whoever has one closes it."""

    status: int
    headers: Mapping[str, str]
    parts: Iterator[bytes]
    close: Callable[[], None]


class EdgeProxy:
    """lease: who holds it may read the edge."""

    def __init__(self, api: EdgeApi, lease: Lease, clock: Clock = time) -> None:
        self._api, self._lease, self._clock = api, lease, clock
        self._held_at: float | None = None
        self._pause = LOOK_SECONDS
        self.passing = False
        """Whether an external-dns reads the edge, whose memory has been kept true since it began."""

    def ready(self) -> bool:
        """Waits for the Lease, and for the edge: external-dns ends when it cannot build its sources."""
        if not self._lease.wait(HOLD_SECONDS):
            return False
        if self._lease.is_ending:
            return True
        try:
            _, close = self._api.open("/version", {})
        except OSError as error:
            print(f"proxy: {error}", flush=True)
            self._clock.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            return False
        close()
        self._pause = LOOK_SECONDS
        return self._lease.held()

    def begin(self) -> None:
        """An external-dns begins to read the edge."""
        self._held_at, self.passing = self._clock.monotonic(), True

    def end(self) -> None:
        """Cuts off the one that reads, and what this program reads itself."""
        self.passing = False
        self._api.cut()

    def mind(self) -> None:
        """Cuts off who lost the Lease for good; never returns."""
        while True:
            self.look()
            self._clock.sleep(LOOK_SECONDS)

    def look(self) -> None:
        if self._lease.held():
            self._held_at = self._clock.monotonic()
        elif self._held_at is not None and self._clock.monotonic() - self._held_at > GRACE_SECONDS:
            print("proxy: stands by, and does not watch the edge any more", flush=True)
            self.end()
            self._held_at = None

    def ask(self, target: str, headers: Mapping[str, str]) -> Answer:
        """What the edge answers to a GET. Raises OSError."""
        self._require()
        if self._lease.is_ending:
            return Answer(OK, {"Content-Type": "application/json"}, self._of_an_empty_edge(target), lambda: None)
        records = urlsplit(target).path.endswith("/dnsendpoints")
        wanted = {name: headers[name] for name in PASSED if headers.get(name)}
        if records:
            wanted = {**wanted, "Accept": "application/json", "Accept-Encoding": "identity"}
        answer, close = self._api.open(lasting(target), wanted)
        if not self.passing:  # else `end` has ended it, or will
            close()
            self._require()
        returned = {name: value for name in RETURNED if (value := answer.getheader(name))}
        if not records or answer.status != OK:
            parts = _as_it_is(answer)
        elif is_watch(target):
            parts = events_seen(iter(answer.readline, b""))
        else:
            parts = _list_seen(answer)
        return Answer(answer.status, returned, _whole(parts), close)

    def _of_an_empty_edge(self, target: str) -> Iterator[bytes]:
        if not is_watch(target):
            yield json.dumps(EMPTY.get(urlsplit(target).path) or EMPTY[path_of("")]).encode()
            return
        yield json.dumps({"type": "BOOKMARK", "object": END_OF_LIST}).encode() + b"\n"
        self._clock.sleep(HOLD_SECONDS)

    def _require(self) -> None:
        if not self.passing:
            raise OSError("this replica does not read the edge")


def is_watch(target: str) -> bool:
    return parse_qs(urlsplit(target).query).get("watch", [""])[0] in ("1", "true")


def lasting(target: str) -> str:
    """The same question; a watch as long as this program wants it."""
    if not is_watch(target):
        return target
    parts = urlsplit(target)
    query = {**parse_qs(parts.query, keep_blank_values=True), "timeoutSeconds": [str(WATCH_SECONDS)]}
    return f"{parts.path}?{urlencode(query, doseq=True)}"


def seen(item: Object) -> Object:
    """A DNSEndpoint in which external-dns finds its own note. Fields' managers, most of a small one, are left out."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    status = {**(item.get("status") or {}), "observedGeneration": metadata.get("generation")}
    endpoints = [passed(one) for one in (item.get("spec") or {}).get("endpoints") or [] if one]
    return {**item, "metadata": metadata, "spec": {"endpoints": endpoints}, "status": status}


def events_seen(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Events of a watch of DNSEndpoints, line by line. Raises ValueError for half of a line."""
    for line in lines:
        event: dict[str, Any] = json.loads(line)
        if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
            event["object"] = seen(event["object"])
        yield json.dumps(event).encode() + b"\n"


def _whole(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Raises OSError for what http.client and JSON say of half of an answer."""
    try:
        yield from parts
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(f"an answer of the edge ended: {type(error).__name__}") from None


def _list_seen(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    found = json.loads(answer.read())
    yield json.dumps({**found, "items": [seen(one) for one in found["items"]]}).encode()


def _as_it_is(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    if not answer.chunked:
        yield answer.read()
        return
    while part := answer.read1(LARGEST_PART):
        yield part


def kubeconfig(port: int) -> str:
    """By which external-dns asks this program."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "edge", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "edge", "user": {}}],
            "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "edge"}}],
            "current-context": "edge",
        }
    )


def make_pipe(path: Path) -> None:
    """That external-dns opens as its kubeconfig, unless it is there."""
    if not path.exists():
        os.mkfifo(path, 0o600)


def hand_over(path: Path, text: str, ready: Callable[[], bool], begin: Callable[[], None]) -> None:
    """Gives the text to one external-dns, once it asks and `ready`, which waits itself, says so."""
    with path.open("wb", buffering=0) as pipe:  # waits until it is opened for reading
        while not ready():
            pass
        # The next one opens another pipe: it would get what this one has not read, and this one what is written then.
        fresh = path.with_suffix(".next")
        make_pipe(fresh)
        fresh.replace(path)
        begin()
        try:
            pipe.write(text.encode())
        except BrokenPipeError:
            print("proxy: external-dns ended while it waited", flush=True)


def hand_over_always(path: Path, port: int, proxy: EdgeProxy) -> None:
    """Never returns."""
    make_pipe(path)
    while True:
        hand_over(path, kubeconfig(port), proxy.ready, proxy.begin)


def server(proxy: EdgeProxy, port: int) -> ThreadingHTTPServer:
    """On the loopback, which the Pod's containers share."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            try:
                answer = proxy.ask(self.path, dict(self.headers.items()))
            except OSError as error:
                print(f"proxy: {urlsplit(self.path).path}: {error}", flush=True)
                self.send_response(UNAVAILABLE)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for part in answer.parts:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part) if part else b"")
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True  # without an end it is no whole answer
            finally:
                answer.close()

        def log_message(self, template: str, *values: object) -> None:
            """Not every request: external-dns logs what fails."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """`python3 -m edge_writer.proxy PIPE`, before any other container of the Pod."""
    make_pipe(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
