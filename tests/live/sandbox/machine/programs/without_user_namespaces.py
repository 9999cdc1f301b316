"""Runs a program where the kernel makes no further user namespace: `without_user_namespaces.py PROGRAM [ARGUMENT ...]`.

The limit is one of the kernel's own, set for a user namespace that only this program and its children are in, with this
user's own ids. The program has no more rights than before. A kernel that refuses even this one needs no limit.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sandbox.kernel import CLONE_NEWUSER, unshare

if __name__ == "__main__":
    uid, gid = os.getuid(), os.getgid()
    try:
        unshare(CLONE_NEWUSER, "user")
    except OSError as error:
        print(f"{error}: no limit is needed", file=sys.stderr)
    else:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.execv(sys.argv[1], sys.argv[1:])
