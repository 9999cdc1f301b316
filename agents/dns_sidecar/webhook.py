"""A webhook provider for external-dns that stores records as DNSEndpoints on an edge."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from .lease import Lease
from .owned_endpoints import OwnedEndpoints
from .records import Write, affected_objects, required_writes
from .throttle import SyncThrottle
from .webhook_server import GONE, NO_CONTENT, OK, UNAVAILABLE, Response

LEASE_WAIT_SECONDS = 60.0
CONCURRENT_REQUESTS = 8
"""An edge can be far away: one request at a time would take a round trip per name."""
MAX_ATTEMPTS = 10
"""To apply a change while other clients write the same objects. After that external-dns retries."""


class DnsEndpointProvider:
    """endpoints: the stored records. lease: without it every request waits or fails, and external-dns retries.

    cache_valid: whether external-dns' view of the edge is complete.
    """

    def __init__(
        self,
        endpoints: OwnedEndpoints,
        namespace: str,
        lease: Lease,
        throttle: SyncThrottle,
        concurrency: int = CONCURRENT_REQUESTS,
        cache_valid: Callable[[], bool] = lambda: True,
    ) -> None:
        self._endpoints, self._namespace, self._lease = endpoints, namespace, lease
        self._throttle, self._cache_valid = throttle, cache_valid
        self._workers = ThreadPoolExecutor(concurrency)
        self._term, self._is_aborted = 0, False
        self.writing = threading.Lock()
        """Held during writes."""

    def negotiate(self) -> Response:
        return OK, b"{}"  # no domain filter

    def records(self) -> Response:
        self._throttle.wait()
        held = self._cache_valid() and self._lease.wait(LEASE_WAIT_SECONDS)
        if not self._cache_valid():
            return GONE, b"{}"
        if not held:
            return UNAVAILABLE, b"{}"
        self._term = self._lease.term
        return self._attempt(lambda: (OK, self._endpoints.records()))

    def adjust(self, body: bytes) -> Response:
        """Returns the records unchanged."""
        self._throttle.planned()
        return OK, body if body.strip() not in (b"", b"null") else b"[]"

    def apply(self, body: bytes) -> Response:
        changes = json.loads(body or b"null") or {}
        with self.writing:
            return self._attempt(lambda: self._apply(changes))

    def _apply(self, changes: dict[str, Any]) -> Response:
        names = affected_objects(changes)
        for _ in range(MAX_ATTEMPTS):
            writes = required_writes(self._endpoints.named(names), changes, self._namespace)
            self._is_aborted = False
            running = [self._workers.submit(self._write, one) for one in writes]
            wait(running)
            written = [one.result() for one in running]
            if all(written):
                return NO_CONTENT, b""
        print("records: other clients change the same DNSEndpoints continuously", flush=True)
        return UNAVAILABLE, b"{}"

    def _write(self, write: Write) -> bool:
        """False if another client changed the object, or another write failed. Raises OSError."""
        if self._is_aborted:
            return False
        try:
            if not self._lease.held() or self._lease.term != self._term:
                raise OSError("the Lease was lost")
            print(f"records: {write.verb} DNSEndpoint {write.item['metadata']['name']}", flush=True)
            return self._endpoints.write(write)
        except OSError:
            self._is_aborted = True
            raise

    def _attempt(self, act: Callable[[], Response]) -> Response:
        """Converts an OSError to `UNAVAILABLE`, on which external-dns writes nothing and retries."""
        try:
            response = act()
        except OSError as error:
            print(f"records: {error}", flush=True)
            response = UNAVAILABLE, b"{}"
        if response[0] == UNAVAILABLE:
            self._throttle.failed()
        elif response[0] == OK:
            self._throttle.started()
        return response
