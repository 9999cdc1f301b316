"""Serves the container runtime: a Pod's network, and the program of an image.

On a unix socket: one JSON object in, one out, each on a line, then the end.

- ``{"do": "add", "id": .., "uid": .., "sysctls": {..}}`` is answered once the NetworkPolicies hold for that Pod:
  ``{"address": .., "namespace": path of the network namespace}``. Of sysctls those of networks are set
- ``{"do": "remove", "id": ..}``: ``{}``, also for one that is not there
- ``{"do": "image", "reference": ..}``: ``{"id": .., "user": number}``

id: of the Pod's sandbox; each start of a Pod makes another one. A failure is ``{"error": text}``, with
``"unknown": true`` for an image without a program here.
"""

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox.node.network import pod_network
from sandbox.node.network.addresses import AddressPool
from sandbox.node.network.pod_network import PodNetwork, Uplink
from sandbox.node.network_policies.enforcer import Enforcer
from sandbox.node.runtime import images

_log = logging.getLogger(__name__)


class Daemon:
    """The networks of one node's Pods, by sandbox. bin_dir: directory with the tools by name."""

    def __init__(self, uplink: Uplink, addresses: AddressPool, policies: Enforcer, bin_dir: Path) -> None:
        self._uplink, self._addresses, self._policies, self._bin_dir = uplink, addresses, policies, bin_dir
        self._networks: dict[str, PodNetwork] = {}

    async def serve(self, socket: Path) -> None:
        """Returns when the socket listens."""
        await asyncio.start_unix_server(self._handle, socket)

    async def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Never raises: a failure is an answer."""
        try:
            match request["do"]:
                case "add":
                    sysctls = (request.get("sysctls") or {}).items()
                    of_network = {name: value for name, value in sysctls if name.startswith("net.")}
                    return await self._add(request["id"], request["uid"], of_network)
                case "remove":
                    return await self._remove(request["id"])
                case "image":
                    return await asyncio.to_thread(self._image, request["reference"])
            return {"error": f"this node cannot do {request['do']!r}"}
        except images.UnknownImageError as error:
            return {"error": str(error), "unknown": True}
        except Exception as error:  # any error is an answer to the runtime, which tries again
            _log.warning("%s: %s", request, error or type(error).__name__)
            return {"error": str(error) or type(error).__name__}

    async def _add(self, sandbox: str, uid: str, sysctls: Mapping[str, str]) -> dict[str, Any]:
        address = self._addresses.take()
        try:
            await self._policies.admit(uid, address)  # before any of its programs starts
            made = await pod_network.create(self._uplink, f"pod{sandbox[:11]}", address, sysctls)
        except BaseException:
            self._give_back(address)
            raise
        self._networks[sandbox] = made
        return {"address": address, "namespace": f"/proc/{os.getpid()}/fd/{made.fd}"}

    async def _remove(self, sandbox: str) -> dict[str, Any]:
        if network := self._networks.pop(sandbox, None):
            await pod_network.remove(network)
            self._give_back(network.address)
        return {}

    def _give_back(self, address: str) -> None:
        self._policies.dismiss(address)
        self._addresses.release(address)

    def _image(self, reference: str) -> dict[str, Any]:
        image = images.find(reference)
        return {"id": images.image_id(image, self._bin_dir), "user": image.user}

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # at the node's end, and the streams of Python 3.11 would log it
            answer = await self.answer(json.loads(await reader.readline()))
            writer.write(json.dumps(answer).encode() + b"\n")
            writer.close()
