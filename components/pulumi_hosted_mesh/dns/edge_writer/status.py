"""Keeps the conditions of all DNSEndpoints of an edge: a list, then a watch, then a list again when that breaks."""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime

from .api import ApiError, EdgeApi, Object
from .conditions import Zones, judge, status

PENDING_SECONDS, SETTLED_SECONDS = 5, 300
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
CONFLICT = 409


class StatusKeeper:
    """zones: of the edge, by provider."""

    def __init__(self, api: EdgeApi, zones: list[Zones]) -> None:
        self._api, self._zones = api, zones
        self._pending: dict[str, Object] = {}

    def run(self) -> None:
        """Never returns. An edge out of reach is waited for, less often as time goes by."""
        pause = FIRST_PAUSE
        while True:
            try:
                items, version = self._api.list()
                self._pending = {}
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
        """Handles what comes in one watch; the version to go on from, "" to list anew."""
        seconds = PENDING_SECONDS if self._pending else SETTLED_SECONDS
        for event in self._api.watch(version, seconds):
            if event["type"] == "ERROR":
                return ""
            item = event["object"]
            version = item["metadata"]["resourceVersion"]
            self._pending.pop(item["metadata"]["uid"], None)
            if event["type"] != "DELETED":
                self._keep(item)
            if self._pending and seconds == SETTLED_SECONDS:
                return version  # a watch as long as this one would be a long time to wait for an answer
        for item in list(self._pending.values()):
            self._keep(item)
        return version

    def _keep(self, item: Object) -> None:
        verdict = judge(item, self._zones, addresses)
        if not verdict.settled:
            self._pending[item["metadata"]["uid"]] = item
        else:
            self._pending.pop(item["metadata"]["uid"], None)
        wanted = status(item, verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if wanted != item.get("status"):
            try:
                self._api.replace_status({**item, "status": wanted})
            except ApiError as error:
                # Changed or gone meanwhile: its event comes in the watch.
                if error.status not in (404, CONFLICT):
                    raise


def addresses(name: str) -> set[str]:
    """The addresses of a name, as this Pod's resolver knows them."""
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()
