"""What a running sandbox consists of, as the machine around it sees it; and what of that is left when it has ended."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.clusters import Sandbox
from sandbox.clusters.supervisor.identity import Identity

KINDS = ("user", "mnt", "net", "pid", "ipc", "uts")


@dataclass(frozen=True)
class Inside:
    """processes: all of the sandbox. namespaces: those that they are in and this test is not, like "net:[4026532000]".

    taken: when, in clock ticks since boot.
    """

    state: Path
    processes: list[Identity]
    namespaces: frozenset[str]
    taken: float

    @classmethod
    def of(cls, sandbox: Sandbox) -> Inside:
        processes, namespaces = [], set[str]()
        for pid in family(sandbox.supervisor.identity.pid):
            with suppress(OSError):
                processes.append(Identity.of(pid))
                namespaces |= namespaces_of(pid)
        now = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
        return cls(sandbox.state, processes, frozenset(namespaces - namespaces_of(os.getpid())), now)

    def networks(self) -> list[str]:
        """Its network namespaces, with all their interfaces."""
        return [one for one in self.namespaces if one.startswith("net:")]

    def left(self) -> list[str]:
        """Processes, namespaces and mounts that are still there; interfaces and inner mounts go with their namespaces.

        The kernel gives the number of a namespace to a later one, so processes that started later do not count.
        """
        found = [f"process {one.pid}" for one in self.processes if one.alive()]
        for pid in all_pids():
            with suppress(OSError):
                if Identity.of(pid).start < self.taken and (held := namespaces_of(pid) & self.namespaces):
                    found.append(f"process {pid} in {', '.join(sorted(held))}")
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        return found + [line for line in mounts if any(one in line for one in (str(self.state), *self.namespaces))]


def family(first: int) -> list[int]:
    """A process and all that descend from it. PID 1 of a namespace adopts orphans, so of a sandbox none is missing."""
    children = defaultdict[int, list[int]](list)
    for pid in all_pids():
        with suppress(OSError):
            children[int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])].append(pid)
    found = [first]
    for pid in found:
        found += children[pid]
    return found


def namespaces_of(pid: int) -> set[str]:
    """Raises OSError when the process has ended or belongs to somebody else."""
    return {str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for kind in KINDS}


def all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
