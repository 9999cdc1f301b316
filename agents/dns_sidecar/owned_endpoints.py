"""The DNSEndpoints that this program made, known without asking for them in each pass of external-dns."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable

from .api import WATCH_SECONDS, ApiError, EdgeApi, Object
from .lease import Lease
from .pace import Clock
from .records import MADE, MADE_LABEL, Write, endpoints_of

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
NOT_FOUND, CONFLICT = 404, 409
SELECTOR = f"{MADE_LABEL}={MADE}"


class Made:
    """A list, kept true by a watch and by what is written here.

    The list is read anew when the Lease was taken again, since another replica may have written meanwhile, and when
    the watch was lost. What cannot be read is not guessed: then there is no answer. lease: who holds it asks.
    """

    def __init__(self, api: EdgeApi, namespace: str, lease: Lease, clock: Clock = time) -> None:
        self._api, self._namespace, self._lease, self._clock = api, namespace, lease, clock
        self._items: dict[str, Object] = {}
        self._version, self._listed_at = "", 0  # the second as a number: events up to it are in the list
        self._term = 0
        self._followed = False
        self._not_before, self._pause = 0.0, FIRST_PAUSE
        self._body: bytes | None = None
        self._changed = threading.Condition(threading.RLock())

    def records(self) -> bytes:
        """external-dns' records of all of them, as JSON. Raises OSError."""
        with self._changed:
            self._refresh()
            if self._body is None:
                self._body = json.dumps(endpoints_of(self._items.values())).encode()
            return self._body

    def named(self, names: Iterable[str]) -> list[Object]:
        """Those of them that there are. Raises OSError."""
        with self._changed:
            self._refresh()
            return [self._items[name] for name in sorted(names) if name in self._items]

    def write(self, write: Write) -> bool:
        """Writes, and knows what came of it; False if the object is not as it was known. Raises OSError."""
        name = write.item["metadata"]["name"]
        try:
            if write.verb == "delete":
                self._api.delete(write.item)
                self._forget(name)
            else:
                self._keep((self._api.create if write.verb == "create" else self._api.replace)(write.item))
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):
                raise
            self._read(name)
            return False
        return True

    def run(self) -> None:
        """Follows what others do to them; never returns."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._followed)
                version = self._version
            self.follow(version)

    def follow(self, version: str) -> None:
        """Until a watch is lost, or one ends after the Lease was lost."""
        began = self._clock.monotonic()
        try:
            while version:
                version = self._watch(version)
        except OSError as error:
            print(f"records: watch: {error}", flush=True)
        with self._changed:
            self._followed = False
            # An API server that ends each watch at once is not asked for a list each second.
            self._pause = (
                FIRST_PAUSE if self._clock.monotonic() - began > LONGEST_PAUSE else min(2 * self._pause, LONGEST_PAUSE)
            )
            self._not_before = self._clock.monotonic() + self._pause

    def _watch(self, version: str) -> str:
        """One watch; the version to go on from, "" if it is not to be gone on with. Raises OSError."""
        began = self._clock.monotonic()
        for event in self._api.watch(version, WATCH_SECONDS, self._namespace, labelSelector=SELECTOR):
            if event["type"] == "ERROR":
                raise OSError(str(event["object"].get("reason") or "ended"))
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] == "DELETED":
                self._gone(event["object"])
            elif event["type"] != "BOOKMARK":
                self._keep(event["object"])
        if self._clock.monotonic() - began < FIRST_PAUSE:
            raise OSError("ended at once")
        return version if self._lease.held() else ""

    def _refresh(self) -> None:
        """Lists, unless it is known what a list would say. Raises OSError."""
        term = self._lease.term
        if self._followed and self._term == term:
            return
        if self._clock.monotonic() < self._not_before:
            raise OSError("a watch was lost; its objects are listed again soon")
        items, version = self._api.list(self._namespace, labelSelector=SELECTOR)
        self._items = {item["metadata"]["name"]: _without_managers(item) for item in items}
        self._version, self._listed_at = version, int(version)
        self._term, self._body, self._followed = term, None, True
        self._changed.notify_all()

    def _read(self, name: str) -> None:
        """One of them. Raises OSError."""
        items, _ = self._api.list(self._namespace, labelSelector=SELECTOR, fieldSelector=f"metadata.name={name}")
        if items:
            self._keep(items[0])
        else:
            self._forget(name)

    def _keep(self, item: Object) -> None:
        with self._changed:
            known = self._items.get(item["metadata"]["name"])
            if _number(item) > self._listed_at and (known is None or _number(item) > _number(known)):
                self._items[item["metadata"]["name"]] = _without_managers(item)
                if known is None or known.get("spec") != item.get("spec"):  # else its conditions alone changed
                    self._body = None

    def _gone(self, item: Object) -> None:
        """An event that may be older than what is known: the object may have been made again."""
        with self._changed:
            known = self._items.get(item["metadata"]["name"])
            if known is not None and _number(item) > max(_number(known), self._listed_at):
                self._forget(item["metadata"]["name"])

    def _forget(self, name: str) -> None:
        with self._changed:
            self._items.pop(name, None)
            self._body = None


def _number(item: Object) -> int:
    """Of versions of one kind the later one is larger."""
    return int(item["metadata"]["resourceVersion"])


def _without_managers(item: Object) -> Object:
    """Left out of what is written back, they stay as they are; they are most of a small object."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {**item, "metadata": metadata}
