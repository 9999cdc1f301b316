"""Linux calls without a function in Python 3.11, through libc; standard library only.

Each raises OSError with the call and its object, so that a failed start names the step.
"""

import ctypes
import os
import struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
ALL_NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET  # but for that of users
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
_SYS_PIVOT_ROOT, _SYS_MOUNT_SETATTR = {"x86_64": (155, 442), "aarch64": (41, 442)}[os.uname().machine]
_MNT_DETACH, _MOUNT_ATTR_RDONLY, _AT_RECURSIVE, _AT_FDCWD = 2, 1, 0x8000, -100
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def exit_code(wait_status: int) -> int:
    """The exit code as of a shell: 128 and the signal's number for a killed process."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


def unshare(flags: int, what: str) -> None:
    """Moves the calling thread (for CLONE_NEWPID: its next children) into new namespaces. `what`: their names."""
    _check(_libc.unshare(flags), f"new {what} namespace")


def setns(fd: int, flags: int, what: str) -> None:
    """Joins the namespaces of ``fd`` (a namespace file or a pidfd). `what`: their names."""
    _check(_libc.setns(fd, flags), f"enter {what} namespace")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2); bind mounts are ``flags=MS_BIND | MS_REC``."""
    arguments = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    _check(_libc.mount(*arguments), f"mount {kind or source} at {target}")


def make_read_only(target: str, *, recursive: bool) -> None:
    """Unlike a remount this keeps nosuid, nodev and the like, which a user namespace may not clear."""
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    result = _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, target.encode(), flags, attributes, len(attributes))
    _check(result, f"make {target} read-only")


def pivot_root(new_root: str) -> None:
    """Makes ``new_root`` (a mount) the root directory and drops the old one."""
    os.chdir(new_root)
    _check(_libc.syscall(_SYS_PIVOT_ROOT, b".", b"."), f"pivot_root {new_root}")
    _check(_libc.umount2(b".", _MNT_DETACH), "unmount the old root")
    os.chdir("/")


def prctl(option: int, argument: int, what: str) -> None:
    """prctl(2) with one argument."""
    _check(_libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0), what)


def limit_capabilities(kept: frozenset[int], last: int) -> None:
    """Removes every capability that is not ``kept`` from the bounding set (so that no exec brings it back)."""
    for number in range(last + 1):
        if number not in kept:
            prctl(PR_CAPBSET_DROP, number, f"drop capability {number}")
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, "clear ambient capabilities")


def set_capabilities(kept: frozenset[int]) -> None:
    """Sets the effective and permitted sets; the inheritable set becomes empty."""
    mask = sum(1 << number for number in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, struct.pack("IIIIII", low, low, 0, high, high, 0)), "set capabilities")
