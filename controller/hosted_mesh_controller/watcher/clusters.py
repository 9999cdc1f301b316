"""Watches the custom resources of the users' clusters: a watch for each cluster and kind, all of them in one thread.

The service reads the watchers' kubeconfigs for this, which have no rights but on these resources and on events.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from httpx2 import HTTPError
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.generic_resource import create_global_resource
from lightkube.models.core_v1 import EventSource, ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event as ApiEvent
from lightkube.types import PatchType

from hosted_mesh_controller import metrics
from hosted_mesh_controller.json_logs import facts
from hosted_mesh_controller.settings import Settings, Watch
from hosted_mesh_controller.watcher.names import EVENTS_NAMESPACE, GROUP, VERSION, ResourceKind
from hosted_mesh_controller.watcher.reconciling import Change, Resource
from hosted_mesh_controller.watcher.status import Event

LOG: Final = logging.getLogger(__name__)
LOOK: Final = 1.0  # seconds between looks at the database
RESYNC: Final = 300.0  # seconds until a watch is replaced by a new listing: a lost connection may be silent
_LONGEST_PAUSE: Final = 15.0


class KubeconfigError(Exception):
    """A kubeconfig that cannot be used. It has the kind of the reason alone."""


_ERRORS: Final = (KubeconfigError, HTTPError, ApiError, OSError)
"""Errors of a kubeconfig or of a request."""


class Reconciles(Protocol):
    """The orders of one kind of resource."""

    def look(self, cluster: str, resources: Sequence[Resource]) -> list[Change]:
        """Places the orders that the resources require; returns the resources' changes. resources: all of them."""

    def returned(self, cluster: str) -> None:
        """Notes that a cluster answers again."""


class Watches:
    """The watches of one controller. reconcilers: by kind."""

    def __init__(self, settings: Settings, reconcilers: Mapping[ResourceKind, Reconciles]) -> None:
        self._watches = [
            ClusterWatch(name, entry.watch, kind, reconciler)
            for name, entry in settings.clusters.items()
            if entry.watch
            for kind, reconciler in reconcilers.items()
        ]

    def start(self) -> None:
        """Watches until the process ends."""
        metrics.WATCHES.labels("up").set(0)
        metrics.WATCHES.labels("away").set(len(self._watches))
        if self._watches:
            threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True, name="watcher").start()

    async def _run(self) -> None:
        await asyncio.gather(*[one.run() for one in self._watches])


