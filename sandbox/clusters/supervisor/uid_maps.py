"""The users of a rootless sandbox: a range where the machine allows it, else only its own user as root.

With a range (newuidmap, newgidmap and entries in /etc/subuid and /etc/subgid) Pods run as users of their own.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

_RANGE = 65536


def has_range() -> bool:
    """True when newuidmap and newgidmap are there and may map a range for this user."""
    return bool(
        shutil.which("newuidmap")
        and shutil.which("newgidmap")
        and subordinate(Path("/etc/subuid"))
        and subordinate(Path("/etc/subgid"))
    )


def subordinate(table: Path) -> int | None:
    """First subordinate id of this user's first range of at least 65536 ids in /etc/subuid or /etc/subgid."""
    try:
        owners = {str(os.getuid()), pwd.getpwuid(os.getuid()).pw_name}
        lines = table.read_text().splitlines()
    except (OSError, KeyError):
        return None
    for line in lines:
        owner, _, rest = line.partition(":")
        first, _, count = rest.partition(":")
        if owner in owners and first.isdigit() and count.isdigit() and int(count) >= _RANGE:
            return int(first)
    return None


def map_range(pid: int) -> None:
    """Maps root to this user and 1-65536 to its subordinate ids, for the user namespace of `pid`.

    Raises OSError with the output of newuidmap.
    """
    for program, table, own in (
        ("newuidmap", Path("/etc/subuid"), os.getuid()),
        ("newgidmap", Path("/etc/subgid"), os.getgid()),
    ):
        argv = [program, str(pid), "0", str(own), "1", "1", str(subordinate(table)), str(_RANGE)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{program}: {done.stderr.strip()}")


def map_single(pid: int) -> None:
    """Maps root to this user only. setgroups must be given up first, or the kernel refuses the group map."""
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {os.getuid()} 1"),
        ("gid_map", f"0 {os.getgid()} 1"),
    ):
        Path(f"/proc/{pid}/{name}").write_text(content)
