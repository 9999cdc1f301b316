"""The reason why a DNS provider rejects a request, without addresses or other facts of the control plane.

The webhook of external-dns returns a status only, and its log is in another container. Its metrics have the statuses of
a cloud's API. A server of the document can be connected to.
"""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Callable, Sequence

METRICS_SECONDS, CONNECT_SECONDS = 5.0, 3.0
REQUESTS = re.compile(r'^external_dns_http_request_duration_seconds_count\{.*status="(\d*)".*\} (\S+)$', re.MULTILINE)
NOT_RUNNING = "the program that writes does not respond"
UNREACHABLE, REJECTED = "its server is not reachable", "its server is reachable and rejects the request"
ERROR = 400


class RefusalReason:
    """servers: host and port of each server in the document; empty for a cloud. metrics: the writing container's."""

    def __init__(self, servers: Sequence[tuple[str, int]], metrics: Callable[[], str]) -> None:
        self._servers, self._metrics = servers, metrics
        self._counted: dict[str, float] = {}

    def why(self, *, responded: bool) -> str:
        """The reason; empty if it is unknown. responded: whether the writing container responded."""
        if not responded:
            return NOT_RUNNING
        if self._servers:
            return REJECTED if any(map(is_reachable, self._servers)) else UNREACHABLE
        return self._api_status()

    def _api_status(self) -> str:
        """The error statuses of the cloud's API since the last call."""
        try:
            found: dict[str, float] = {}
            for status, count in REQUESTS.findall(self._metrics()):
                found[status] = found.get(status, 0.0) + float(count)
        except (OSError, http.client.HTTPException, ValueError):
            return ""
        new = sorted(status for status, count in found.items() if count > self._counted.get(status, 0.0))
        self._counted = found
        if failed := [status for status in new if status and int(status) >= ERROR]:
            return f"its API responded {', '.join(failed)}"
        return "its API is not reachable" if "" in new else ""


def is_reachable(server: tuple[str, int]) -> bool:
    """Whether a server accepts a TCP connection."""
    try:
        with socket.create_connection(server, CONNECT_SECONDS):
            return True
    except OSError:
        return False


def metrics_of(port: int) -> Callable[[], str]:
    """A function that reads the metrics of a container of the Pod. It raises OSError or HTTPException."""

    def read() -> str:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=METRICS_SECONDS)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    return read
