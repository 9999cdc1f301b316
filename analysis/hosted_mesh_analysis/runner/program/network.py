"""Cuts this process and its children off from every network, and from a view of outside processes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Any, Final

_NEW_USER: Final = 0x10000000
_NEW_NETWORK: Final = 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def cut() -> bool:
    """Moves to a network namespace with its loopback alone, in a user namespace of its own: inside, nobody, not even
    root, can look into a process outside. If only root may have the network namespace, that is all. False if the kernel
    refuses both.

    For good: call it before threads start, in a process without further need of a network.
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if not _is_in_user_namespace(libc) and libc.unshare(_NEW_NETWORK) != 0:
            return False
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            name = struct.pack("16sh14x", b"lo", 0)
            flags = struct.unpack("16sh14x", fcntl.ioctl(control, _GET_FLAGS, name))[1]
            fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
    except (OSError, AttributeError):
        return False
    return True


def _is_in_user_namespace(libc: Any) -> bool:
    """Moves to both namespaces. A process outside maps the users, as only it may."""
    ours, (reader, writer) = os.getpid(), os.pipe()
    helper = os.fork()
    if helper == 0:
        try:
            os.close(writer)
            if os.read(reader, 1):
                _name_users(Path(f"/proc/{ours}"))
        finally:
            os._exit(0)
    os.close(reader)
    is_moved = bool(libc.unshare(_NEW_USER | _NEW_NETWORK) == 0)
    if is_moved:
        os.write(writer, b".")
    os.close(writer)
    os.waitpid(helper, 0)
    return is_moved


def _name_users(process: Path) -> None:
    """Maps all users and groups, if root's rights allow; else the own ones."""
    for kind, own in (("uid", os.getuid()), ("gid", os.getgid())):
        here = [line.split() for line in Path(f"/proc/self/{kind}_map").read_text(encoding="ascii").splitlines()]
        try:
            text = "".join(f"{first} {first} {count}\n" for first, _, count in here)
            (process / f"{kind}_map").write_text(text, encoding="ascii")
        except OSError:
            (process / "setgroups").write_text("deny", encoding="ascii")
            (process / f"{kind}_map").write_text(f"{own} {own} 1", encoding="ascii")
