"""Lists and watches: a picture of some collections of the API server that is kept up to date by threads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

from sandbox.plugins.kubernetes.client import ApiError, Client, Unreachable
from sandbox.plugins.kubernetes.objects import Object, get, name_of

_RETRY_SECONDS: Final = 1.0
_WATCH_SECONDS: Final = 300


class Watching:
    """The collections that one wait looks at. Use as a context manager: the watches end with it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._changed = threading.Condition()
        self._dirty = False
        self._closed = False
        self._objects: dict[str, dict[str, Object]] = {}
        self._listed: set[str] = set()
        self._seen: dict[tuple[str, str], list[float]] = {}
        self._responses: set[Any] = set()

    def __enter__(self) -> Watching:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            responses = list(self._responses)
        for response in responses:
            _unblock(response)

    def start(self, label: str, path: str, *, name: str = "") -> None:
        """Begins to follow the collection at `path`, or of it only the object `name`."""
        self._objects[label] = {}
        threading.Thread(target=self._follow, args=(label, path, name), daemon=True, name=f"watch {path}").start()

    def objects(self, label: str) -> Mapping[str, Object]:
        """What is there now, by name."""
        with self._changed:
            return dict(self._objects[label])

    def has_listed(self, label: str) -> bool:
        """Whether `objects` was read from the server at least once."""
        with self._changed:
            return label in self._listed

    def events_of(self, label: str, name: str) -> list[float]:
        """When the object was listed, came, changed or went, in order; by the monotonic clock."""
        with self._changed:
            return list(self._seen.get((label, name), ()))

    def wait(self, seconds: float) -> None:
        """Returns when something has changed since the last call, at the latest after so many seconds."""
        with self._changed:
            if not self._dirty:
                self._changed.wait(seconds)
            self._dirty = False

    def _follow(self, label: str, path: str, name: str) -> None:
        query = {"fieldSelector": f"metadata.name={name}"} if name else {}
        while not self._closed:
            try:
                listing = self._client.request("GET", path, query=query)
                self._replace(label, _items(listing))
                version = get(listing, "metadata", "resourceVersion") or ""
                self._stream(label, path, {**query, "resourceVersion": version})
            except (ApiError, Unreachable, OSError, ValueError):
                if not self._closed:
                    time.sleep(_RETRY_SECONDS)

    def _stream(self, label: str, path: str, query: Mapping[str, str]) -> None:
        response = self._client.stream(path, {**query, "watch": "true", "timeoutSeconds": str(_WATCH_SECONDS)})
        with self._changed:
            self._responses.add(response)
            closed = self._closed
        try:
            for line in response if not closed else ():
                event = json.loads(line)
                if self._closed or event["type"] == "ERROR":
                    return  # For example the version was too old: list again.
                self._apply(label, event["type"], event["object"])
        except Exception:
            if not self._closed:
                raise Unreachable("a watch was cut off") from None
        finally:
            with self._changed:
                self._responses.discard(response)
            response.close()

    def _replace(self, label: str, items: list[Object]) -> None:
        with self._changed:
            known = self._objects[label]
            self._objects[label] = {name_of(item): item for item in items}
            self._listed.add(label)
            self._note(label, [item for item in items if known.get(name_of(item)) != item])

    def _apply(self, label: str, kind: str, obj: Object) -> None:
        with self._changed:
            if kind == "DELETED":
                self._objects[label].pop(name_of(obj), None)
            elif kind in ("ADDED", "MODIFIED"):
                self._objects[label][name_of(obj)] = obj
            self._note(label, [obj])

    def _note(self, label: str, items: list[Object]) -> None:
        now = time.monotonic()
        for item in items:
            self._seen.setdefault((label, name_of(item)), []).append(now)
        self._dirty = True
        self._changed.notify_all()


def _unblock(response: Any) -> None:
    """Makes the thread that reads the response come to its end."""
    # That thread may close the response at this very moment, because an event or the end of the watch has woken it.
    # Then there is nothing to unblock, and the response says so in one of four ways. Its socket serves no other
    # request (`Client.stream`), so whatever the two threads do to it disturbs nobody else.
    with suppress(OSError, RuntimeError, TypeError, ValueError):
        response.shutdown()


def _items(listing: Object) -> list[Object]:
    """The objects of a list. The server leaves out of them what the list says already: apiVersion and kind."""
    kind = str(listing.get("kind", "")).removesuffix("List")
    return [{"apiVersion": listing.get("apiVersion"), "kind": kind, **item} for item in listing.get("items") or ()]
