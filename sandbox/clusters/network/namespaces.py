"""Named network namespaces of a sandbox: creates and enters them, sets up loopback. Standard library only."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.kernel import CLONE_NEWNET, MS_BIND, mount, setns, unshare

# Named network namespaces, in the sandbox's own tmpfs on /run: `ip netns` works inside, nothing shows outside.
NETNS = Path("/run/netns")
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


@contextmanager
def inside(network: str) -> Iterator[None]:
    """Runs the body in a named network namespace: sockets opened and programs started there belong to it.

    Only this thread moves. No await may happen in the body, or other tasks would run in the wrong network.
    """
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        wanted = os.open(NETNS / network, os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(wanted, CLONE_NEWNET, f"the network {network}'s")
        finally:
            os.close(wanted)
        try:
            yield
        finally:
            setns(before, CLONE_NEWNET, "the first network")
    finally:
        os.close(before)


async def connect(network: str, port: int) -> socket.socket:
    """A TCP connection to 127.0.0.1:port in a named network namespace. Raises OSError."""
    with inside(network):  # the socket stays in that network; connecting needs no second switch
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    except BaseException:
        connection.close()
        raise
    return connection


def name_network(name: str, *, new: bool) -> None:
    """Names a network namespace under NETNS: a new one (its loopback up), or the current one."""
    target = NETNS / name
    target.touch(mode=0o600)
    child = os.fork()  # a child: unshare(2) moves the calling thread
    if child == 0:
        status = 1
        try:
            if new:
                unshare(CLONE_NEWNET, "network")
            raise_loopback()
            mount("/proc/thread-self/ns/net", str(target), flags=MS_BIND)
            status = 0
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(f"the network namespace {name} cannot be made")


def raise_loopback() -> None:
    """Sets `lo` up in the current network namespace by ioctl: netlink libraries take 0.2 s to import."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh22x", b"lo", 0)
        (flags,) = struct.unpack("16xh22x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))
