"""Follows NetworkPolicies, Pods and Namespaces and keeps the kernel's rules for this node's Pods up to date."""

import asyncio
import logging
import subprocess
from collections.abc import Container, Mapping
from pathlib import Path

from lightkube import AsyncClient
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.resources.networking_v1 import NetworkPolicy

from sandbox.node.network_policies.rules import Isolated, table
from sandbox.node.network_policies.selection import Direction, Endpoint, World, allowed
from sandbox.node.network_policies.watching import Mirror

_DIRECTIONS: tuple[Direction, ...] = ("Ingress", "Egress")
_RETRY, _PATIENCE = 1.0, 20.0  # seconds
_log = logging.getLogger(__name__)


class Enforcer:
    """The rules of one node's network. It runs in that network.

    node_name: names its table. client: may watch all three kinds in the whole cluster. A Pod of this node counts from
    `admit` on, before its first program starts; a Pod elsewhere once its status has an address.
    """

    def __init__(self, node_name: str, client: AsyncClient, nft: Path) -> None:
        self._table, self._nft = f"policies-{node_name}", nft
        self._changed = asyncio.Event()
        self._applying = asyncio.Lock()
        self._seen = asyncio.Event()
        self._local: dict[str, tuple[str, Endpoint]] = {}  # by address: the Pod's uid, and its latest object
        self._applied = ""
        self._policies = Mirror(client, NetworkPolicy, self._changed.set)
        self._pods = Mirror(client, Pod, self._on_pod)
        self._namespaces = Mirror(client, Namespace, self._changed.set, namespace=None)

    async def run(self) -> None:
        """Runs until cancelled."""
        mirrors = (self._policies, self._pods, self._namespaces)
        async with asyncio.TaskGroup() as group:
            for mirror in mirrors:
                group.create_task(mirror.run())
            await self._synced()
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    await self._apply()
                except (OSError, ValueError) as error:  # the former rules stay
                    _log.error("network policies: %s", error)
                    self._changed.set()
                    await asyncio.sleep(_RETRY)

    async def admit(self, uid: str, address: str) -> None:
        """Returns when the policies hold for the Pod of this node with that uid and address.

        Raises OSError when the kernel refuses them, TimeoutError when the API server does not show them or the Pod.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._synced()
                while (pod := self._current().get(uid)) is None:
                    self._seen.clear()
                    await self._seen.wait()
        except TimeoutError:
            raise TimeoutError(f"the API server did not show the Pod with uid {uid} within {_PATIENCE:g} s") from None
        found = Endpoint.of(pod, address)
        if found is not None:
            self._local[address] = (uid, found)
            await self._apply()

    def dismiss(self, address: str) -> None:
        """Forgets a Pod of this node that has returned its address."""
        self._local.pop(address, None)
        self._changed.set()

    def _on_pod(self) -> None:
        self._seen.set()
        self._changed.set()

    def _current(self) -> Mapping[str, Pod]:
        """All Pods by uid."""
        return {str(pod.metadata.uid): pod for pod in self._pods.objects.values() if pod.metadata}

    async def _synced(self) -> None:
        for mirror in (self._policies, self._pods, self._namespaces):
            await mirror.synced.wait()

    async def _apply(self) -> None:
        async with self._applying:
            text = table(self._table, self._isolated())
            if text == self._applied:
                return
            done = await asyncio.to_thread(self._run, text)
            if done.returncode != 0:
                raise OSError(f"nft refused the rules: {done.stderr.decode(errors='replace').strip()}")
            self._applied = text

    def _run(self, text: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([self._nft, "-f", "-"], input=text.encode(), capture_output=True, check=False)

    def _isolated(self) -> list[Isolated]:
        """Each isolated direction of each Pod of this node."""
        current = self._current()
        local = [_newest(endpoint, current.get(uid)) for uid, endpoint in self._local.values()]
        here = {uid for uid, _ in self._local.values()}
        world = World(
            policies=list(self._policies.objects.values()),
            endpoints=[*local, *_elsewhere(current, here, self._local)],
            namespaces={
                str(one.metadata.name): one.metadata.labels or {}
                for one in self._namespaces.objects.values()
                if one.metadata
            },
        )
        found = []
        for endpoint in local:
            for direction in _DIRECTIONS:
                through = allowed(endpoint, direction, world)
                if through is not None:
                    found.append(Isolated(endpoint.address, direction, tuple(through)))
        return found


def _newest(endpoint: Endpoint, pod: Pod | None) -> Endpoint:
    """A Pod's labels may change; its address stays the one of this node until `dismiss`."""
    return (Endpoint.of(pod, endpoint.address) if pod else None) or endpoint


def _elsewhere(current: Mapping[str, Pod], here: Container[str], taken: Container[str]) -> list[Endpoint]:
    """Pods of other nodes. The status of a Pod dismissed by this node may still have its address.

    here: uids of this node's Pods. taken: their addresses.
    """
    found = [Endpoint.of(pod) for uid, pod in current.items() if uid not in here]
    return [one for one in found if one is not None and one.address not in taken]
