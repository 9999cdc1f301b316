"""Updates the conditions of DNSEndpoints, of an edge or of the Pod's namespace: a list, then a watch.

Names without an answer are resolved again: a few at a time, in turn, and for at most half of the time. So thousands of
new names leave the name server free for the provider's writes.

Each write costs the API server as much as the object's creation. So a name has two seconds until its first check, no
condition `Pending` before its second one, and checks wait while the sidecar itself stores many names.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from .api import WATCH_SECONDS, ApiError, EndpointsApi, LeaseApi, Object
from .conditions import PENDING, Zones, evaluate, status_with
from .lease import REFUSAL_ANNOTATION, Lease
from .resolver import Resolver
from .throttle import Clock

PENDING_SECONDS, ROUND_SECONDS = 5.0, 1.0
"""Between two rounds over all pending objects; longest round."""
PUBLISHING_SECONDS = 2.0
"""From an object's event to its first check: about as long as its publication takes. A query before that has no answer,
which a resolver may cache."""
MAX_YIELD_SECONDS, LOOK_SECONDS = 10.0, 0.1
"""Longest wait of a round for other writes; between two looks for their end."""
CONCURRENCY = 8
"""Objects that are resolved and written at a time."""
FIRST_RETRY, MAX_RETRY, LEASE_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 60.0, 60.0, 60.0
NOT_FOUND, CONFLICT = 404, 409
REJECTED = (400, 403, 413, 422)
"""Statuses that concern one object, for example of an admission policy. Other objects continue."""


class ProviderRefusals:
    """Present refusals of DNS providers, which publishers write into their Leases."""

    def __init__(self, leases: LeaseApi, zones: list[Zones]) -> None:
        self._leases, self._zones = leases, zones

    def by_provider(self) -> dict[str, str]:
        """Refusals by the provider's id. An unreadable Lease counts as none."""
        found = {}
        for zone in self._zones:
            try:
                notes = self._leases.lease(zone.lease)["metadata"].get("annotations") or {}
            except OSError as error:
                print(f"conditions: {error}", flush=True)
                continue
            if refused := notes.get(REFUSAL_ANNOTATION):
                found[zone.provider] = str(refused)
        return found


