"""An API server as small as a test of the kubernetes plug-in needs: it serves what it is told to, by plain HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs, urlsplit

from tests.support.serving import serving

Object = dict[str, Any]


class Request(NamedTuple):
    """One request that came in. connection: a number of its own for each connection."""

    connection: int
    is_watch: bool


class ApiServer(ThreadingHTTPServer):
    """answers: what a GET of a path returns, other paths are not found. events: what each watch sends, then ends.

    requests: those that came in so far, in order.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Object] = {}
        self.events: Callable[[], Iterable[Object]] = list
        self.requests: list[Request] = []
        self.connections = count()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def kubeconfig(self) -> str:
        named = {"name": "small"}
        return json.dumps(
            {
                "clusters": [{**named, "cluster": {"server": self.url}}],
                "users": [{**named, "user": {}}],
                "contexts": [{**named, "context": {"cluster": "small", "user": "small"}}],
                "current-context": "small",
            }
        )

    def handle_error(self, *_: Any) -> None:
        """Nothing: who asks may go away at any moment."""

    def has_kind(self, api_version: str, kind: str, plural: str) -> None:
        """Makes discovery name the kind, as one that lives in namespaces."""
        group, _, version = api_version.rpartition("/")
        resource = {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced"}
        entry = {"metadata": {"name": group}, "versions": [{"version": version, "resources": [resource]}]}
        for path in ("/api", "/apis"):
            self.answers.setdefault(path, {"items": []})
        self.answers["/apis" if group else "/api"]["items"].append(entry)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.connection_number = next(cast("ApiServer", self.server).connections)

    def do_GET(self) -> None:
        server = cast("ApiServer", self.server)
        url = urlsplit(self.path)
        is_watch = "watch" in parse_qs(url.query)
        server.requests.append(Request(self.connection_number, is_watch))
        if is_watch:
            self._stream(server.events())
            return
        answer = server.answers.get(url.path)
        missing = {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"{url.path} is not there"}
        body = json.dumps(missing if answer is None else answer).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterable[Object]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        if (self.headers.get("Connection") or "").lower() == "close":
            self.send_header("Connection", "close")
        self.end_headers()
        try:
            for event in events:
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Nothing: requests are no news."""


def api_server() -> AbstractContextManager[ApiServer]:
    """The server while the block runs."""
    return serving(ApiServer())
