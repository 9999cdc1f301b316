"""One Pod's volumes on this node: made, kept up to date, removed.

Files of Secrets, tokens and the like lie in a tmpfs of the agent's own mount namespace: they never reach a disk, no
other process of the machine sees them, and they are gone with the agent. They are not swapped out either, where the
kernel can promise that.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
from lightkube import AsyncClient
from lightkube.models.core_v1 import Volume
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret
from lightkube.utils.quantity import parse_quantity

from sandbox import kernel
from sandbox.node.container import fields
from sandbox.node.keyed_data import Reference
from sandbox.node.runtime.security import IdMap
from sandbox.node.volumes import atomic_files, payload
from sandbox.node.volumes.payload import NotMountableError
from sandbox.node.volumes.tokens import PodTokens
from sandbox.node.watching import NamedObjects, Watched

_log = logging.getLogger(__name__)
_RETRY = 1.0


class PodVolumes:
    """directory: of this Pod alone. facts: asked anew at each writing, for downwardAPI."""

    def __init__(
        self, client: AsyncClient, objects: NamedObjects, directory: Path, pod: Pod, facts: Callable[[], fields.Facts]
    ) -> None:
        assert pod.metadata is not None
        assert pod.spec is not None
        self.pod = pod
        self._directory, self._facts = directory, facts
        self._volumes = {volume.name: volume for volume in pod.spec.volumes or []}
        self._tokens = PodTokens(client, pod)
        self._wanted_tokens = payload.tokens(self._volumes.values())
        self.changed = asyncio.Event()
        self._objects, self._namespace = objects, pod.metadata.namespace or ""
        self._held: dict[Reference, Watched[Secret | ConfigMap]] = {}
        for kind, name in payload.references(self._volumes.values()):
            self._held[(kind, name)] = objects.hold(kind, (self._namespace, name), self.changed)
        ids = IdMap.of_this_process()
        group = pod.spec.securityContext.fsGroup if pod.spec.securityContext else None
        self._group = group if group is not None and ids.has(group) else None
        self._renew_at = float("inf")
        self._mounted: list[Path] = []

    def source(self, name: str) -> Path:
        """Where a volume is. Raises NotMountableError if the Pod has none of that name."""
        if name not in self._volumes:
            raise NotMountableError(f'no volume "{name}" in the Pod')
        return self._memory / name if payload_of(self._volumes[name]) else self._directory / "volumes" / name

    @property
    def _memory(self) -> Path:
        return self._directory / "memory"

    async def prepare(self) -> None:
        """Makes all volumes; may be called again after NotMountableError or httpx2.HTTPError."""
        if not self._memory.exists():
            self._memory.mkdir(parents=True)
            self._mount_tmpfs(self._memory, "mode=0755,size=64m")
        for volume in self._volumes.values():
            if not payload_of(volume):
                self._make_directory(volume)
        await self._write_files()

    async def keep_fresh(self) -> None:
        """Writes the files again when an object changes or a token is due; runs until cancelled."""
        while True:
            try:
                async with asyncio.timeout(max(0.0, min(self._renew_at - time.time(), 3600))):
                    await self.changed.wait()
            except TimeoutError:
                pass
            self.changed.clear()
            try:
                await self._write_files()
            except (NotMountableError, httpx2.HTTPError, OSError) as error:
                # As kubelet does: the old files stay when an object goes away or the API server does.
                _log.info("volumes of %s stay as they are: %s", self.pod.metadata and self.pod.metadata.name, error)
                await asyncio.sleep(_RETRY)

    def close(self) -> None:
        """Secrets and tokens go at once; what lies in emptyDirs on disk goes with the Pod's directory."""
        for kind, name in self._held:
            self._objects.drop(kind, (self._namespace, name), self.changed)
        self._held.clear()
        for path in reversed(self._mounted):
            kernel.unmount(str(path))
        self._mounted.clear()

    async def _write_files(self) -> None:
        self._renew_at = await self._tokens.renew(self._wanted_tokens)
        objects = {reference: await held.get() for reference, held in self._held.items()}
        inputs = payload.Inputs(self.pod, self._facts(), self._tokens.text, objects)
        for volume in self._volumes.values():
            try:
                files = payload.files(volume, inputs)
            except NotMountableError as error:
                raise NotMountableError(f'MountVolume.SetUp failed for volume "{volume.name}" : {error}') from None
            if files is not None:
                target = self.source(volume.name)
                target.mkdir(exist_ok=True)
                atomic_files.write(target, files, group=self._group)

    def _make_directory(self, volume: Volume) -> None:
        target = self.source(volume.name)
        if volume.emptyDir is None:
            kinds = [name for name in volume.to_dict() if name != "name"]
            offered = "emptyDir, secret, configMap, projected and downwardAPI"
            what = ", ".join(kinds) or "volume of no kind"
            raise NotMountableError(f'volume "{volume.name}" is a {what}; this node offers only {offered}')
        if target.exists():
            return
        target.mkdir(parents=True)
        if volume.emptyDir.medium == "Memory":
            limit = parse_quantity(volume.emptyDir.sizeLimit)
            self._mount_tmpfs(target, f"size={int(limit)}" if limit else "size=256m")
        if self._group is not None:
            os.chown(target, -1, self._group)
        target.chmod(0o2777 if self._group is not None else 0o777)

    def _mount_tmpfs(self, target: Path, options: str) -> None:
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        try:
            kernel.mount("tmpfs", str(target), "tmpfs", flags, f"{options},noswap")
        except OSError:  # before Linux 6.4, or in a user namespace
            kernel.mount("tmpfs", str(target), "tmpfs", flags, options)
        self._mounted.append(target)


def payload_of(volume: Volume) -> bool:
    """Whether the volume is made of files that the node writes."""
    return bool(volume.secret or volume.configMap or volume.projected or volume.downwardAPI)
