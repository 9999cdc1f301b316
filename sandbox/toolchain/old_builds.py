"""Unused parts of the tool cache: compiler caches after a build, and tools of former pins.

Go's caches of all sets together take some 16 GB, ten times as much as the built programs. They are needed again when a
pin changes: HOSTED_MESH_KEEP_BUILD_CACHES=1 keeps them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.jobs import processes_of

KEEP = "HOSTED_MESH_KEEP_BUILD_CACHES"
CACHES = ("build", "modules")  # of folder go/: GOCACHE and GOMODCACHE, unless the user has chosen others
_KEPT = 30 * 24 * 3600.0  # seconds without use
_REMOVING = ".removing-"


def keep() -> bool:
    """Whether compiler caches stay after a build. Raises SandboxError for an invalid value."""
    value = os.environ.get(KEEP, "")
    if value not in ("", "0", "1"):
        raise SandboxError(f"{KEEP}={value!r} is not a valid value.", fix="unset it, or set it to `1`.")
    return value == "1"


@contextmanager
def compiling(lock: Path) -> Iterator[None]:
    """Held while a process uses the compiler caches; several processes may hold it."""
    with _opened(lock) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


def remove_compiler_caches(folder: Path, lock: Path) -> bool:
    """Removes Go's build and module caches, and remains of an interrupted removal; True if there were any.

    folder: `go` of the cache. lock: of `compiling`. While another process compiles, they stay: it removes them at its
    own end.
    """
    with _opened(lock) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        caches = [path for name in CACHES if (path := folder / name).is_dir()]
        if any(processes_of(path) for path in caches):
            return False
        for path in caches:
            _set_aside(path)
    for path in folder.glob(f"{_REMOVING}*"):
        shutil.rmtree(path, ignore_errors=True)
    return bool(caches)


def mark_used(entry: Path) -> None:
    """Records that a run uses the entry now."""
    with suppress(OSError):  # a cache that is shared, read-only
        os.utime(entry)


def remove_unused(folder: Path, used: Collection[Path]) -> list[str]:
    """Removes entries unused for 30 days; never one of `used`, nor one with a running process.

    Returns the names of the entries. A half-made entry (".making-...") of that age goes too.
    """
    removed = []
    for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
        if entry in used or not entry.is_dir() or entry.name == "bin":
            continue
        if time.time() - entry.stat().st_mtime < _KEPT or processes_of(entry):
            continue
        if not entry.name.startswith("."):
            removed.append(entry.name)
        _set_aside(entry)
    for path in folder.glob(f"{_REMOVING}*"):
        shutil.rmtree(path, ignore_errors=True)
    return removed


def _set_aside(path: Path) -> None:
    """Renames it first, so that a half-removed folder is never taken for a whole one."""
    aside = Path(tempfile.mkdtemp(prefix=_REMOVING, dir=path.parent))
    with suppress(OSError):
        path.rename(aside / path.name)


@contextmanager
def _opened(lock: Path) -> Iterator[int]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
