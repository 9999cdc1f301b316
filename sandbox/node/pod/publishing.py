"""Tells the API server about one Pod: its status, events, and in the end that it is gone."""

import asyncio
import logging
from collections.abc import Callable

import httpx2
from lightkube import ApiError
from lightkube.resources.core_v1 import Pod
from lightkube.resources.core_v1 import PodStatus as PodStatusResource

from sandbox.node.container.state import PodState, now
from sandbox.node.node import Node
from sandbox.node.pod import status

_log = logging.getLogger(__name__)
_RETRY = 1.0
_NOT_FOUND, _CONFLICT = 404, 409


class Publisher:
    """pod: gives the newest object. state: what is told."""

    def __init__(self, node: Node, pod: Callable[[], Pod], state: PodState) -> None:
        self._node, self._pod, self._state = node, pod, state
        self._dirty = asyncio.Event()

    def publish(self) -> None:
        """Something has changed; the status is written soon."""
        self._dirty.set()

    async def run(self) -> None:
        """Writes the status whenever it has become another one; runs until cancelled."""
        sent: object = None
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            if self._state.started_at is None:
                continue
            computed = status.compute(self._pod(), self._state, str(self._node.config.node_ip), now())
            if computed == sent:
                continue
            metadata = self._pod().metadata
            assert metadata is not None
            document = status.patch(metadata.uid or "", computed)
            try:
                await self._node.client.patch(
                    PodStatusResource, metadata.name or "", document, namespace=metadata.namespace or ""
                )
                sent = computed
            except (httpx2.HTTPError, OSError) as error:
                if isinstance(error, ApiError) and error.status.code in (_NOT_FOUND, _CONFLICT):
                    continue  # gone, or another Pod of that name: the watch will tell
                _log.info("status of Pod %s not written: %s", metadata.name, error or type(error).__name__)
                await asyncio.sleep(_RETRY)
                self._dirty.set()

    async def warn(self, reason: str, message: str) -> None:
        await self._node.events.send("Warning", self._pod(), reason, message)

    async def note(self, reason: str, message: str) -> None:
        await self._node.events.send("Normal", self._pod(), reason, message)

    async def delete(self, still_there: Callable[[], bool]) -> None:
        """The last act of a deletion: only the node may say that the Pod's processes have ended."""
        metadata = self._pod().metadata
        assert metadata is not None
        while still_there():
            try:
                await self._node.client.delete(
                    Pod, metadata.name or "", namespace=metadata.namespace or "", grace_period=0
                )
                return
            except (httpx2.HTTPError, OSError) as error:
                if isinstance(error, ApiError) and error.status.code in (_NOT_FOUND, _CONFLICT):
                    return
                await asyncio.sleep(_RETRY)
