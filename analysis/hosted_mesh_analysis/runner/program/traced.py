"""Records the files that a program reads, the folders that it lists, and the paths that it looks for.

Python's audit events show opened files, listed folders and started programs. `os.stat` has no event, so it is wrapped.
A run with the same content at these paths, and the same arguments, has the same result.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

FILE: Final = "file"
LISTED: Final = "listed"
FOUND: Final = "found"
STARTS: Final = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"})
_LOOKS: Final = ("stat", "lstat", "access", "readlink")


class Trace:
    """The paths below a folder, by kind. spawned: another program was started, and it may read anything."""

    def __init__(self, root: str) -> None:
        self.root = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 called for each opened file
        self.paths: set[tuple[str, str]] = set()
        self.spawned = False

    def start(self) -> None:
        sys.addaudithook(self._event)
        for name in _LOOKS:
            setattr(os, name, self._looking(getattr(os, name)))

    def _event(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._add(FILE, args[0])
        elif event in {"os.listdir", "os.scandir"}:
            self._add(LISTED, args[0] if args[0] is not None else ".")
        elif event in STARTS:
            self.spawned = True

    def _looking(self, plainly: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plainly)
        def looked(path: Any, *args: Any, **kwargs: Any) -> Any:
            self._add(FOUND, path)
            return plainly(path, *args, **kwargs)

        return looked

    def _add(self, kind: str, path: Any) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        elif isinstance(path, os.PathLike):
            path = os.fspath(path)
        if not isinstance(path, str):  # a descriptor
            return
        full = os.path.normpath(os.path.join(os.getcwd(), path))  # noqa: PTH109, PTH118 called for each opened file
        if full + os.sep == self.root:
            full = self.root
        if not full.startswith(self.root):
            return
        if kind == FILE and full.endswith(".pyc"):
            try:
                full = importlib.util.source_from_cache(full)
            except ValueError:
                return
        self.paths.add((kind, full.removeprefix(self.root)))

    def told(self) -> dict[str, Any]:
        return {"paths": [list(one) for one in sorted(self.paths)], "spawned": self.spawned}


def state_of(root: Path, kind: str, path: str, digest: Callable[[bytes], str], ignored: frozenset[str]) -> str:
    """The state of a path in a version: of a file its content, of a listed folder its names."""
    full = root / path
    try:
        if full.is_dir():
            names = sorted(one.name for one in full.iterdir() if one.name not in ignored)
            return f"folder {digest(chr(0).join(names).encode())}" if kind == LISTED else "folder"
        if not full.is_file():
            return "nothing"
        return f"file {digest(full.read_bytes())}" if kind == FILE else "file"
    except (OSError, ValueError):
        return "unreadable"
