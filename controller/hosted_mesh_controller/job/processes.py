"""Processes of an operation: the engine, its plug-ins, the program. Each has the stack's marker in its environment."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from hosted_mesh_controller.job.request import MARKER

_PROC: Final = Path("/proc")
_STEP: Final = 0.1


def marked(marker: str) -> Iterator[int]:
    """Ids of the other processes of a stack that run."""
    wanted = f"{MARKER}={marker}".encode()
    for folder in _PROC.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError):
            environment = (folder / "environ").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if wanted in environment and state != "Z":
                yield int(folder.name)


def wait_and_kill(marker: str, seconds: float) -> int:
    """Waits for the other processes of a stack to end, then kills the rest; returns their number."""
    end = time.monotonic() + seconds
    while (left := list(marked(marker))) and time.monotonic() < end:
        time.sleep(_STEP)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    while list(marked(marker)):
        time.sleep(_STEP)
    return len(left)


def interrupt_engine() -> None:
    """Sends one SIGINT to each child of this process, also to later ones; does not return.

    At the first the engine ends its begun steps and saves the state. A second would end it at once.
    """
    interrupted: set[int] = set()
    while True:
        for child in set(_children()) - interrupted:
            interrupted.add(child)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        time.sleep(_STEP)


def _children() -> list[int]:
    found: list[int] = []
    for task in (_PROC / "self" / "task").iterdir():
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found
