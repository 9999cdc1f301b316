"""The node's main loop: register, follow the Pods bound to this node, give each a worker, end them all on SIGTERM."""

import asyncio
import logging
import shutil
import signal
from pathlib import Path

from lightkube import AsyncClient, KubeConfig
from lightkube.resources.core_v1 import Pod

from sandbox.node.addresses import AddressPool
from sandbox.node.config import NodeConfig
from sandbox.node.kubelet_api.serving import Serving
from sandbox.node.network_policies.enforcer import Enforcer
from sandbox.node.node import Node
from sandbox.node.pod import networking
from sandbox.node.pod.events import Events
from sandbox.node.pod.names import ClusterDns
from sandbox.node.pod.networking import Uplink
from sandbox.node.pod.worker import PodWorker
from sandbox.node.registration import Registration, capacity
from sandbox.node.runtime import orphans
from sandbox.node.runtime.security import IdMap
from sandbox.node.watching import Key, Mirror, NamedObjects

_log = logging.getLogger(__name__)


def _client(kubeconfig: Path) -> AsyncClient:
    return AsyncClient(config=KubeConfig.from_file(kubeconfig).get(), field_manager="sandbox-node", trust_env=False)


def _node(config: NodeConfig) -> Node:
    client = _client(config.kubeconfig)
    return Node(
        config=config,
        client=client,
        objects=NamedObjects(_client(config.kubeconfig)),
        events=Events(client, config.node_name),
        addresses=AddressPool(str(config.pod_cidr), reserved=[str(config.gateway), str(config.node_ip)]),
        uplink=Uplink(config.bridge, str(config.gateway)),
        policies=Enforcer(config.node_name, _client(config.policies_kubeconfig), config.bin_dir / "nft"),
        dns=ClusterDns(server=str(config.cluster_dns), domain=config.cluster_domain),
        ids=IdMap.of_this_process(),
        allocatable=capacity(),
    )


class Agent:
    """Pods by their uid: a Pod deleted by force and made again under its name is another Pod."""

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._node = _node(config)
        self._workers: dict[str, tuple[PodWorker, asyncio.Task[None]]] = {}
        self._uids: dict[Key, str] = {}
        self._pods = Mirror(_client(config.kubeconfig), Pod, self._on_pod, fields={"spec.nodeName": config.node_name})

    async def run(self) -> None:
        """Returns after SIGTERM or SIGINT, when no process of a Pod is left."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        self._clean_up()
        await networking.check(self._node.uplink)
        registration = Registration(self._node.client, self._config)
        await registration.register()
        serving = Serving(self._config, self._node.client, self.find)
        await serving.start()
        reaping = asyncio.create_task(orphans.run())
        running = (registration.run(), self._node.policies.run(), self._pods.run())
        tasks = [asyncio.create_task(one) for one in running]
        _log.info("node %s takes Pods", self._config.node_name)
        stopped = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait({stopped, reaping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await serving.close()
        await self._leave()
        reaping.cancel()
        if stopped not in done:  # one of the tasks has failed: end, and be started again
            raise RuntimeError("the agent cannot go on") from next(iter(done)).exception()

    def find(self, namespace: str, name: str) -> PodWorker | None:
        """The worker of the Pod with that name."""
        entry = self._workers.get(self._uids.get((namespace, name), ""))
        return entry[0] if entry else None

    def _on_pod(self, key: Key, pod: Pod | None) -> None:
        uid = (pod.metadata.uid or "") if pod and pod.metadata else None
        known = self._uids.get(key)
        if known and known != uid and known in self._workers:
            self._workers[known][0].update(None)
        if pod is None or uid is None:
            self._uids.pop(key, None)
            return
        self._uids[key] = uid
        if uid in self._workers:
            self._workers[uid][0].update(pod)
            return
        worker = PodWorker(self._node, pod)
        if pod.metadata and pod.metadata.deletionTimestamp:
            worker.update(pod)
        task = asyncio.create_task(worker.run())
        self._workers[uid] = (worker, task)
        task.add_done_callback(lambda done: self._finished(uid, done))

    def _finished(self, uid: str, task: "asyncio.Task[None]") -> None:
        self._workers.pop(uid, None)
        if not task.cancelled() and task.exception():
            _log.error("Pod %s was given up", uid, exc_info=task.exception())

    async def _leave(self) -> None:
        workers = list(self._workers.values())
        for worker, _ in workers:
            worker.leave()
        await asyncio.gather(*(task for _, task in workers), return_exceptions=True)

    def _clean_up(self) -> None:
        """Directories of Pods of before: their processes ended with the agent that ran them (see isolation.py)."""
        shutil.rmtree(self._config.state / "pods", ignore_errors=True)
        for name in ("pods", "rootfs"):
            (self._config.state / name).mkdir(parents=True, exist_ok=True, mode=0o700)
