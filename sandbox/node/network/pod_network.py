"""A Pod's network: a namespace with loopback and one leg on the node's bridge.

The namespace lives as long as a process holds it: the node by a descriptor, containers by being in it. So no namespace
remains after the node is killed; the veth pair goes with the namespace.

pyroute2: the kernel's own netlink interface, no `ip` program needed and errors by number.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute  # type: ignore[import-untyped]
from pyroute2.netlink.exceptions import NetlinkError  # type: ignore[import-untyped]

from sandbox import kernel

# As container runtimes set them for a Pod: its network namespace holds no other program's ports.
_SYSCTLS = {"net.ipv4.ip_unprivileged_port_start": "0", "net.ipv4.ping_group_range": "0 0"}


@dataclass(frozen=True)
class Uplink:
    """The attachment of Pods: the bridge's name and its address."""

    bridge: str
    gateway: str


@dataclass(frozen=True)
class PodNetwork:
    """fd: descriptor of the network namespace, open until `remove`."""

    address: str
    interface: str
    fd: int


async def in_own_thread(work: Callable[[], None]) -> None:
    """Runs ``work`` in a thread that ends with it: a thread in another namespace must not be reused."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pod-network")
    try:
        await asyncio.get_running_loop().run_in_executor(thread, work)
    finally:
        thread.shutdown(wait=False)


async def create(uplink: Uplink, interface: str, address: str, sysctls: Mapping[str, str]) -> PodNetwork:
    """Makes the namespace and attaches it; ``interface`` names the node's end. Raises OSError or NetlinkError."""
    made: list[int] = []

    def inside() -> None:
        kernel.unshare(kernel.CLONE_NEWNET, "network")
        made.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        with IPRoute() as route:
            route.link("set", index=1, state="up")

    def attach() -> None:
        with IPRoute() as route:
            with suppress(NetlinkError):  # of a former Pod of that name
                route.link("del", ifname=interface)
            route.link("add", ifname=interface, kind="veth", peer={"ifname": "eth0", "net_ns_fd": made[0]})
            index = route.link_lookup(ifname=interface)[0]
            route.link("set", index=index, master=route.link_lookup(ifname=uplink.bridge)[0], state="up")

    def configure() -> None:
        kernel.setns(made[0], kernel.CLONE_NEWNET, "the Pod's network")
        _write_sysctls({**_SYSCTLS, **sysctls})
        with IPRoute() as route:
            index = route.link_lookup(ifname="eth0")[0]
            route.addr("add", index=index, address=address, prefixlen=32)
            route.link("set", index=index, state="up")
            # A /32 and a route through the bridge's own address: every packet passes the node with its Service rules.
            route.route("add", dst=f"{uplink.gateway}/32", oif=index, scope="link")
            route.route("add", dst="default", gateway=uplink.gateway, oif=index)

    try:
        for step in (inside, attach, configure):
            await in_own_thread(step)
    except BaseException:
        for fd in made:
            os.close(fd)
        raise
    return PodNetwork(address, interface, made[0])


def _write_sysctls(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        try:
            path.write_text(value)
        except OSError:
            if name not in _SYSCTLS:  # a kernel may lack a default; a Pod's own setting is required
                raise


async def remove(network: PodNetwork) -> None:
    """Detaches at once: the address is then free, although a program may still hold the namespace."""
    os.close(network.fd)

    def detach() -> None:
        with IPRoute() as route, suppress(NetlinkError):
            route.link("del", ifname=network.interface)

    await in_own_thread(detach)


async def check(uplink: Uplink) -> None:
    """Raises RuntimeError if the bridge is missing or has another address.

    Also fixes the bridge's hardware address: by default it is the lowest of its ports' and changes with new Pods. Every
    other Pod would then lose packets until its neighbour entry expires.
    """

    def look() -> None:
        with IPRoute() as route:
            found = route.link_lookup(ifname=uplink.bridge)
            for index in found:
                route.link("set", index=index, address=route.get_links(index)[0].get_attr("IFLA_ADDRESS"))
            addresses = {address.get_attr("IFA_ADDRESS") for index in found for address in route.get_addr(index=index)}
        if uplink.gateway not in addresses:
            raise RuntimeError(f"no bridge {uplink.bridge} with address {uplink.gateway} in this network namespace")

    await in_own_thread(look)
