"""Becomes another user, by number, in a mount namespace of its own: `become.py PLAN PROGRAM [ARGUMENT ...]`, as root.

PLAN is JSON: {"uid": 23456, "show": [["/path", "/what/it/is", read_only], ...]}. Each path is put in place by a bind
mount; a directory on the way to it that is closed to this user is first covered by an empty one that is open. So the
user sees the same paths as root, no mode of any file changes, and nothing of this is left when the program has ended.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from sandbox.kernel import CLONE_NEWNS, MS_BIND, MS_PRIVATE, MS_REC, make_read_only, mount, unshare


def show(uid: int, wanted: list[tuple[Path, Path, bool]]) -> None:
    """Mounts what is wanted, outer paths first. Sources are opened before anything is covered."""
    opened = [
        (target, os.open(source, os.O_PATH), read_only)
        for target, source, read_only in sorted(wanted, key=lambda one: len(one[0].parts))
    ]
    for target, source, read_only in opened:
        for folder in reversed(target.parents):
            if is_closed(folder, uid):
                mount("tmpfs", str(folder), "tmpfs", data="mode=755")
        target.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{source}", str(target), flags=MS_BIND)
        if read_only:
            make_read_only(str(target), recursive=False)
        os.close(source)


def is_closed(folder: Path, uid: int) -> bool:
    """Whether this user, who is in nobody's group, cannot go through the directory. One that is missing is not."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return False
    return not status.st_mode & (0o100 if status.st_uid == uid else 0o001)


if __name__ == "__main__":
    plan = json.loads(sys.argv[1])
    here = Path.cwd()
    unshare(CLONE_NEWNS, "mount")
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    umask = os.umask(0o022)
    show(plan["uid"], [(Path(target), Path(source), read_only) for target, source, read_only in plan["show"]])
    os.umask(umask)
    os.setgroups([])
    os.setresgid(*[plan["uid"]] * 3)
    os.setresuid(*[plan["uid"]] * 3)
    os.chdir(here)
    os.execv(sys.argv[2], sys.argv[2:])
