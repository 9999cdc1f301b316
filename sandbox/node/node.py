"""A node's life: its directories, the daemon for its Pods' networks, and kubelet, until SIGTERM or kubelet's end."""

import asyncio
import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from lightkube import AsyncClient, KubeConfig

from sandbox import kernel
from sandbox.node import kubelet
from sandbox.node.config import NodeConfig
from sandbox.node.network import pod_network
from sandbox.node.network.addresses import AddressPool
from sandbox.node.network.daemon import Daemon
from sandbox.node.network_policies.enforcer import Enforcer

# Kubelet writes links into /var/log/containers, a fixed path. In this mount namespace the node's folder is there too:
# paths of kubelet's sockets below a long state directory would exceed the kernel's limit (107 bytes).
_LOG, _STATE = Path("/var/log"), Path("/var/log/node")
_OF_BEFORE = ("kubelet", "logs", "rootfs")


async def run(config: NodeConfig) -> None:
    """Returns after SIGTERM or SIGINT, when kubelet has ended. Raises OSError, RuntimeError if the node cannot run."""
    _make_directories(config.state)
    kubelet.configuration_file(_STATE).write_text(json.dumps(kubelet.configuration(config, _STATE), indent=1))
    uplink = pod_network.Uplink(config.bridge, config.gateway)
    await pod_network.check(uplink)
    client = AsyncClient(config=KubeConfig.from_file(config.policies_kubeconfig).get(), trust_env=False)
    policies = Enforcer(config.node_name, client, config.bin_dir / "nft")
    addresses = AddressPool(config.pod_cidr, reserved=[config.gateway, config.node_ip])
    enforcing = asyncio.create_task(policies.run())
    await Daemon(uplink, addresses, policies, config.bin_dir).serve(kubelet.network_socket(_STATE))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    program = await asyncio.create_subprocess_exec(
        *kubelet.command(config, _STATE), env=kubelet.environment(config, _STATE, os.environ)
    )
    stopped, ended = asyncio.create_task(stop.wait()), asyncio.create_task(program.wait())
    await asyncio.wait({stopped, ended, enforcing}, return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        with suppress(ProcessLookupError):
            program.terminate()
    await ended
    if not stopped.done():  # another task has failed: end, and the supervisor restarts the node
        cause = enforcing.exception() if enforcing.done() else None
        raise RuntimeError(f"kubelet ended with {program.returncode}") from cause
    enforcing.cancel()


def _make_directories(state: Path) -> None:
    """Makes the directories, without a former node's files: its processes and mounts have ended (isolation.py)."""
    for name in _OF_BEFORE:
        with suppress(FileNotFoundError):
            shutil.rmtree(state / name)
    for path in state.glob("*.sock"):
        path.unlink()
    _LOG.mkdir(parents=True, exist_ok=True)
    kernel.mount("tmpfs", str(_LOG), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755")
    _STATE.mkdir()
    kernel.mount(str(state), str(_STATE), flags=kernel.MS_BIND | kernel.MS_REC)
    for name in _OF_BEFORE:
        (_STATE / name).mkdir(mode=0o700)
