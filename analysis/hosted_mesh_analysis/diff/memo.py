"""Unchanged stacks by content: no program runs for a stack if both versions have the files that a former run read.

A former run of a stack read some files, listed some folders and looked for some paths. If they are the same in two
versions, both would have that run's result, whatever it was. So the memo has no result: paths and keyed digests only.
It is in the user's cache, mode 0700.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import hosted_mesh_plan
import hosted_mesh_policies

from ..runner import charts
from ..runner.capture import Capture
from ..runner.program import traced
from .fetched import cache
from .masked import NOT_OF_A_VERSION, assets_in
from .runs import Opened
from .versions import Version

MOST_ENTRIES: Final = 8
"""Most former runs of a stack."""
LARGEST: Final = 4 * 1024 * 1024
_SHOWN: Final = re.compile(r"PULUMI_|PYTHON|HOSTED_MESH_|KUBE|LANG$|LC_|TZ$|HOME$")
"""Variables that take part by their value. Others take part by name: they may be secret, and are made up here."""
_VOLATILE: Final = re.compile(
    r"(?:GITHUB|RUNNER|CI|GITLAB|PYTEST|BUILD|SSH|XDG)_|_$|SHLVL$|(?:OLD)?PWD$|COLUMNS$|LINES$|TERM"
)
_AUTHORITY: Final = re.compile(r"^(\s*certificate-authority-data:).*$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """The inputs of a former run. states: by kind and path; reads: other stacks of the project that it referred to."""

    states: tuple[tuple[str, str, str], ...]
    reads: tuple[str, ...]


@dataclass
class Memo:
    """The memo of one comparison. folder: of the cache; None for no memo. about: arguments of the whole command."""

    folder: Path | None
    about: Any
    _key: bytes = b""
    _states: dict[tuple[Path, str, str], str] = field(default_factory=dict)
    _memory: dict[str, list[Entry]] = field(default_factory=dict)

    @staticmethod
    def of(about: Any, python: str, *, is_used: bool = True) -> Memo:
        """The user's memo; none if its folder cannot be made or belongs to another user."""
        folder = cache().parent / "diff"
        found = Memo(folder if is_used else None, [about, _machine(python)])
        try:
            if found.folder is not None:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
                    found.folder = None
                else:
                    found._key = _key(folder)
        except OSError:
            found.folder = None
        found._key = found._key or secrets.token_bytes(32)
        return found

    def same(
        self, name: str, old: Mapping[str, Opened], new: Mapping[str, Opened], base: Version, now: Version
    ) -> bool:
        """True if a former run shows that both versions of a stack have one result."""
        return self._same(name, old, new, base, now, ())

    def _same(
        self,
        name: str,
        old: Mapping[str, Opened],
        new: Mapping[str, Opened],
        base: Version,
        now: Version,
        waiting: tuple[str, ...],
    ) -> bool:
        if name not in old or name not in new or name in waiting:
            return False
        keys = self.about_stack(old[name], base), self.about_stack(new[name], now)
        if keys[0] != keys[1]:
            return False
        return any(
            self._fits(entry, base)
            and self._fits(entry, now)
            and all(self._same(one, old, new, base, now, (*waiting, name)) for one in entry.reads)
            for entry in self._entries(keys[0])
        )

    def keep(self, one: Opened, version: Version, run: Capture, reads: Iterable[str]) -> None:
        """Keeps the inputs of a run, unless it failed or started other programs."""
        if run.trace is None or run.problems or run.trace.get("spawned"):
            return
        paths = {(str(kind), str(path)) for kind, path in run.trace["paths"]}
        for asset in assets_in([two.inputs for two in run.resources.values()]):
            paths |= _files_of(one.program.directory / asset, version.root)
        for place in run.chart_places:
            paths |= _files_of(place, version.root)
        states = tuple((kind, path, self._state(version, kind, path)) for kind, path in sorted(paths))
        entry = Entry(states, tuple(sorted(reads)))
        key = self.about_stack(one, version)
        self._memory.setdefault(key, []).insert(0, entry)
        if self.folder is not None:
            kept = [entry, *(other for other in self._read(key) if other != entry)][:MOST_ENTRIES]
            self._write(key, kept)

    def about_stack(self, one: Opened, version: Version) -> str:
        """The key of a stack's arguments: its configuration, and all that is not in the repository."""
        files = {path: _AUTHORITY.sub(r"\1", text) for path, text in one.program.files.items()}
        directory = str(one.program.directory.relative_to(version.root))
        main = str(one.program.main.relative_to(version.root))
        project = one.project
        told = [self.about, project.name, project.given.name, directory, main, dict(project.config)]
        told += [list(project.secret_keys), files, dict(one.program.environment)]
        return self._digest(json.dumps(told, sort_keys=True, default=str).encode())

    def _fits(self, entry: Entry, version: Version) -> bool:
        return all(self._state(version, kind, path) == state for kind, path, state in entry.states)

    def _state(self, version: Version, kind: str, path: str) -> str:
        key = (version.root, kind, path)
        if key not in self._states:
            self._states[key] = traced.state_of(version.root, kind, path, self._digest, NOT_OF_A_VERSION)
        return self._states[key]

    def _digest(self, data: bytes) -> str:
        return hashlib.blake2b(data, key=self._key, digest_size=20).hexdigest()

    def _entries(self, key: str) -> Sequence[Entry]:
        return [*self._memory.get(key, ()), *(self._read(key) if self.folder is not None else ())]

    def _file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{key}.json"

    def _read(self, key: str) -> list[Entry]:
        try:
            file = self._file(key)
            if file.stat().st_size > LARGEST:
                return []
            return [
                Entry(tuple((str(a), str(b), str(c)) for a, b, c in one["states"]), tuple(map(str, one["reads"])))
                for one in json.loads(file.read_text(encoding="utf-8"))
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def _write(self, key: str, entries: Sequence[Entry]) -> None:
        text = json.dumps([{"states": one.states, "reads": one.reads} for one in entries])
        try:
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:
                file.write(text)
            Path(file.name).replace(self._file(key))
        except OSError:
            return  # the next run is slower


def _key(folder: Path) -> bytes:
    """The key of the digests, made once."""
    file = folder / "key"
    try:
        return bytes.fromhex(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        made = secrets.token_bytes(32)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="ascii") as new:
            new.write(made.hex())
        Path(new.name).replace(file)
        return made


def _machine(python: str) -> Any:
    """Everything outside of the repository that a run depends on, as far as known: packages, variables, this code."""
    shown = {name: value for name, value in os.environ.items() if _SHOWN.match(name)}
    others = sorted(name for name in os.environ if not _SHOWN.match(name) and not _VOLATILE.match(name))
    modules = (hosted_mesh_plan, hosted_mesh_policies)
    own = [Path(__file__).parents[1], *(Path(str(one.__file__)).parent for one in modules)]
    code = [[str(file), file.stat().st_mtime_ns] for folder in own for file in sorted(folder.rglob("*.py"))]
    try:
        helm = charts.helm()
    except charts.UnrenderedError as problem:
        helm = str(problem)
    return [python, sys.version, shown, others, code, helm, _packages(python)]


def _packages(python: str) -> list[str]:
    """The distributions beside an interpreter."""
    folders = [Path(python).resolve().parents[1], Path(python).parents[1]] if "/" in python else []
    found = {one.name for folder in folders for one in folder.glob("lib/python*/site-packages/*.dist-info")}
    return sorted(found | {one.name for path in sys.path for one in Path(path).glob("*.dist-info")})


def _files_of(place: Path, root: Path) -> set[tuple[str, str]]:
    """A file, or all files of a folder, in the repository."""
    try:
        full = place.resolve()
        if not full.is_relative_to(root):
            return set()
        found = {(traced.LISTED if full.is_dir() else traced.FILE, str(full.relative_to(root)))}
        for one in full.rglob("*") if full.is_dir() else ():
            if NOT_OF_A_VERSION.isdisjoint(one.relative_to(full).parts):
                found.add((traced.LISTED if one.is_dir() else traced.FILE, str(one.relative_to(root))))
    except OSError:
        return set()
    return found