class ClusterWatch:
    """The watch on one cluster's resources of a kind."""

    def __init__(self, cluster: str, watch: Watch, kind: ResourceKind, reconciler: Reconciles) -> None:
        self._cluster, self._watch, self._kind, self._reconciler = cluster, watch, kind, reconciler
        self._api = create_global_resource(GROUP, VERSION, kind.kind, kind.plural)
        self._resources: dict[str, Resource] = {}
        self._changed = asyncio.Event()
        self._failures, self._is_up = 0, False

    async def run(self) -> None:
        """Watches for ever; after an error again, with a growing pause."""
        while True:
            try:
                await self._follow()
            except* _ERRORS as errors:
                self._log_failure(errors.exceptions[0])
            except* Exception as errors:
                LOG.exception("watch failed", extra=facts(cluster=self._cluster), exc_info=errors)
            else:
                continue
            self._set_up(is_up=False)
            self._failures += 1
            await asyncio.sleep(min(2.0**self._failures, _LONGEST_PAUSE))

    async def _follow(self) -> None:
        """Lists the resources and watches them, until an error or the next listing is due."""
        client = _client(self._watch)
        try:
            listed = client.list(self._api, chunk_size=500)
            self._resources = {one["metadata"]["name"]: dict(one) async for one in listed}
            self._set_up(is_up=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(RESYNC), asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._collect(client, listed.resourceVersion))
                    tasks.create_task(self._reconcile(client))
        finally:
            await client.close()

    async def _collect(self, client: AsyncClient, version: str) -> None:
        """Keeps the resources as the API server has them."""
        async for kind, found in client.watch(self._api, resource_version=version):
            name = found["metadata"]["name"]
            if kind == "DELETED":
                self._resources.pop(name, None)
            else:
                self._resources[name] = dict(found)
            self._changed.set()

    async def _reconcile(self, client: AsyncClient) -> None:
        """Orders, and writes finalizers, statuses and events: at each change of a resource, and each second."""
        while True:
            self._changed.clear()
            changes = await asyncio.to_thread(self._reconciler.look, self._cluster, list(self._resources.values()))
            for change in changes:
                await self._write(client, change)
            try:
                async with asyncio.timeout(LOOK):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _write(self, client: AsyncClient, change: Change) -> None:
        metadata = change.resource["metadata"]
        name = metadata["name"]
        found: Mapping[str, Any]
        try:
            if change.finalizers is not None:
                body: dict[str, Any] = {"resourceVersion": metadata["resourceVersion"]}
                patch = {"metadata": {**body, "finalizers": list(change.finalizers)}}
                found = await client.patch(self._api, name, patch, patch_type=PatchType.MERGE)
            else:
                # Events first: a kill in between repeats one, and loses none.
                for event in change.events:
                    await client.create(_api_event(self._kind, metadata, event))
                found = await client.patch(
                    self._api.Status, name, {"status": change.status}, patch_type=PatchType.MERGE
                )
        except ApiError as error:
            # 404: gone meanwhile. 409: changed meanwhile. Both follow by the watch.
            if error.status.code in (404, 409):
                return
            raise
        if name in self._resources and "deletionTimestamp" not in found["metadata"]:
            self._resources[name] = dict(found)

    def _set_up(self, *, is_up: bool) -> None:
        """Notes whether the watch is connected."""
        if is_up and not self._is_up:
            kind, number = self._kind.kind, len(self._resources)
            LOG.info("watching", extra=facts(cluster=self._cluster, kind=kind, resources=number))
            if self._failures:
                self._reconciler.returned(self._cluster)
        if is_up != self._is_up:
            metrics.WATCHES.labels("up").inc(1 if is_up else -1)
            metrics.WATCHES.labels("away").inc(-1 if is_up else 1)
        self._failures, self._is_up = 0 if is_up else self._failures, is_up

    def _log_failure(self, error: BaseException) -> None:
        """Logs the kind of an error: its text may have a header or a path."""
        code = error.status.code if isinstance(error, ApiError) else None
        reason = str(error) if isinstance(error, KubeconfigError) else None
        extra = facts(cluster=self._cluster, kind=self._kind.kind, error=type(error).__name__, code=code, reason=reason)
        LOG.warning("watch interrupted", extra=extra)


def _client(watch: Watch) -> AsyncClient:
    """A client by the kubeconfig file as it is now: its token may be a new one. Raises: KubeconfigError."""
    try:
        config = KubeConfig.from_file(Path(watch.kubeconfig).expanduser()).get(context_name=watch.context)
        return AsyncClient(config=config, trust_env=False)
    except Exception as error:  # a parser's text may have a line of the file
        raise KubeconfigError(type(error).__name__) from None


def _api_event(kind: ResourceKind, metadata: Mapping[str, Any], event: Event) -> ApiEvent:
    now = datetime.now(UTC)
    return ApiEvent(
        metadata=ObjectMeta(name=f"{metadata['name']}.{secrets.token_hex(8)}", namespace=EVENTS_NAMESPACE),
        involvedObject=ObjectReference(
            apiVersion=f"{GROUP}/{VERSION}",
            kind=kind.kind,
            name=metadata["name"],
            uid=metadata["uid"],
            resourceVersion=metadata["resourceVersion"],
        ),
        type=event.kind,
        reason=event.reason,
        message=event.message,
        source=EventSource(component="hosted-mesh-controller"),
        firstTimestamp=now,
        lastTimestamp=now,
        count=1,
    )
