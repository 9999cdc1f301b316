"""Keeps copies of API objects up to date: list, then watch; list again after any error (410 Gone included)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from lightkube import AsyncClient
from lightkube.core.resource import NamespacedResourceG as NamespacedResource
from lightkube.core.resource import Resource
from lightkube.models.meta_v1 import ObjectMeta

T = TypeVar("T", bound=Resource)
Key = tuple[str, str]
_log = logging.getLogger(__name__)
_PAUSE = 1.0


def key_of(thing: Resource) -> Key:
    """Namespace and name."""
    metadata: ObjectMeta = thing.metadata  # type: ignore[attr-defined]  # every kind has it; the base class lacks it
    return (metadata.namespace or "", metadata.name or "")


class Mirror(Generic[T]):
    """A copy of all objects of a kind. changed: called after each change. namespace: None for kinds without one."""

    def __init__(
        self, client: AsyncClient, kind: type[T], changed: Callable[[], None], *, namespace: str | None = "*"
    ) -> None:
        self._client, self._kind, self._changed, self._namespace = client, kind, changed, namespace
        self.objects: dict[Key, T] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                await self._follow()
            except Exception as error:  # any error (a cut-off line, a bad answer): a copy must not silently age
                _log.info("watch of %s starts again: %s", self._kind.__name__, error or type(error).__name__)
            await asyncio.sleep(_PAUSE)

    async def _follow(self) -> None:
        of_all = cast(type[NamespacedResource], self._kind)  # the client has a signature for each sort of kind
        listed = self._client.list(of_all, namespace=self._namespace)
        self.objects = {key_of(thing): cast(T, thing) async for thing in listed}
        self.synced.set()
        self._changed()
        watched = self._client.watch(of_all, namespace=self._namespace, resource_version=listed.resourceVersion)
        async for event, seen in watched:
            self._set(key_of(seen), None if event == "DELETED" else cast(T, seen))

    def _set(self, key: Key, thing: T | None) -> None:
        if thing is None:
            self.objects.pop(key, None)
        else:
            self.objects[key] = thing
        self._changed()
