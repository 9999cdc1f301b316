"""Writes a volume's files so that a reader sees all of the old or all of the new ones: kubelet's own scheme.

The files lie in a directory with the time in its name; ``..data`` is a symbolic link to it that is replaced in one
step, and the visible names are links through ``..data``.
"""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from sandbox.node.volumes.payload import File

_DATA = "..data"


def _current(directory: Path) -> Path | None:
    link = directory / _DATA
    return directory / link.readlink() if link.is_symlink() else None


def _same(current: Path, files: Mapping[str, File]) -> bool:
    present = {str(path.relative_to(current)) for path in current.rglob("*") if path.is_file()}
    return present == set(files) and all((current / name).read_bytes() == file.content for name, file in files.items())


def write(directory: Path, files: Mapping[str, File], *, group: int | None = None) -> bool:
    """Makes the directory's contents ``files``; returns whether anything changed. group: fsGroup, may read them too."""
    current = _current(directory)
    if current is not None and _same(current, files):
        return False
    fresh = directory / f"..{time.strftime('%Y_%m_%d_%H_%M_%S')}.{time.monotonic_ns() % 10**9:09d}"
    fresh.mkdir(mode=0o755)
    for name, file in files.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode | (0o040 if group is not None else 0))
        if group is not None:
            os.chown(path, -1, group)
    replacement = directory / "..data_tmp"
    replacement.symlink_to(fresh.name)
    replacement.replace(directory / _DATA)
    _show(directory, {PurePosixPath(name).parts[0] for name in files})
    if current is not None:
        shutil.rmtree(current)
    return True


def _show(directory: Path, wanted: set[str]) -> None:
    """Makes the visible names: one link for each first part of a path."""
    for name in wanted:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"{_DATA}/{name}")
    for path in directory.iterdir():
        if not path.name.startswith("..") and path.name not in wanted:
            path.unlink()
