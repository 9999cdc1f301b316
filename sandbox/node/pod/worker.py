"""One Pod's life on this node: network, volumes, init containers, containers, end, removal."""

import asyncio
import logging
import shutil
from contextlib import suppress

import httpx2
from lightkube.models.core_v1 import Container
from lightkube.resources.core_v1 import Pod
from pyroute2.netlink.exceptions import NetlinkError  # type: ignore[import-untyped]

from sandbox.node.addresses import AddressesExhaustedError
from sandbox.node.container import environment, fields, logs
from sandbox.node.container.runner import ContainerRunner
from sandbox.node.container.state import PodState, initial_states, now
from sandbox.node.node import Node
from sandbox.node.pod import names, networking, unsupported
from sandbox.node.pod.publishing import Publisher
from sandbox.node.runtime import images, one_user
from sandbox.node.runtime.build_spec import spec_of
from sandbox.node.runtime.spec import RuntimeSpec
from sandbox.node.volumes.payload import NotMountableError
from sandbox.node.volumes.pod_volumes import PodVolumes

_log = logging.getLogger(__name__)
_RETRY = 1.0
_SIDECAR_GRACE = 2.0  # seconds that a sidecar has in any case, though its Pod's containers took all of the time


class PodWorker:
    """Made when the Pod appears, told of every change by ``update``; ``run`` returns when the Pod is gone."""

    def __init__(self, node: Node, pod: Pod) -> None:
        assert pod.metadata is not None
        assert pod.spec is not None
        self.pod, self._node = pod, node
        self.uid = pod.metadata.uid or ""
        self.directory = node.config.state / "pods" / self.uid
        self.state = PodState(containers=initial_states(pod))
        policy = pod.spec.restartPolicy or "Always"
        containers = [*(pod.spec.initContainers or []), *pod.spec.containers]
        self.runners = [
            ContainerRunner(self, container, state, policy)
            for container, state in zip(containers, self.state.containers, strict=True)
        ]
        self._volumes = PodVolumes(node.client, node.objects, self.directory, pod, self.facts)
        self._network: networking.PodNetwork | None = None
        self._publisher = Publisher(node, lambda: self.pod, self.state)
        self.publish, self.warn, self.note = self._publisher.publish, self._publisher.warn, self._publisher.note
        self._sidecars: list[asyncio.Task[None]] = []
        self._leaving = asyncio.Event()
        self._gone = False

    # -- what the agent tells ------------------------------------------------------------------------------------

    def update(self, pod: Pod | None) -> None:
        """The Pod's newest object; None when the API server no longer has it (it was deleted by force)."""
        if pod is None:
            self._gone = True
            self._leaving.set()
            return
        self.pod = self._volumes.pod = pod
        self._volumes.changed.set()  # labels and annotations may be files
        if pod.metadata and pod.metadata.deletionTimestamp:
            self._leaving.set()
        self.publish()  # readiness gates

    def leave(self) -> None:
        """The node itself ends: stop the processes at once, keep the Pod's object."""
        self._gone = True
        self._leaving.set()

    # -- what containers need (runner.PodHost) ---------------------------------------------------------------

    @property
    def address(self) -> str:
        return self.state.address

    def facts(self) -> fields.Facts:
        config = self._node.config
        return fields.Facts(self.state.address, str(config.node_ip), str(config.api_server), self._node.allocatable)

    async def runtime_spec(self, container: Container) -> RuntimeSpec:
        metadata = self.pod.metadata
        assert metadata is not None
        images.find(container.image or "")
        objects = await environment.read(self._node.client, container, metadata.namespace or "")
        variables = environment.resolve(self.pod, container, self.facts(), objects)
        return spec_of(
            self.pod,
            container,
            variables,
            names=names.name_service(self.pod, self.address, self._node.dns),
            volume=self._volumes.source,
            network_fd=self._network.fd if self._network else None,
            config=self._node.config,
            ids=self._node.ids,
        )

    def log(self, container: str, restart: int) -> logs.LogFile:
        return logs.LogFile(logs.path_of(self.directory, container, restart))

    def image_id(self, container: Container) -> str:
        return images.image_id(images.find(container.image or ""), self._node.config.bin_dir)

    # -- the life ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Returns when the Pod has left this node: processes, network, volumes, and (unless ``leave``) its object."""
        known = self.pod.status.phase if self.pod.status else None
        publishing = asyncio.create_task(self._publisher.run())
        if known not in ("Succeeded", "Failed"):  # a finished Pod is not run again after a restart of the node
            self.state.started_at = (self.pod.status.startTime if self.pod.status else None) or now()
            living = asyncio.create_task(self._live())
            leaving = asyncio.create_task(self._leaving.wait())
            await asyncio.wait({living, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if self._gone:  # what happens now is the node's doing and says nothing about the Pod
                publishing.cancel()
            await self._stop(living)
            leaving.cancel()
        await self._leaving.wait()
        publishing.cancel()
        with suppress(asyncio.CancelledError):
            await publishing
        await self._release(files=True)
        if not self._gone:
            await self._publisher.delete(lambda: not self._gone)

    async def _live(self) -> None:
        policy = (self.pod.spec and self.pod.spec.restartPolicy) or "Always"
        mains = [runner for runner in self.runners if runner.state.kind == "main"]
        if all(runner.state.done(policy) for runner in mains):  # of before the node's own restart
            return
        await self._set_up()
        fresh = asyncio.create_task(self._volumes.keep_fresh())
        try:
            if await self._initialize():
                await asyncio.gather(*(runner.run() for runner in mains))
        finally:
            fresh.cancel()

    async def _set_up(self) -> None:
        """Says what the Pod goes without; network, then volumes; tries again until it works."""
        spec = self.pod.spec
        assert spec is not None
        self.publish()
        if lacking := unsupported.fields(spec):
            await self.warn("NotSupported", f"This node runs the Pod without: {', '.join(lacking)}")
        while self._network is None:
            try:
                self._network = await self._connect()
            except (OSError, NetlinkError, AddressesExhaustedError) as error:
                await self.warn("FailedCreatePodSandBox", f"Failed to create the Pod's network: {error}")
                await asyncio.sleep(_RETRY)
        self.state.address = self._network.address
        while not self.state.volumes_ready:
            try:
                await self._volumes.prepare()
                self.state.volumes_ready = True
            except (NotMountableError, httpx2.HTTPError, OSError) as error:
                await self.warn("FailedMount", str(error) or type(error).__name__)
                await asyncio.sleep(_RETRY)
        self.publish()

    async def _connect(self) -> networking.PodNetwork:
        spec, node = self.pod.spec, self._node
        assert spec is not None
        if spec.hostNetwork:
            return networking.PodNetwork(str(node.config.node_ip), "", None)
        address = node.addresses.take(self.pod.status.podIP if self.pod.status else None)
        asked = (spec.securityContext.sysctls if spec.securityContext else None) or []
        sysctls = {one.name: one.value for one in asked if one.name.startswith("net.")}
        try:
            await node.policies.admit(self.pod, address)  # before anything runs that could send
            return await networking.create(node.uplink, f"pod{self.uid[:11].replace('-', '')}", address, sysctls)
        except BaseException:
            node.policies.dismiss(self.pod)
            node.addresses.release(address)
            raise

    async def _initialize(self) -> bool:
        """Init containers one after the other; a sidecar goes on while the next begins. False: the Pod has failed."""
        for runner in self.runners:
            if runner.state.kind == "sidecar":
                self._sidecars.append(asyncio.create_task(runner.run()))
                await runner.started.wait()
            elif runner.state.kind == "init":
                await runner.run()
                if not runner.state.succeeded:
                    return False
                if self._network and self._network.fd is not None and not self._node.ids.has(one_user.PROXY_USER):
                    await one_user.let_marked_pass(self._network.fd, self._node.config.bin_dir / "nft")
        return True

    async def _stop(self, living: "asyncio.Task[None]") -> None:
        """Ends all processes: containers together, then sidecars from the last to the first."""
        grace = self._grace()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        others = [runner for runner in self.runners if runner.state.kind != "sidecar"]
        await asyncio.gather(*(runner.stop(grace) for runner in others))
        for runner in reversed([runner for runner in self.runners if runner.state.kind == "sidecar"]):
            await runner.stop(max(deadline - loop.time(), min(grace, _SIDECAR_GRACE)))
        done, pending = await asyncio.wait({living}, timeout=1)
        for task in pending:
            task.cancel()
        for task in done:
            if not task.cancelled() and task.exception():
                _log.error("Pod %s was given up", self.uid, exc_info=task.exception())
        self.publish()
        await self._release(files=False)

    def _grace(self) -> float:
        if self._gone:
            return 0.0
        metadata, spec = self.pod.metadata, self.pod.spec
        asked = metadata.deletionGracePeriodSeconds if metadata and metadata.deletionTimestamp else None
        if asked is not None:
            return float(asked)
        default = spec.terminationGracePeriodSeconds if spec else None
        return 30.0 if default is None else float(default)

    async def _release(self, *, files: bool) -> None:
        if self._network is not None:
            await networking.remove(self._network)
            if self._network.interface:
                self._node.policies.dismiss(self.pod)
                self._node.addresses.release(self._network.address)
            self._network = None
        self._volumes.close()
        if files:
            await asyncio.to_thread(shutil.rmtree, self.directory, ignore_errors=True)
