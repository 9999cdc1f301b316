"""The Node object: made at start, its status and lease kept alive."""

import asyncio
import itertools
import logging
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from lightkube import AsyncClient
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.core_v1 import NodeSpec
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import Node, NodeStatus

from sandbox.node.config import NodeConfig
from sandbox.node.container.state import now

_log = logging.getLogger(__name__)
KUBELET_VERSION = "v1.36.3-sandbox"
_LEASE_SECONDS, _LEASE_EVERY, _BEATS_FOR_STATUS = 40, 10.0, 6
_LEAST_MEMORY, _LEAST_DISK = 100 * 1024**2, 100 * 1024**2  # kubelet's eviction thresholds, in spirit


def _memory() -> dict[str, int]:
    """/proc/meminfo in bytes."""
    rows = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}


def capacity() -> dict[str, str]:
    """What this machine has for this process; the Pods of all nodes here share it."""
    kilobytes = _memory()["MemTotal"] // 1024
    return {"cpu": str(len(os.sched_getaffinity(0))), "memory": f"{kilobytes}Ki", "pods": "110"}


def _architecture() -> str:
    """As Kubernetes calls it."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _condition(kind: str, holds: bool, reason: str, message: str) -> dict[str, Any]:
    return {"type": kind, "status": "True" if holds else "False", "reason": reason, "message": message,
            "lastHeartbeatTime": now()}  # fmt: skip


def observe(config: NodeConfig, before: Node) -> dict[str, Any]:
    """The Node's status, each condition from what was just looked at; transition times are kept."""
    disk = os.statvfs(config.state)
    short_memory = _memory()["MemAvailable"] < _LEAST_MEMORY
    short_disk = disk.f_bavail * disk.f_frsize < _LEAST_DISK
    conditions = [
        _condition("MemoryPressure", short_memory, "MemAvailable", f"less than {_LEAST_MEMORY} bytes: {short_memory}"),
        _condition("DiskPressure", short_disk, "BytesFree", f"less than {_LEAST_DISK} bytes: {short_disk}"),
        _condition("PIDPressure", False, "NotLimited", "processes are not limited on this node"),
        _condition("Ready", True, "AgentReady", "the agent runs Pods as processes, without containers"),
    ]
    known = {one.type: one for one in (before.status.conditions if before.status else None) or []}
    for condition in conditions:
        old = known.get(condition["type"])
        same = old is not None and old.status == condition["status"]
        condition["lastTransitionTime"] = old.lastTransitionTime if same and old else now()
    system = platform.freedesktop_os_release()
    machine = Path("/etc/machine-id")
    machine_id = machine.read_text().strip() if machine.exists() else ""
    return {
        "capacity": capacity(),
        "allocatable": capacity(),
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": str(config.node_ip)},
            {"type": "Hostname", "address": config.node_name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": config.port}},
        "nodeInfo": {
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "process://none",
            "kernelVersion": platform.release(),
            "osImage": system.get("PRETTY_NAME", system.get("NAME", "Linux")),
            "operatingSystem": "linux",
            "architecture": _architecture(),
            "systemUUID": machine_id,
            "machineID": machine_id,
            "bootID": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        },
        # The API server passes kubectl's websockets on to nodes that declare this, instead of speaking SPDY to them.
        "declaredFeatures": ["ExtendWebSocketsToKubelet"],
    }


class Registration:
    """Creates the Node and keeps its status and lease fresh."""

    def __init__(self, client: AsyncClient, config: NodeConfig) -> None:
        self._client, self._config = client, config
        self._owners: list[OwnerReference] = []  # of the lease: the Node

    async def register(self) -> None:
        """Tries until the API server has the Node and its first status."""
        while True:
            try:
                await self._write_node()
                await self._renew_lease()
                return
            except (httpx2.HTTPError, OSError) as error:
                _log.info("node not registered yet: %s", error or type(error).__name__)
                await asyncio.sleep(0.5)

    async def run(self) -> None:
        """Heartbeats until cancelled."""
        for beat in itertools.count(1):
            await asyncio.sleep(_LEASE_EVERY)
            try:
                await self._renew_lease()
                if beat % _BEATS_FOR_STATUS == 0:
                    await self._write_node()
            except (httpx2.HTTPError, OSError) as error:
                _log.warning("no heartbeat: %s", error or type(error).__name__)

    async def _write_node(self) -> None:
        """The Node, made again where somebody has deleted it, and its status."""
        name, cidr = self._config.node_name, str(self._config.pod_cidr)
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": _architecture()}
        metadata = ObjectMeta(name=name, labels=labels | self._config.labels)
        wanted = Node(metadata=metadata, spec=NodeSpec(podCIDR=cidr, podCIDRs=[cidr]))
        node = await self._client.apply(wanted, force=True)
        uid = (node.metadata.uid if node.metadata else None) or ""
        self._owners = [OwnerReference(apiVersion="v1", kind="Node", name=name, uid=uid)]
        status = observe(self._config, node)
        # Addresses are merged by type: without this, one of before would stay.
        status["addresses"].insert(0, {"$patch": "replace"})
        await self._client.patch(NodeStatus, name, {"status": status})

    async def _renew_lease(self) -> None:
        name = self._config.node_name
        metadata = ObjectMeta(name=name, namespace="kube-node-lease", ownerReferences=self._owners)
        spec = LeaseSpec(holderIdentity=name, leaseDurationSeconds=_LEASE_SECONDS, renewTime=datetime.now(UTC))
        await self._client.apply(Lease(metadata=metadata, spec=spec), force=True)
