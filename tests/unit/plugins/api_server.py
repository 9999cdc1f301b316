"""An API server as small as a test of the kubernetes plug-in needs: it serves what it is told to, by plain HTTP."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import urlsplit

from tests.support.serving import serving

Object = dict[str, Any]


class ApiServer(ThreadingHTTPServer):
    """answers: what a GET of a path returns, other paths are not found; each request takes the first of
    several. An answer with a `code` is an error.

    asked: the paths that were asked for so far, in order.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Object | list[Object | None]] = {}
        self.kinds: dict[str, Object] = {"/api": {"items": []}, "/apis": {"items": []}}
        self.asked: list[str] = []

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
        self.kinds["/apis" if group else "/api"]["items"].append(entry)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = cast("ApiServer", self.server)
        path = urlsplit(self.path).path
        server.asked.append(path)
        answer = server.answers.get(path) or server.kinds.get(path)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if answer is None:
            answer = {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"{path} is not there"}
        body = json.dumps(answer).encode()
        self.send_response(answer.get("code", 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: requests are no news."""


def api_server() -> AbstractContextManager[ApiServer]:
    """The server while the block runs."""
    return serving(ApiServer())
