#!/usr/bin/env python3
"""The image ``sample``: an HTTP server for trying a mesh out. Standard library only.

GET /fetch?url=URL   makes the request from here; answers {"status", "headers", "body"}, 502 if it cannot be made
GET /status/CODE     answers with that code
any other path       answers {"pod", "method", "path", "headers", "client"}: the request as it arrived

Listens on port $PORT (default 8080), on all addresses. SIGTERM ends it at once.
"""

import http.client
import json
import os
import signal
import socket
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FETCH_TIMEOUT = 10.0


def fetch(url: str) -> tuple[int, dict[str, object]]:
    """Status and document of this server's answer to /fetch."""
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        return 400, {"error": f"url must begin with http:// or https://, not {url!r}"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        try:
            answer = opener.open(url, timeout=FETCH_TIMEOUT)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        with answer:
            body = answer.read().decode(errors="replace")
            return 200, {"status": answer.status, "headers": dict(answer.headers), "body": body}
    except (OSError, http.client.HTTPException) as error:
        return 502, {"error": f"{type(error).__name__}: {error}"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave in one piece, so that a broken connection cuts no answer in two

    def _answer(self, status: int, document: dict[str, object]) -> None:
        body = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urllib.parse.urlsplit(self.path)
        steps = parts.path.strip("/").split("/")
        if steps[0] == "fetch":
            self._answer(*fetch(urllib.parse.parse_qs(parts.query).get("url", [""])[0]))
        elif steps[0] == "status" and len(steps) == 2 and steps[1].isdigit():
            self._answer(int(steps[1]), {"status": int(steps[1])})
        else:
            self._answer(200, self._what_arrived())

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def _what_arrived(self) -> dict[str, object]:
        return {
            "pod": os.environ.get("POD_NAME") or socket.gethostname(),
            "method": self.command,
            "path": self.path,
            "headers": dict(self.headers),
            "client": self.client_address[0],
        }

    def log_message(self, template: str, *values: object) -> None:
        print(f"{self.client_address[0]} {template % values}", flush=True)


def main() -> None:
    port = int(os.environ.get("PORT", "8080"))
    # As process 1 of a PID namespace it gets no default action for signals.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    server = ThreadingHTTPServer(("0.0.0.0", port), Handler)  # noqa: S104 (the Pod's own network)
    server.daemon_threads = True
    print(f"listening on port {port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
