"""What the container runtime asks of its node: a Pod's network, and which program an image stands for.

On a unix socket: one JSON object in, one out, each on a line, then the end.

- ``{"do": "add", "id": .., "uid": .., "sysctls": {..}}`` is answered once the NetworkPolicies hold for that Pod:
  ``{"address": .., "namespace": path of the network namespace}``. Of sysctls those of networks are set
- ``{"do": "remove", "id": ..}``: ``{}``, also for one that is not there
- ``{"do": "image", "reference": ..}``: ``{"id": .., "user": number}``

id: of the Pod's sandbox; a Pod has another one after each start of it. What goes wrong is ``{"error": text}``, with
``"unknown": true`` for an image that no program here stands for.
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
        """Returns when it listens."""
        await asyncio.start_unix_server(self._handle, socket)

    async def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Never raises: what goes wrong is an answer."""
        try:
            match asked["do"]:
                case "add":
                    sysctls = (asked.get("sysctls") or {}).items()
                    of_network = {name: value for name, value in sysctls if name.startswith("net.")}
                    return await self._add(asked["id"], asked["uid"], of_network)
                case "remove":
                    return await self._remove(asked["id"])
                case "image":
                    return await asyncio.to_thread(self._image, asked["reference"])
            return {"error": f"this node cannot do {asked['do']!r}"}
        except images.UnknownImageError as error:
            return {"error": str(error), "unknown": True}
        except Exception as error:  # whatever it is, the runtime has to learn of it, and tries again
            _log.warning("%s: %s", asked, error or type(error).__name__)
            return {"error": str(error) or type(error).__name__}

    async def _add(self, sandbox: str, uid: str, sysctls: Mapping[str, str]) -> dict[str, Any]:
        address = self._addresses.take()
        try:
            await self._policies.admit(uid, address)  # before anything runs that could send
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
