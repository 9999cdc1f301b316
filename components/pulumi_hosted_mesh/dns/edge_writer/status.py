"""Keeps the conditions of DNSEndpoints: a list, then a watch, then a list again when that breaks.

Of all of an edge, or of those that the program itself wrote beside this Pod.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .api import WATCH_SECONDS, ApiError, EndpointsApi, Object, OwnApi
from .conditions import Zones, judge, status
from .lease import NOTE_ANNOTATION, Lease
from .resolver import Resolver

PENDING_SECONDS, SETTLED_SECONDS = 5, WATCH_SECONDS
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
        self, api: EndpointsApi, zones: list[Zones], lease: Lease, refusals: Refusals, resolver: Resolver
    ) -> None:
        self._api, self._zones, self._lease, self._refusals = api, zones, lease, refusals
        self._resolver = resolver
        self._pending: dict[str, Object] = {}
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
                self._pending, self._refused = {}, self._refusals.now()
                for item in items:
                    self._keep(item)
                pause = FIRST_PAUSE
                while version:
                    version = self._follow(version)
            except OSError as error:
                print(f"conditions: {error}; again in {pause:g} s", flush=True)
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _follow(self, version: str) -> str:
        """Handles what comes in one watch; the version to go on from, "" to list anew, or to wait for the Lease."""
        seconds = PENDING_SECONDS if self._pending else SETTLED_SECONDS
        for event in self._api.watch(version, seconds):
            if event["type"] == "ERROR" or not self._lease.held():
                return ""
            item = event["object"]
            version = item["metadata"]["resourceVersion"]
            if event["type"] == "BOOKMARK":
                continue
            self._pending.pop(item["metadata"]["uid"], None)
            if event["type"] != "DELETED":
                self._keep(item)
            if self._pending and seconds == SETTLED_SECONDS:
                return version  # a watch as long as this one would be a long time to wait for an answer
        waiting = list(self._pending.values())
        # Also for what comes in the next watch, such as the echo of what is written here.
        self._refused = self._refusals.now() if waiting else {}
        for item in waiting:
            self._keep(item)
        return version if self._lease.held() else ""

    def _keep(self, item: Object) -> None:
        verdict = judge(item, self._zones, self._resolver.addresses, self._refused)
        if not verdict.settled:
            self._pending[item["metadata"]["uid"]] = item
        else:
            self._pending.pop(item["metadata"]["uid"], None)
        wanted = status(item, verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if wanted != item.get("status") and self._lease.held():
            try:
                self._api.replace_status({**item, "status": wanted})
            except ApiError as error:
                # Changed or gone meanwhile: its event comes in the watch.
                if error.status not in (404, CONFLICT):
                    raise