class StatusUpdater:
    """zones: of the edge, one per provider. lease: its holder writes. yields: whether other writes come first now."""

    def __init__(
        self,
        api: EndpointsApi,
        zones: list[Zones],
        lease: Lease,
        refusals: ProviderRefusals,
        resolver: Resolver,
        clock: Clock = time,
        yields: Callable[[], bool] = lambda: False,
    ) -> None:
        self._yields = yields
        self._api, self._zones, self._lease, self._refusals = api, zones, lease, refusals
        self._resolver, self._clock = resolver, clock
        self._workers = ThreadPoolExecutor(CONCURRENCY)
        # By uid; the pending ones in the order of the last check.
        self._fresh, self._pending = dict[str, Object](), dict[str, Object]()
        self._first_due = dict[str, float]()
        """When each fresh object's check is due, in this order; a listed one's at once."""
        self._echoes, self._gone = dict[str, str](), set[str]()
        self._due, self._lists = 0.0, 0
        self._refused: Mapping[str, str] = {}
        self._changed = threading.Condition()

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        api: EndpointsApi,
        leases: LeaseApi,
        lease: Lease,
        yields: Callable[[], bool] = lambda: False,
    ) -> StatusUpdater:
        """config: `zones` and `nameservers`."""
        zones = [Zones(**one) for one in config["zones"]]
        refusals, resolver = ProviderRefusals(leases, zones), Resolver(config["nameservers"])
        return cls(api, zones, lease, refusals, resolver, yields=yields)

    def follow(self) -> None:
        """Lists and watches objects; never returns. Retries an unreachable edge with a back-off."""
        retry = FIRST_RETRY
        while True:
            if not self._lease.wait(LEASE_WAIT_SECONDS):
                continue
            try:
                items, version = self._api.list()
                with self._changed:
                    self._fresh, self._pending = {item["metadata"]["uid"]: item for item in items}, {}
                    self._first_due = dict.fromkeys(self._fresh, 0.0)
                    self._echoes, self._lists = {}, self._lists + 1
                    self._changed.notify_all()
                retry = FIRST_RETRY
                while version:
                    version = self._follow(version)
            except OSError as error:
                print(f"conditions: {error}; retry in {retry:g} s", flush=True)
                self._clock.sleep(retry)
                retry = min(2 * retry, MAX_RETRY)

    def _follow(self, version: str) -> str:
        """One watch. Returns the version for the next one, or "" if a new list or the Lease is required."""
        for event in self._api.watch(version, WATCH_SECONDS):
            if event["type"] == "ERROR" or not self._lease.held():
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._take(event["object"], there=event["type"] != "DELETED")
        return version if self._lease.held() else ""

    def _take(self, item: Object, *, there: bool) -> None:
        """Schedules an object's check, unless the event is an echo of this program's own write."""
        uid = item["metadata"]["uid"]
        with self._changed:
            if not there:
                self._gone.add(uid)
            elif self._echoes.pop(uid, "") == item["metadata"]["resourceVersion"]:
                return
            self._pending.pop(uid, None)
            if there:
                self._fresh[uid] = item
                # An object that changes each second is due as well.
                self._first_due.setdefault(uid, self._clock.monotonic() + PUBLISHING_SECONDS)
                self._changed.notify_all()
            else:
                self._fresh.pop(uid, None)
                self._first_due.pop(uid, None)

    def run(self) -> None:
        """Checks scheduled objects; never returns."""
        while True:
            with self._changed:
                while (rest := self._next_due() - self._clock.monotonic()) > 0:
                    self._changed.wait(min(rest, MAX_WAIT_SECONDS))
            if not self._lease.wait(LEASE_WAIT_SECONDS):
                continue
            self._yield_to_writes()
            began = self._clock.monotonic()
            try:
                self._round()
            except OSError as error:
                print(f"conditions: {error}", flush=True)
                self._clock.sleep(PENDING_SECONDS)
            self._clock.sleep(self._clock.monotonic() - began)

    def _next_due(self) -> float:
        return min(next(iter(self._first_due.values()), math.inf), self._due if self._pending else math.inf)

    def _yield_to_writes(self) -> None:
        """Waits while other writes come first, for a limited time: a large change takes minutes."""
        until = self._clock.monotonic() + MAX_YIELD_SECONDS
        while self._yields() and self._clock.monotonic() < until:
            self._clock.sleep(LOOK_SECONDS)

    def _round(self) -> None:
        """Checks fresh objects, and pending ones when due, within the time limit. Raises OSError."""
        began = self._clock.monotonic()
        with self._changed:
            due = takewhile(lambda uid: self._first_due[uid] <= began, self._first_due)
            scheduled = [(uid, self._fresh[uid]) for uid in due]
            whole = began >= self._due
            scheduled += self._pending.items() if whole else []
            self._gone, lists = set(), self._lists
        self._refused = self._refusals.by_provider() if scheduled else {}
        for first in range(0, len(scheduled), CONCURRENCY):
            if self._clock.monotonic() - began > ROUND_SECONDS:
                return
            batch = scheduled[first : first + CONCURRENCY]
            for (uid, known), (is_final, item) in zip(batch, self._updated(batch), strict=True):
                with self._changed:
                    if self._fresh.get(uid, known) is not known or self._lists != lists:
                        continue  # changed since, or possibly changed
                    self._fresh.pop(uid, None)
                    self._first_due.pop(uid, None)
                    self._pending.pop(uid, None)
                    if not is_final and uid not in self._gone:
                        self._pending[uid] = item
        if whole:
            self._due = self._clock.monotonic() + PENDING_SECONDS

    def _updated(self, batch: list[tuple[str, Object]]) -> Iterator[tuple[bool, Object]]:
        return self._workers.map(self._update, (item for _, item in batch))

    def _update(self, item: Object) -> tuple[bool, Object]:
        """Writes an object's conditions. Returns whether they are final, and the object as stored. Raises OSError."""
        found = evaluate(item, self._zones, self._resolver.addresses, self._refused)
        wanted = status_with(item, found, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if wanted == item.get("status"):
            return found.is_final, item
        is_first_check = item["metadata"]["uid"] in self._fresh and "conditions" not in (item.get("status") or {})
        if not self._lease.held() or (is_first_check and found.ready[1] == PENDING):
            return False, item
        try:
            written = self._api.replace_status({**item, "status": wanted})
        except ApiError as error:
            if error.status in REJECTED:
                print(f"conditions: {error}", flush=True)
                return False, item
            # Changed or deleted: the watch reports it.
            if error.status not in (NOT_FOUND, CONFLICT):
                raise
            return True, item
        with self._changed:
            self._echoes[item["metadata"]["uid"]] = written["metadata"]["resourceVersion"]
        return found.is_final, written
