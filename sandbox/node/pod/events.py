"""Events about Pods, as `kubectl describe pod` shows them."""

import logging
import secrets
import time
from typing import Literal

import httpx2
from lightkube import AsyncClient
from lightkube.models.core_v1 import EventSource, ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event, Pod

from sandbox.node.container.state import now

_log = logging.getLogger(__name__)
_QUIET_SECONDS = 60.0


class Events:
    """Writes events; the same one about the same Pod at most once a minute. Losing one is no error."""

    def __init__(self, client: AsyncClient, node: str) -> None:
        self._client, self._node = client, node
        self._sent: dict[tuple[str, str, str], float] = {}

    async def send(self, kind: Literal["Normal", "Warning"], pod: Pod, reason: str, message: str) -> None:
        metadata = pod.metadata
        assert metadata is not None
        key = (metadata.uid or "", reason, message)
        since = time.monotonic() - self._sent.get(key, float("-inf"))
        if since < _QUIET_SECONDS:
            return
        self._sent = {known: at for known, at in self._sent.items() if time.monotonic() - at < _QUIET_SECONDS}
        self._sent[key] = time.monotonic()
        if kind == "Warning":
            _log.warning("%s/%s %s: %s", metadata.namespace, metadata.name, reason, message)
        at = now()
        event = Event(
            metadata=ObjectMeta(name=f"{metadata.name}.{secrets.token_hex(8)}", namespace=metadata.namespace),
            involvedObject=ObjectReference(
                apiVersion="v1", kind="Pod", name=metadata.name, namespace=metadata.namespace, uid=metadata.uid
            ),
            type=kind,
            reason=reason,
            message=message[:1024],
            source=EventSource(component="sandbox-node", host=self._node),
            reportingComponent="sandbox-node",
            reportingInstance=self._node,
            firstTimestamp=at,
            lastTimestamp=at,
            count=1,
        )
        try:
            await self._client.create(event)
        except (httpx2.HTTPError, OSError) as error:
            _log.debug("event %s not written: %s", reason, error)
