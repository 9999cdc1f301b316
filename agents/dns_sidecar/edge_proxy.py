"""A read-only proxy on the loopback that external-dns uses as the edge's API server.

External-dns has no credential of the edge. A replica that lost the Lease for good is disconnected; its next webhook
request gets `GONE`, external-dns exits, and kubelet restarts it.

The proxy extends watches to an hour: external-dns requests five to ten minutes, and has no flag for that. It sets the
observed generation in DNSEndpoints: external-dns would otherwise write it into each object, one after the other.

While the publisher's Lease is being deleted, the edge may be gone. Then the proxy itself returns an empty list.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from .api import GROUP, WATCH_SECONDS, EdgeApi, Object, path_of
from .lease import Lease
from .permitted_fields import permitted
from .throttle import Clock

GRACE_SECONDS = 60.0
"""Without the Lease before the disconnection: a short outage of the control plane's API server restarts no reader."""
CHECK_SECONDS, MAX_RETRY, WAIT_SECONDS = 1.0, 15.0, 60.0
CHUNK_SIZE = 64 * 2**10  # bytes
OK, UNAVAILABLE = 200, 503
REQUEST_HEADERS = ("Accept", "Accept-Encoding", "User-Agent")
RESPONSE_HEADERS = ("Content-Type", "Content-Encoding", "Retry-After")

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
"""Responses of an API server with the kind DNSEndpoint and no object of it, by path."""
END_OF_LIST: Object = {
    "apiVersion": _VERSION,
    "kind": "DNSEndpoint",
    "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}},
}


@dataclass(frozen=True)
class StreamedResponse:
    """parts: of the body; raises OSError if the body is incomplete. close: the caller's duty."""

    status: int
    headers: Mapping[str, str]
    parts: Iterator[bytes]
    close: Callable[[], None]


class EdgeProxy:
    """lease: its holder may read the edge."""

    def __init__(self, api: EdgeApi, lease: Lease, clock: Clock = time) -> None:
        self._api, self._lease, self._clock = api, lease, clock
        self._held_at: float | None = None
        self._retry = CHECK_SECONDS
        self.active = False
        """Whether an external-dns reads the edge, without an interruption since its start."""

    def ready(self) -> bool:
        """Waits for the Lease and the edge: external-dns exits if it cannot build its sources."""
        if not self._lease.wait(WAIT_SECONDS):
            return False
        if self._lease.is_terminating:
            return True
        try:
            _, close = self._api.open("/version", {})
        except OSError as error:
            print(f"proxy: {error}", flush=True)
            self._clock.sleep(self._retry)
            self._retry = min(2 * self._retry, MAX_RETRY)
            return False
        close()
        self._retry = CHECK_SECONDS
        return self._lease.held()

    def activate(self) -> None:
        """Lets an external-dns read the edge."""
        self._held_at, self.active = self._clock.monotonic(), True

    def deactivate(self) -> None:
        """Ends all streams from the edge, this program's own included."""
        self.active = False
        self._api.cut()

    def run(self) -> None:
        """Checks the Lease each second; never returns."""
        while True:
            self.check_lease()
            self._clock.sleep(CHECK_SECONDS)

    def check_lease(self) -> None:
        """Disconnects external-dns if the Lease is lost for longer than the grace period."""
        if self._lease.held():
            self._held_at = self._clock.monotonic()
        elif self._held_at is not None and self._clock.monotonic() - self._held_at > GRACE_SECONDS:
            print("proxy: another replica holds the Lease; this one stops reading the edge", flush=True)
            self.deactivate()
            self._held_at = None

    def get(self, target: str, headers: Mapping[str, str]) -> StreamedResponse:
        """Forwards a GET to the edge. Raises OSError."""
        self._require_active()
        if self._lease.is_terminating:
            body = self._empty_edge(target)
            return StreamedResponse(OK, {"Content-Type": "application/json"}, body, lambda: None)
        is_records = urlsplit(target).path.endswith("/dnsendpoints")
        sent = {name: headers[name] for name in REQUEST_HEADERS if headers.get(name)}
        if is_records:
            sent = {**sent, "Accept": "application/json", "Accept-Encoding": "identity"}
        response, close = self._api.open(with_long_timeout(target), sent)
        if not self.active:  # `deactivate` may have missed this stream
            close()
            self._require_active()
        returned = {name: value for name in RESPONSE_HEADERS if (value := response.getheader(name))}
        if not is_records or response.status != OK:
            parts = _unchanged(response)
        elif is_watch(target):
            parts = acknowledged_events(iter(response.readline, b""))
        else:
            parts = _acknowledged_list(response)
        return StreamedResponse(response.status, returned, _complete(parts), close)

    def _empty_edge(self, target: str) -> Iterator[bytes]:
        if not is_watch(target):
            yield json.dumps(EMPTY.get(urlsplit(target).path) or EMPTY[path_of("")]).encode()
            return
        yield json.dumps({"type": "BOOKMARK", "object": END_OF_LIST}).encode() + b"\n"
        self._clock.sleep(WAIT_SECONDS)

    def _require_active(self) -> None:
        if not self.active:
            raise OSError("this replica does not read the edge")


def is_watch(target: str) -> bool:
    return parse_qs(urlsplit(target).query).get("watch", [""])[0] in ("1", "true")


def with_long_timeout(target: str) -> str:
    """The request target; for a watch with the duration of this program's own watches."""
    if not is_watch(target):
        return target
    parts = urlsplit(target)
    query = {**parse_qs(parts.query, keep_blank_values=True), "timeoutSeconds": [str(WATCH_SECONDS)]}
    return f"{parts.path}?{urlencode(query, doseq=True)}"


def acknowledged(item: Object) -> Object:
    """A DNSEndpoint with its generation marked as observed, permitted fields, and without managedFields."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    status = {**(item.get("status") or {}), "observedGeneration": metadata.get("generation")}
    endpoints = [permitted(one) for one in (item.get("spec") or {}).get("endpoints") or [] if one]
    return {**item, "metadata": metadata, "spec": {"endpoints": endpoints}, "status": status}


def acknowledged_events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Events of a watch of DNSEndpoints, one per line. Raises ValueError for an incomplete line."""
    for line in lines:
        event: dict[str, Any] = json.loads(line)
        if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
            event["object"] = acknowledged(event["object"])
        yield json.dumps(event).encode() + b"\n"


def _acknowledged_list(response: http.client.HTTPResponse) -> Iterator[bytes]:
    found = json.loads(response.read())
    yield json.dumps({**found, "items": [acknowledged(one) for one in found["items"]]}).encode()


def _complete(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Converts the errors of an incomplete body to OSError."""
    try:
        yield from parts
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(f"a response of the edge is incomplete: {type(error).__name__}") from None


def _unchanged(response: http.client.HTTPResponse) -> Iterator[bytes]:
    if not response.chunked:
        yield response.read()
        return
    while part := response.read1(CHUNK_SIZE):
        yield part


def server(proxy: EdgeProxy, port: int) -> ThreadingHTTPServer:
    """The proxy's server on the loopback, which the Pod's containers share."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            try:
                response = proxy.get(self.path, dict(self.headers.items()))
            except OSError as error:
                print(f"proxy: {urlsplit(self.path).path}: {error}", flush=True)
                self.send_response(UNAVAILABLE)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            try:
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for part in response.parts:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part) if part else b"")
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True  # without the last chunk the client sees an incomplete response
            finally:
                response.close()

        def log_message(self, template: str, *values: object) -> None:
            """Logs no request: external-dns logs failures."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
