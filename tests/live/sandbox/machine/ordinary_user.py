"""An ordinary user who runs the command line as people do, whoever runs the tests."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.bootstrap import CHECKOUT, ensure_environment
from sandbox.cache import cache_dir
from sandbox.clusters.supervisor import uid_maps
from sandbox.plugins import official
from sandbox.program_environment import pulumi_home
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.live.sandbox.machine.inside import all_pids

PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 600.0  # seconds for one command; it ends what hangs, so a slow machine has room
SUBORDINATES = 65536  # ids, as distributions give them to a new account
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "HOSTED_MESH_PLUGINS", "HOSTED_MESH_TOOLS", "PIP_INDEX_URL", "GOPROXY")
# What a clone does not have, or the first command makes again.
_NOT_CLONED = shutil.ignore_patterns(".[!c]*", "__pycache__", "build", "dist")


Shown = tuple[Path, Path, bool]  # where the user sees it, what it is, whether it is read-only


@dataclass(frozen=True)
class OrdinaryUser:
    """uid: who runs the commands. place: a directory of theirs, with their home and their sandboxes.

    show: what this user sees at which path; None when the tests are theirs already. subordinates: ids that Pods may
    have besides, none for most.
    """

    uid: int
    place: Path
    environment: dict[str, str]
    show: tuple[Shown, ...] | None
    subordinates: range = range(0)

    @classmethod
    def at(cls, place: Path, tools: Tools, progress: Progress) -> OrdinaryUser:
        """The user who runs the tests, or if that is root one who has nothing: no name, no group, no subordinate ids.

        That one has a clone, a home and a cache of their own, at paths at which root has the same; the tools and the
        Python environment in it are root's, read-only (or copies, where they are closed to others). Nothing of the
        machine is changed: it is all bind mounts of one command (programs/become.py).
        """
        if os.geteuid() != 0:
            (place / "home").mkdir()
            first = uid_maps.subordinate(Path("/etc/subuid")) if uid_maps.has_range() else None
            ids = range(0) if first is None else range(first, first + SUBORDINATES)
            return cls(os.geteuid(), place, dict(os.environ), None, ids)
        uid = _unused_uid()
        for folder in ("home", "cache", "checkout"):
            (place / folder).mkdir()
        shutil.copytree(CHECKOUT, place / "checkout", ignore=_NOT_CLONED, symlinks=True, dirs_exist_ok=True)
        python = ensure_environment(progress)
        cache, own_cache = cache_dir(), place / "cache"
        shared = [python.parent.parent, *(one for one in tools.root.iterdir() if one.name != "bin")]
        show: list[Shown] = [
            (place, place, False),
            (CHECKOUT, place / "checkout", False),
            (cache, own_cache, False),
            *((path, path if _is_open(path) else _copied(path, place / "copies"), True) for path in shared),
            (Path(sys.base_prefix), Path(sys.base_prefix), False),
            *((path.parent, path.parent, False) for path in _outside(tools)),
        ]
        # They have what a download that root has made already would bring.
        for program in (official.installed(pulumi_home()) or {}).values():
            show.append((place / "home" / ".pulumi" / "plugins" / program.parent.name, program.parent, True))
        for target, _, _ in show:
            if target.is_relative_to(cache):
                (own_cache / target.relative_to(cache)).mkdir(parents=True, exist_ok=True)
            elif target.is_relative_to(place):
                target.mkdir(parents=True, exist_ok=True)
        _give(place, uid)
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= {"HOME": str(place / "home"), "XDG_CACHE_HOME": str(cache.parent)}
        return cls(uid, place, environment, tuple(show))

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a command as this user in their clone, to its end; its exit code is the caller's to judge."""
        prefix: list[str | Path] = []
        if self.show is not None:
            shown = [(str(target), str(source), read_only) for target, source, read_only in self.show]
            prefix = [sys.executable, PROGRAMS / "become.py", json.dumps({"uid": self.uid, "show": shown})]
        return subprocess.run(
            [*prefix, *command],
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def sandbox(self, *arguments: str | Path, through: Sequence[str | Path] = ()) -> subprocess.CompletedProcess[str]:
        """`python3 -m sandbox ARGUMENTS`. through: a program that runs it."""
        python = Path(sys.executable).resolve()  # not the environment's own: finding that is the bootstrap's work
        return self.run(*through, python, "-m", "sandbox", *arguments)


def _is_open(folder: Path) -> bool:
    """Whether everybody may read all of it; not so under root's umask of 077."""
    return all(path.lstat().st_mode & 0o004 for path in (folder, *folder.rglob("*")))


def _copied(folder: Path, place: Path) -> Path:
    return shutil.copytree(folder, place / folder.name, symlinks=True)


def uids_in_use() -> set[int]:
    """Who runs something on this machine."""
    found = set()
    for pid in all_pids():
        with suppress(FileNotFoundError):  # it has ended meanwhile
            found.add(Path(f"/proc/{pid}").stat().st_uid)
    return found


def _unused_uid() -> int:
    """A number that no account and no process has."""
    taken = {entry.pw_uid for entry in pwd.getpwall()} | uids_in_use()
    return secrets.choice([uid for uid in range(20_000, 60_000) if uid not in taken])


def _outside(tools: Tools) -> set[Path]:
    """Programs that were found on PATH, as they are there and where links lead."""
    found = [path for path in tools.programs.values() if not path.is_relative_to(tools.root)]
    return {*found, *(path.resolve() for path in found)}


def _give(folder: Path, uid: int) -> None:
    """Makes everything below a directory, and itself, this user's."""
    os.chown(folder, uid, uid)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(parent) / name, uid, uid, follow_symlinks=False)
