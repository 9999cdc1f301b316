"""Reaps what was orphaned inside containers: the agent is process 1 of its PID namespace, so it inherits it.

A command that `kubectl exec` or a probe ran in a container belongs to the container's PID namespace but is a child of
its launcher, outside. If the launcher is killed first, the command's remains wait for the agent, and as long as they do
the kernel does not let the container's first process end.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

_EVERY = 0.5


def is_orphan(status: str) -> bool:
    """Whether /proc/PID/status tells of a dead process that came from inside a container and is not its first one.

    NSpid lists its number in our namespace and in the nested one; launchers have no nested number, and containers'
    first processes, which have number 1 there, are waited for by those who started them.
    """
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    numbers = fields.get("NSpid", "").split()
    return fields.get("State", "").startswith("Z") and len(numbers) > 1 and numbers[-1] != "1"


def reap() -> None:
    """Looks once."""
    for pid in Path("/proc/self/task/1/children").read_text().split():
        with suppress(OSError):
            if is_orphan(Path(f"/proc/{pid}/status").read_text()):
                os.waitpid(int(pid), os.WNOHANG)


async def run() -> None:
    """Looks again and again, until cancelled."""
    while True:
        reap()
        await asyncio.sleep(_EVERY)
