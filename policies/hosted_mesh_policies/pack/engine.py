"""The engine's process and its program."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml
from hosted_mesh_plan.decode import UNPARSABLE

_PROJECTS: Final = ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json")
_PACKAGES: Final = frozenset({"node_modules", "__pycache__"})


def identity() -> str | None:
    """`pid:start time` of the nearest ancestor named pulumi, else of the parent. None where /proc shows neither."""
    return _identity(_process())


def folder() -> Path | None:
    """The engine's working folder. `pulumi -C FOLDER` enters it first. None if unknown."""
    try:
        return Path(f"/proc/{_process()}/cwd").readlink()
    except OSError:
        return None


def program(working: Path, without: Path) -> str | None:
    """A hash of a program: of all files in the folders of its Pulumi.yaml and of `main`.

    Excluded are installed packages, folders with a name that begins with a dot, and stacks' own files, which the engine
    passes as configuration. working: the engine's folder. without: a file to exclude. Returns None without a project,
    or with an unreadable file.
    """
    places = (one / name for one in (working, *working.parents) for name in _PROJECTS)
    described = next((one for one in places if one.is_file()), None)
    if described is None:
        return None
    found, without = hashlib.sha256(), without.resolve()
    try:
        for number, root in enumerate(_roots(described)):
            for path in sorted(_files(root)):
                if path.resolve() != without:
                    name = f"{number}/{path.relative_to(root)}".encode("utf-8", "surrogateescape")
                    found.update(hashlib.sha256(name).digest() + hashlib.sha256(path.read_bytes()).digest())
    except (OSError, *UNPARSABLE):
        return None
    return found.hexdigest()


def _roots(described: Path) -> list[Path]:
    content = yaml.safe_load(described.read_text(encoding="utf-8"))
    told = content.get("main") if isinstance(content, dict) else None
    main = (described.parent / str(told or ".")).resolve()
    return [*dict.fromkeys((described.parent.resolve(), main.parent if main.is_file() else main))]


def _files(root: Path) -> Iterator[Path]:
    """Follows links to folders, each folder once."""
    seen = set[Path]()
    for at, folders, files in os.walk(root, followlinks=True):
        here = Path(at)
        if here.resolve() in seen:
            folders.clear()
            continue
        seen.add(here.resolve())
        folders[:] = [
            one
            for one in sorted(folders)
            if not one.startswith(".") and one not in _PACKAGES and not (here / one / "pyvenv.cfg").exists()
        ]
        for name in files:
            path = here / name
            is_stacks = name.startswith("Pulumi.") and name not in _PROJECTS
            if path.is_file() and not is_stacks:  # no socket, no pipe
                yield path


def _process() -> int:
    pid = parent = os.getppid()
    for _ in range(8):
        try:
            if Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == "pulumi":
                return pid
            pid = int(_stat(pid)[1])
        except (OSError, ValueError, IndexError):
            break
        if pid <= 1:
            break
    return parent


def _identity(pid: int) -> str | None:
    try:
        return f"{pid}:{_stat(pid)[19]}"
    except (OSError, IndexError):
        return None


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the command's name: state, parent, ..., start time (the 20th)."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
