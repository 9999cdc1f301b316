"""Linux namespaces and mounts through libc: Python 3.11 has no os.unshare or os.setns. Standard library only.

Each call raises OSError with the call and its object named, so that a failed start says which step failed.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

# Named network namespaces, in the sandbox's own tmpfs on /run: `ip netns` works inside, nothing shows outside.
NETNS = Path("/run/netns")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int, what: str) -> None:
    """Moves this thread (with CLONE_NEWPID: its next children) into new namespaces. what: their names, for errors."""
    _check(_libc.unshare(flags), f"new {what} namespace")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2). A bind mount is `flags=MS_BIND`."""
    arguments = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    _check(_libc.mount(*arguments), f"mount {kind or source} at {target}")


@contextmanager
def inside(network: str) -> Iterator[None]:
    """Runs the body in a named network namespace: sockets opened and programs started there belong to it.

    Only this thread moves. No await may happen in the body, or other tasks would run in the wrong network.
    """
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        wanted = os.open(NETNS / network, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _check(_libc.setns(wanted, CLONE_NEWNET), f"enter the network namespace {network}")
        finally:
            os.close(wanted)
        try:
            yield
        finally:
            _check(_libc.setns(before, CLONE_NEWNET), "leave the network namespace")
    finally:
        os.close(before)


def name_network(name: str, *, new: bool) -> None:
    """Gives a network namespace a name under NETNS: a new one (its loopback up), or the one that we are in."""
    target = NETNS / name
    target.touch(mode=0o600)
    child = os.fork()  # a child, because the namespace is made for the thread that asks
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
        raise OSError(f"the network namespace {name} could not be made")


def raise_loopback() -> None:
    """Sets `lo` up in the network namespace that we are in, by ioctl: netlink libraries take 0.2 s to import."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh22x", b"lo", 0)
        (flags,) = struct.unpack("16xh22x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))
