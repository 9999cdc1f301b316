"""A cache of the DNSEndpoints that this program created: a pass of external-dns sends no request to the edge."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable

from .api import WATCH_SECONDS, ApiError, EdgeApi, Object
from .lease import Lease
from .records import OWNER, OWNER_LABEL, Write, endpoints_of
from .throttle import Clock

FIRST_RETRY, MAX_RETRY = 1.0, 60.0
NOT_FOUND, CONFLICT = 404, 409
SELECTOR = f"{OWNER_LABEL}={OWNER}"


class OwnedEndpoints:
    """A list of objects, updated by a watch and by this program's own writes.

    After a lost watch, or in a new term of the Lease, another replica may have written: a new list follows. If the list
    fails, the methods raise OSError instead of returning old objects. lease: the caller holds it.
    """

    def __init__(self, api: EdgeApi, namespace: str, lease: Lease, clock: Clock = time) -> None:
        self._api, self._namespace, self._lease, self._clock = api, namespace, lease, clock
        self._items: dict[str, Object] = {}
        self._version, self._listed_at = "", 0  # the second as a number: the list contains all events up to it
        self._term = 0
        self._is_current = False
        self._not_before, self._retry = 0.0, FIRST_RETRY
        self._body: bytes | None = None
        self._changed = threading.Condition(threading.RLock())

    def records(self) -> bytes:
        """external-dns' records in all objects, as JSON. Raises OSError."""
        with self._changed:
            self._refresh()
            if self._body is None:
                self._body = json.dumps(endpoints_of(self._items.values())).encode()
            return self._body

    def named(self, names: Iterable[str]) -> list[Object]:
        """The existing objects among names. Raises OSError."""
        with self._changed:
            self._refresh()
            return [self._items[name] for name in sorted(names) if name in self._items]

    def write(self, write: Write) -> bool:
        """Sends a write and caches its result; False if the cached object was old. Raises OSError."""
        name = write.item["metadata"]["name"]
        try:
            if write.verb == "delete":
                self._api.delete(write.item)
                self._remove(name)
            else:
                self._store((self._api.create if write.verb == "create" else self._api.replace)(write.item))
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):
                raise
            self._read(name)
            return False
        return True

    def run(self) -> None:
        """Watches for other clients' changes; never returns."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_current)
                version = self._version
            self.follow(version)

    def follow(self, version: str) -> None:
        """Watches until a watch is lost, or ends without the Lease."""
        began = self._clock.monotonic()
        try:
            while version:
                version = self._watch(version)
        except OSError as error:
            print(f"records: watch: {error}", flush=True)
        with self._changed:
            self._is_current = False
            # Back-off for an API server that ends each watch at once: it gets no list each second.
            lasted = self._clock.monotonic() - began > MAX_RETRY
            self._retry = FIRST_RETRY if lasted else min(2 * self._retry, MAX_RETRY)
            self._not_before = self._clock.monotonic() + self._retry

    def _watch(self, version: str) -> str:
        """One watch. Returns the version for the next one, or "" if there is none. Raises OSError."""
        began = self._clock.monotonic()
        for event in self._api.watch(version, WATCH_SECONDS, self._namespace, labelSelector=SELECTOR):
            if event["type"] == "ERROR":
                raise OSError(str(event["object"].get("reason") or "ended"))
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] == "DELETED":
                self._remove_if_older(event["object"])
            elif event["type"] != "BOOKMARK":
                self._store(event["object"])
        if self._clock.monotonic() - began < FIRST_RETRY:
            raise OSError("ended at once")
        return version if self._lease.held() else ""

    def _refresh(self) -> None:
        """Lists the objects, unless the cache is current. Raises OSError."""
        term = self._lease.term
        if self._is_current and self._term == term:
            return
        if self._clock.monotonic() < self._not_before:
            raise OSError("a watch was lost; the next list follows soon")
        items, version = self._api.list(self._namespace, labelSelector=SELECTOR)
        self._items = {item["metadata"]["name"]: _without_managed_fields(item) for item in items}
        self._version, self._listed_at = version, int(version)
        self._term, self._body, self._is_current = term, None, True
        self._changed.notify_all()

    def _read(self, name: str) -> None:
        """Updates one object. Raises OSError."""
        items, _ = self._api.list(self._namespace, labelSelector=SELECTOR, fieldSelector=f"metadata.name={name}")
        if items:
            self._store(items[0])
        else:
            self._remove(name)

    def _store(self, item: Object) -> None:
        with self._changed:
            cached = self._items.get(item["metadata"]["name"])
            if _version(item) > self._listed_at and (cached is None or _version(item) > _version(cached)):
                self._items[item["metadata"]["name"]] = _without_managed_fields(item)
                if cached is None or cached.get("spec") != item.get("spec"):  # else only conditions changed
                    self._body = None

    def _remove_if_older(self, item: Object) -> None:
        """Handles a deletion. The event can be older than the cached object, which was then created again."""
        with self._changed:
            cached = self._items.get(item["metadata"]["name"])
            if cached is not None and _version(item) > max(_version(cached), self._listed_at):
                self._remove(item["metadata"]["name"])

    def _remove(self, name: str) -> None:
        with self._changed:
            self._items.pop(name, None)
            self._body = None


def _version(item: Object) -> int:
    """Within one kind, the larger version is the later one."""
    return int(item["metadata"]["resourceVersion"])


def _without_managed_fields(item: Object) -> Object:
    """The object without its largest part. A write without managedFields leaves them unchanged."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {**item, "metadata": metadata}
