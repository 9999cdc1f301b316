"""Keeps the conditions of DNSEndpoints: a list, then a watch, then a list again when that breaks.

Of all of an edge, or of those that the program itself wrote beside this Pod. What is not settled is looked at again,
and the watch goes on meanwhile: a few names at once, in turn, and for half of the time at most, so that many thousand
new ones do not keep the name server from what publishes them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from .api import WATCH_SECONDS, ApiError, EndpointsApi, Object, OwnApi
from .conditions import Zones, judge, status
from .lease import NOTE_ANNOTATION, Lease
from .pace import Clock
from .resolver import Resolver

PENDING_SECONDS, LOOK_SECONDS = 5.0, 1.0
"""Between two looks at all that is waited for, and of one look."""
AT_ONCE = 8
"""Names that are asked for, and objects that are written."""
FIRST_PAUSE, LONGEST_PAUSE, HOLD_SECONDS = 1.0, 60.0, 60.0
NOT_FOUND, CONFLICT = 404, 409
REFUSED = (400, 403, 413, 422)
"""Of one object: an admission policy of the edge refuses it, for one. The others go on."""


class Refusals:
    """Which providers refuse, and what: their publishers write it into their Leases."""

    def __init__(self, own: OwnApi, zones: list[Zones]) -> None:
        self._own, self._zones = own, zones

    def now(self) -> dict[str, str]:
        """What is refused, by the provider's id; a Lease that cannot be read says nothing."""
        found = {}
        for zone in self._zones:
            try:
                notes = self._own.lease(zone.lease)["metadata"].get("annotations") or {}
            except OSError as error:
                print(f"conditions: {error}", flush=True)
                continue
            if refused := notes.get(NOTE_ANNOTATION):
                found[zone.provider] = str(refused)
        return found


class StatusKeeper:
    """zones: of the edge, by provider. lease: who holds it writes. resolver: who knows what is answered."""

    def __init__(
        self,
        api: EndpointsApi,
        zones: list[Zones],
        lease: Lease,
        refusals: Refusals,
        resolver: Resolver,
        clock: Clock = time,
    ) -> None:
        self._api, self._zones, self._lease, self._refusals = api, zones, lease, refusals
        self._resolver, self._clock = resolver, clock
        self._workers = ThreadPoolExecutor(AT_ONCE)
        # By uid. What was looked at first is first.
        self._fresh, self._pending = dict[str, Object](), dict[str, Object]()
        self._echoes, self._gone = dict[str, str](), set[str]()
        self._due, self._lists = 0.0, 0
        self._refused: Mapping[str, str] = {}
        self._changed = threading.Condition()

    @classmethod
    def of(cls, config: Mapping[str, Any], api: EndpointsApi, own: OwnApi, lease: Lease) -> StatusKeeper:
        """config: `zones` and `nameservers`."""
        zones = [Zones(**one) for one in config["zones"]]
        return cls(api, zones, lease, Refusals(own, zones), Resolver(config["nameservers"]))

    def follow(self) -> None:
        """Never returns. An edge out of reach is waited for, less often as time goes by."""
        pause = FIRST_PAUSE
        while True:
            if not self._lease.wait(HOLD_SECONDS):
                continue
            try:
                items, version = self._api.list()
                with self._changed:
                    self._fresh, self._pending = {item["metadata"]["uid"]: item for item in items}, {}
                    self._echoes, self._lists = {}, self._lists + 1
                    self._changed.notify_all()
                pause = FIRST_PAUSE
                while version:
                    version = self._follow(version)
            except OSError as error:
                print(f"conditions: {error}; again in {pause:g} s", flush=True)
                self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _follow(self, version: str) -> str:
        """Notes what one watch tells; the version to go on from, "" to list anew, or to wait for the Lease."""
        for event in self._api.watch(version, WATCH_SECONDS):
            if event["type"] == "ERROR" or not self._lease.held():
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._take(event["object"], there=event["type"] != "DELETED")
        return version if self._lease.held() else ""

    def _take(self, item: Object, *, there: bool) -> None:
        """Notes that an object is to be looked at, unless nothing happened but what was written here."""
        uid = item["metadata"]["uid"]
        with self._changed:
            if not there:
                self._gone.add(uid)
            elif self._echoes.pop(uid, "") == item["metadata"]["resourceVersion"]:
                return
            self._pending.pop(uid, None)
            self._fresh.pop(uid, None)
            if there:
                self._fresh[uid] = item
                self._changed.notify_all()

    def look(self) -> None:
        """Never returns."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._fresh or self._pending)
            if not self._lease.wait(HOLD_SECONDS):
                continue
            began = self._clock.monotonic()
            try:
                self._look()
            except OSError as error:
                print(f"conditions: {error}", flush=True)
                self._clock.sleep(PENDING_SECONDS)
            self._clock.sleep(self._clock.monotonic() - began)
            with self._changed:
                self._changed.wait_for(lambda: self._fresh, max(self._due - self._clock.monotonic(), 0.0))

    def _look(self) -> None:
        """Judges what is new, and what is waited for when it is due, as much as there is time for. Raises OSError."""
        began = self._clock.monotonic()
        with self._changed:
            waiting = [*self._fresh.items()]
            whole = began >= self._due
            waiting += self._pending.items() if whole else []
            self._gone, lists = set(), self._lists
        self._refused = self._refusals.now() if waiting else {}
        for first in range(0, len(waiting), AT_ONCE):
            if self._clock.monotonic() - began > LOOK_SECONDS:
                return
            batch = waiting[first : first + AT_ONCE]
            for (uid, known), (settled, item) in zip(batch, self._judged(batch), strict=True):
                with self._changed:
                    if self._fresh.get(uid, known) is not known or self._lists != lists:
                        continue  # it changed meanwhile, or may have
                    self._fresh.pop(uid, None)
                    self._pending.pop(uid, None)
                    if not settled and uid not in self._gone:
                        self._pending[uid] = item
        if whole:
            self._due = self._clock.monotonic() + PENDING_SECONDS

    def _judged(self, batch: list[tuple[str, Object]]) -> Iterator[tuple[bool, Object]]:
        return self._workers.map(self._keep, (item for _, item in batch))

    def _keep(self, item: Object) -> tuple[bool, Object]:
        """Whether nothing is waited for, and the object as it is then. Raises OSError."""
        verdict = judge(item, self._zones, self._resolver.addresses, self._refused)
        wanted = status(item, verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if wanted == item.get("status"):
            return verdict.settled, item
        if not self._lease.held():
            return False, item
        try:
            written = self._api.replace_status({**item, "status": wanted})
        except ApiError as error:
            if error.status in REFUSED:
                print(f"conditions: {error}", flush=True)
                return False, item
            # Changed or gone meanwhile: its event comes in the watch.
            if error.status not in (NOT_FOUND, CONFLICT):
                raise
            return True, item
        with self._changed:
            self._echoes[item["metadata"]["uid"]] = written["metadata"]["resourceVersion"]
        return verdict.settled, written
