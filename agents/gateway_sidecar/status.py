"""The sidecar's state over HTTP: metrics for alarms, and readiness."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

PREFIX: Final = "hosted_mesh_gateway"


class Status:
    """Numbers of rows, and the time of the last read. ready: after the first configuration was written."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._served, self._rejected, self._read = 0, dict[str, str](), 0.0
        self.ready = False

    def report(self, served: int, rejected: Mapping[str, str]) -> None:
        """After each read of the rows."""
        with self._lock:
            self._served, self._rejected, self._read = served, dict(rejected), self._clock()
            self.ready = True

    def metrics(self) -> str:
        """In Prometheus' text format. A host is an object's name, so it needs no escapes."""
        with self._lock:
            lines = [
                f"# TYPE {PREFIX}_hosts gauge",
                f"{PREFIX}_hosts {self._served}",
                f"# TYPE {PREFIX}_rejected_hosts gauge",
                f"{PREFIX}_rejected_hosts {len(self._rejected)}",
                f"# TYPE {PREFIX}_rejected gauge",
                *(f'{PREFIX}_rejected{{host="{host}"}} 1' for host in sorted(self._rejected)),
                f"# TYPE {PREFIX}_last_read_timestamp_seconds gauge",
                f"{PREFIX}_last_read_timestamp_seconds {self._read:.3f}",
            ]
        return "\n".join(lines) + "\n"


def server(status: Status, port: int) -> ThreadingHTTPServer:
    """Serves `/metrics` and `/ready`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, status.metrics())
            elif self.path == "/ready":
                self._answer(200 if status.ready else 503, "")
            else:
                self._answer(404, "")

        def log_message(self, *_: object) -> None:
            """Probes are no news."""

        def _answer(self, code: int, text: str) -> None:
            content = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return ThreadingHTTPServer(("", port), Handler)
