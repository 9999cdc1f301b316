"""One `up` or `down` at a time for each state directory."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.clusters.state import Layout

_POLL = 0.1  # seconds


@contextmanager
def locked(layout: Layout, waiting: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Holds the state directory for one `up` or `down`; another that holds it is waited for.

    The kernel drops the lock with its process. `down` removes the file while holding it, so whoever got the lock of
    a removed file tries again with the new one.
    """
    path = layout.own / "lock"
    while True:
        layout.make()
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # `down` removed the directory in between
            continue
        try:
            while not _try_lock(descriptor):
                waiting("waiting for another run that holds this sandbox")
                time.sleep(_POLL)
            if _is_still(path, descriptor):
                yield
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
