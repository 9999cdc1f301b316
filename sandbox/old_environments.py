"""Old virtual environments in the cache: each changed pin makes a new one of 300 MB, and this removes former ones.

Standard library only: the bootstrap uses it before any package is installed.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from sandbox.jobs import processes_of

COMPLETE = "complete"  # a file in an environment, written last; its time is the environment's last use
_KEPT = 30 * 24 * 3600.0  # seconds without use


def mark_used(environment: Path) -> None:
    """Records that a run uses the environment now."""
    with suppress(OSError):  # a cache that is shared, read-only
        os.utime(environment / COMPLETE)


def remove_unused(folder: Path) -> None:
    """Removes environments unused for 30 days, and half-made ones; never one with a running process.

    Call it under the lock for making environments, so that no other run makes one meanwhile.
    """
    for environment in folder.iterdir():
        mark = environment / COMPLETE
        last_used = mark.stat().st_mtime if mark.exists() else 0.0
        if time.time() - last_used < _KEPT or processes_of(environment):
            continue
        mark.unlink(missing_ok=True)  # first, so that a half-removed one is never taken for a whole one
        shutil.rmtree(environment, ignore_errors=True)
