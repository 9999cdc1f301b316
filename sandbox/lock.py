"""One run at a time: a lock on a file; the kernel releases it when a run is killed.

Standard library only: the bootstrap uses it before any package is installed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL = 0.1  # seconds between two tries for a held lock


@contextmanager
def locked(
    path: Path, waiting: Callable[[str], None] = lambda _: None, *, make_folder: Callable[[], None] | None = None
) -> Iterator[int]:
    """Holds an exclusive lock on the file `path`, as a descriptor; waits for another process that holds it.

    waiting: called with a sentence that names the holder, so that a waiting run reports it. make_folder: makes the
    file's folder in a special way. The kernel drops the lock with the last process that has the descriptor.
    The lock's holder may remove the file: the waiting run then continues with a new one.
    """
    while True:
        if make_folder:
            make_folder()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # the folder was removed in between
            continue
        try:
            while not _try_lock(descriptor):
                holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
                waiting(f"waiting for another run (process {holder})")
                time.sleep(_POLL)
            if not _is_still(path, descriptor):
                continue
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            yield descriptor
            return
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
