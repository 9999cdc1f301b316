"""Keeps copies of API objects up to date: list, then watch; list again after any error (410 Gone included)."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

from lightkube import AsyncClient
from lightkube.core.client import FieldSelector
from lightkube.core.resource import NamespacedResourceG as NamespacedResource
from lightkube.core.resource import Resource
from lightkube.models.meta_v1 import ObjectMeta

T = TypeVar("T", bound=Resource)
Key = tuple[str, str]
_log = logging.getLogger(__name__)
_PAUSE = 1.0


def key_of(thing: Resource) -> Key:
    """Namespace and name."""
    metadata = _metadata(thing)
    return (metadata.namespace or "", metadata.name or "")


def _metadata(thing: Resource) -> ObjectMeta:
    found: ObjectMeta = thing.metadata  # type: ignore[attr-defined]  # every kind has it; the base class does not say so
    return found


class Mirror(Generic[T]):
    """A copy of all objects of a kind that match.

    namespace: None for a kind that is in none.
    on_change: called with the key and the object, None once it is gone, also for what changed while nobody watched.
    """

    def __init__(
        self,
        client: AsyncClient,
        kind: type[T],
        on_change: Callable[[Key, T | None], None] = lambda *_: None,
        *,
        namespace: str | None = "*",
        fields: FieldSelector | None = None,
    ) -> None:
        self._client, self._kind, self._on_change = client, kind, on_change
        self._namespace, self._fields = namespace, fields
        self.objects: dict[Key, T] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                await self._follow()
            except Exception as error:  # whatever it is (a cut-off line, a bad answer): a copy must not silently age
                _log.info("watch of %s starts again: %s", self._kind.__name__, error or type(error).__name__)
            await asyncio.sleep(_PAUSE)

    async def _follow(self) -> None:
        of_all = cast(type[NamespacedResource], self._kind)  # the client has a signature for each sort of kind
        listed = self._client.list(of_all, namespace=self._namespace, fields=self._fields)
        present = {key_of(thing): cast(T, thing) async for thing in listed}
        for key in [key for key in self.objects if key not in present]:
            self._set(key, None)
        for key, thing in present.items():
            self._set(key, thing)
        self.synced.set()
        watched = self._client.watch(
            of_all,
            namespace=self._namespace,
            fields=self._fields,
            resource_version=listed.resourceVersion,
        )
        async for event, seen in watched:
            if event in ("ADDED", "MODIFIED", "DELETED"):
                self._set(key_of(seen), None if event == "DELETED" else cast(T, seen))

    def _set(self, key: Key, thing: T | None) -> None:
        if thing is None:
            if self.objects.pop(key, None) is None:
                return
        else:
            known = self.objects.get(key)
            if known is not None and _version(known) == _version(thing):
                return
            self.objects[key] = thing
        self._on_change(key, thing)


def _version(thing: Resource) -> str:
    return str(_metadata(thing).resourceVersion)


class Watched(Mirror[T]):
    """A copy of one object. listeners: are set at each change."""

    def __init__(self, client: AsyncClient, kind: type[T], key: Key) -> None:
        namespace, name = key
        super().__init__(client, kind, self._tell, namespace=namespace, fields={"metadata.name": name})
        self.listeners: list[asyncio.Event] = []
        self._key = key
        self.task = asyncio.create_task(self.run())

    async def get(self, timeout: float = 10) -> T | None:
        """The object, None if it does not exist or could not be read within ``timeout`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self.synced.wait()
        return self.objects.get(self._key)

    def _tell(self, _key: Key, _thing: T | None) -> None:
        for listener in self.listeners:
            listener.set()


class NamedObjects:
    """Copies of single objects, watched only while somebody needs them: a node may read what its Pods refer to."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._watched: dict[tuple[type[Resource], Key], Watched[Any]] = {}

    def hold(self, kind: type[T], key: Key, listener: asyncio.Event) -> Watched[T]:
        """Starts watching (or shares the watch of) one object; ``listener`` is set at each change."""
        found = self._watched.get((kind, key)) or Watched(self._client, kind, key)
        self._watched[(kind, key)] = found
        found.listeners.append(listener)
        return found

    def drop(self, kind: type[T], key: Key, listener: asyncio.Event) -> None:
        """The listener needs it no more."""
        held = self._watched[(kind, key)]
        held.listeners.remove(listener)
        if not held.listeners:
            held.task.cancel()
            del self._watched[(kind, key)]
