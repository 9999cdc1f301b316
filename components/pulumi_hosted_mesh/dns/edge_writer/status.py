"""Keeps the conditions of DNSEndpoints: a list, then a watch, then a list again when that breaks.

Of all of an edge, or of those that the program itself wrote beside this Pod. What is not settled is looked at again: a
few at once, in turn, and for a part of the time, so that many thousand new names neither hold up the watch nor keep the
name server from what publishes them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from .api import WATCH_SECONDS, ApiError, EndpointsApi, Object, OwnApi
from .conditions import Zones, judge, status
from .lease import NOTE_ANNOTATION, Lease
from .pace import Clock
from .resolver import Resolver

PENDING_SECONDS, SETTLED_SECONDS = 5, WATCH_SECONDS
LOOK_SECONDS, MORE_SECONDS = 1.0, 1
"""A look ends after the first, and goes on after the second: at most half of the time."""
AT_ONCE = 8
"""Names that are asked for, and objects that are written."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
CONFLICT = 409


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
        self._pending: dict[str, Object] = {}  # that which was looked at first is first
        self._echoes: dict[str, str] = {}
        self._more = False
        self._refused: Mapping[str, str] = {}

    @classmethod
    def of(cls, config: Mapping[str, Any], api: EndpointsApi, own: OwnApi, lease: Lease) -> StatusKeeper:
        """config: `zones` and `nameservers`."""
        zones = [Zones(**one) for one in config["zones"]]
        return cls(api, zones, lease, Refusals(own, zones), Resolver(config["nameservers"]))

    def run(self) -> None:
        """Never returns. An edge out of reach is waited for, less often as time goes by."""
        pause = FIRST_PAUSE
        while True:
            if not self._lease.wait(SETTLED_SECONDS):
                continue
            try:
                items, version = self._api.list()
                self._pending, self._echoes = {item["metadata"]["uid"]: item for item in items}, {}
                self._look()
                pause = FIRST_PAUSE
                while version:
                    version = self._follow(version)
            except OSError as error:
                print(f"conditions: {error}; again in {pause:g} s", flush=True)
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _follow(self, version: str) -> str:
        """Handles what comes in one watch; the version to go on from, "" to list anew, or to wait for the Lease."""
        seconds = MORE_SECONDS if self._more else PENDING_SECONDS if self._pending else SETTLED_SECONDS
        for event in self._api.watch(version, seconds):
            if event["type"] == "ERROR" or not self._lease.held():
                return ""
            item = event["object"]
            version = item["metadata"]["resourceVersion"]
            if event["type"] == "BOOKMARK":
                continue
            self._take(item, there=event["type"] != "DELETED")
            if self._pending and seconds == SETTLED_SECONDS:
                break  # a watch as long as this one would be a long time to wait for an answer
        self._look()
        return version if self._lease.held() else ""

    def _take(self, item: Object, *, there: bool) -> None:
        """Notes that an object is to be looked at, unless nothing happened but what was written here."""
        uid = item["metadata"]["uid"]
        if not there:
            self._pending.pop(uid, None)
            self._echoes.pop(uid, None)
        elif self._echoes.pop(uid, "") != item["metadata"]["resourceVersion"] or uid in self._pending:
            self._pending[uid] = item

    def _look(self) -> None:
        """Judges what is waited for, as much as there is time for. Raises OSError."""
        waiting, self._more = list(self._pending.values()), False
        self._refused = self._refusals.now() if waiting else {}
        until = self._clock.monotonic() + LOOK_SECONDS
        for first in range(0, len(waiting), AT_ONCE):
            self._more = self._clock.monotonic() > until
            if self._more:
                return
            for settled, item in self._workers.map(self._keep, waiting[first : first + AT_ONCE]):
                del self._pending[item["metadata"]["uid"]]
                if not settled:
                    self._pending[item["metadata"]["uid"]] = item

    def _keep(self, item: Object) -> tuple[bool, Object]:
        """Whether nothing is waited for, and the object as it is then. Raises OSError."""
        verdict = judge(item, self._zones, self._resolver.addresses, self._refused)
        wanted = status(item, verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if wanted != item.get("status") and self._lease.held():
            try:
                written = self._api.replace_status({**item, "status": wanted})
                self._echoes[item["metadata"]["uid"]] = written["metadata"]["resourceVersion"]
                item = written
            except ApiError as error:
                # Changed or gone meanwhile: its event comes in the watch.
                if error.status not in (404, CONFLICT):
                    raise
        return verdict.settled, item
