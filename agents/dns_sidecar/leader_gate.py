"""The gate between two external-dns containers: one plans an edge's records, the other writes them to a DNS provider.

The second container is a webhook provider with the DNS provider's credential. All its requests pass the gate. Without
the Lease the gate answers no first request of a pass, so the replica plans and writes nothing. The gate splits a large
change, so that the loss of the Lease stops it soon.

The first container starts a pass each second, so changes are published soon. The provider receives no extra requests:
the gate repeats its last response until a write, at most for an interval.

When the Lease is deleted, the gate removes all records from the plan. It releases the Lease's finalizer after a pass
that had nothing left to delete.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import powerdns
from .lease import Lease
from .permitted_fields import for_provider
from .records import CHANGE_LISTS
from .refusal_reason import RefusalReason
from .throttle import Clock, SyncThrottle
from .webhook_server import GONE, MEDIA_TYPE, NO_CONTENT, OK, UNAVAILABLE, Response

Changes = dict[str, list[dict[str, Any]]]
MAX_RECORDS = 500
"""Records in one part of a change."""
LEASE_WAIT_SECONDS, START_SECONDS, REQUEST_SECONDS = 60.0, 30.0, 600.0
READ_SECONDS = 5.0
"""Between two reads of all the provider's records: external-dns' own interval during changes."""
ERROR = 300


def split_changes(changes: dict[str, Any], max_records: int = MAX_RECORDS) -> Iterator[Changes]:
    """The same changes in several parts. All records of a name, ownership records included, stay in one part."""
    by_name: dict[str, Changes] = {}
    for kind in CHANGE_LISTS:
        for one in changes.get(kind) or []:
            # The registry's record of a name is `<type>-owner.<name>`.
            name = one["dnsName"].partition("-owner.")[2] or one["dnsName"].replace("*.", "any.")
            by_name.setdefault(name, {each: [] for each in CHANGE_LISTS})[kind].append(one)
    part, size = {kind: list[dict[str, Any]]() for kind in CHANGE_LISTS}, 0
    for of_name in by_name.values():
        for kind in CHANGE_LISTS:
            part[kind] += of_name[kind]
        size += sum(map(len, of_name.values()))
        if size >= max_records:
            yield part
            part, size = {kind: [] for kind in CHANGE_LISTS}, 0
    if size:
        yield part


class LeaderGate:
    """upstream: loopback port of the external-dns with the provider's credential.

    interval: the seconds until the provider's last response expires. cache_valid: whether the planning external-dns
    has a complete view of the edge. reason: finds the reason of a refusal. answers: `plain` or `weighted` of a
    PowerDNS, else empty.
    """

    def __init__(
        self,
        lease: Lease,
        upstream: int,
        interval: float,
        clock: Clock = time,
        cache_valid: Callable[[], bool] = lambda: True,
        reason: RefusalReason | None = None,
        *,
        answers: str = "",
    ) -> None:
        self._answers, self._existing = answers, list[dict[str, Any]]()
        self._reason, self._has_responded = reason, True
        self._lease, self._upstream, self._interval, self._clock = lease, upstream, interval, clock
        self._cache_valid = cache_valid
        self._throttle = SyncThrottle(interval, clock)
        self._has_refused_changes = False
        self._planned_nothing = False
        """Whether this pass planned no record, and wrote nothing: no record is left."""
        self._cached: bytes | None = None
        self._read_at = -READ_SECONDS
        self._last_changes: dict[str, list[str]] = {}
        self._term = 0
        """The Lease's term of `_cached` and of this pass."""
        self.writing = lease.writing

    def negotiate(self) -> Response:
        """Waits until the other container has started. A request here means a new client, even within a pass."""
        self._planned_nothing = False
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self._request("GET", "/")
            except OSError:
                if time.monotonic() > deadline:
                    return UNAVAILABLE, b""
                time.sleep(0.2)

    def records(self) -> Response:
        """Starts a pass. Without the Lease the request waits."""
        self._throttle.wait()
        held = self._cache_valid() and self._lease.wait(LEASE_WAIT_SECONDS)
        if not self._cache_valid():
            return GONE, b""  # external-dns exits, and kubelet restarts it
        if not held:
            return UNAVAILABLE, b""
        if self._planned_nothing and self._term == self._lease.term:
            self._lease.records_withdrawn()
        self._planned_nothing = False
        status, body = self._read()
        if status >= ERROR:
            self._report_refusal("its records cannot be read")
            self._throttle.failed()
            return status, body
        if self._has_refused_changes:
            self._has_refused_changes = False  # the report stays until this pass has written
        else:
            self._lease.report_refusal("")
        self._throttle.started()
        return status, body

    def adjust(self, body: bytes) -> Response:
        if self._lease.is_terminating:
            self._planned_nothing = True
            self._throttle.planned()
            return OK, b"[]"
        records = [for_provider(one) for one in json.loads(body or b"null") or []]
        records = [powerdns.adjusted(one, supported=self._answers == powerdns.WEIGHTED) for one in records]
        status, adjusted = self._attempt("POST", "/adjustendpoints", json.dumps(records).encode())
        (self._throttle.failed if status >= ERROR else self._throttle.planned)()
        return status, adjusted

    def apply(self, body: bytes) -> Response:
        changes = json.loads(body)
        self._planned_nothing = False
        with self.writing:
            self._cached = None
            for part in self._parts(changes):
                if not self._lease.held() or self._lease.term != self._term:
                    return UNAVAILABLE, b""
                status, _ = self._attempt("POST", "/records", json.dumps(part).encode())
                if status >= ERROR:
                    self._has_refused_changes = True
                    self._report_refusal("it does not take changes")
                    self._throttle.failed()
                    return status, b""
            self._lease.report_refusal("")
        sent = {
            kind: sorted(json.dumps(one, sort_keys=True) for one in changes.get(kind) or []) for kind in CHANGE_LISTS
        }
        if sent == self._last_changes:
            self._throttle.failed()  # some providers store other values than they receive: retry with a back-off
        self._last_changes = sent
        return NO_CONTENT, b""

    def _read(self) -> Response:
        """The provider's records, from the cache if valid. In another term another replica may have written."""
        age = self._clock.monotonic() - self._read_at
        if self._cached is not None and self._term == self._lease.term and age < self._interval:
            return OK, self._cached
        if self._term == self._lease.term:
            self._clock.sleep(max(READ_SECONDS - age, 0.0))
        self._term, self._read_at = self._lease.term, self._clock.monotonic()
        status, body = self._attempt("GET", "/records")
        if self._answers and status < ERROR:
            self._existing = json.loads(body or b"null") or []
            body = json.dumps(powerdns.read_back(self._existing)).encode()
        self._cached = body if status < ERROR else None
        return status, body

    def _parts(self, changes: Changes) -> Iterator[Changes]:
        for part in split_changes(changes):
            yield from powerdns.for_writer(part, self._existing) if self._answers else (part,)

    def _report_refusal(self, text: str) -> None:
        why = self._reason.why(responded=self._has_responded) if self._reason else ""
        self._lease.report_refusal(f"{text}: {why}" if why else text)

    def _attempt(self, method: str, path: str, body: bytes | None = None) -> Response:
        self._has_responded = True
        try:
            return self._request(method, path, body)
        except OSError as error:
            self._has_responded = False
            print(f"gate: {method} {path}: {type(error).__name__}", flush=True)
            return UNAVAILABLE, b""

    def _request(self, method: str, path: str, body: bytes | None = None) -> Response:
        connection = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=REQUEST_SECONDS)
        try:
            connection.request(method, path, body, {"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE})
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException as error:
            raise OSError(type(error).__name__) from None
        finally:
            connection.close()
