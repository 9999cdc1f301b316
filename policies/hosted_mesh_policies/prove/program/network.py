"""Cuts this process, and all that it starts, off from every network."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Final

_NEW_USER: Final = 0x10000000
_NEW_NETWORK: Final = 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def cut() -> bool:
    """Moves to a network namespace that has nothing but its loopback. False where the kernel does not let us.

    For good: call it before threads are started, in a process that needs no network any more.
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        user, group = os.getuid(), os.getgid()
        if libc.unshare(_NEW_NETWORK) != 0:
            if libc.unshare(_NEW_USER | _NEW_NETWORK) != 0:
                return False
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            name = struct.pack("16sh14x", b"lo", 0)
            flags = struct.unpack("16sh14x", fcntl.ioctl(control, _GET_FLAGS, name))[1]
            fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
    except (OSError, AttributeError):
        return False
    return True
