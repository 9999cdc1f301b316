"""Programs built from a committed go.mod: one set per folder of go/, so a changed pin rebuilds only that set."""

from __future__ import annotations

import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import content_key
from sandbox.errors import SandboxError
from sandbox.jobs import Job
from sandbox.toolchain.go_compiler import Go

GO_SETS = Path(__file__).parent / "go"
_DOWNLOAD_LIMIT, _BUILD_LIMIT = 1800.0, 7200.0  # seconds, for a slow line and for one slow core
_STALL = 120.0  # seconds without a byte from the module proxy
_NETWORK_FIX = "check the network and the Go module proxy (`go env GOPROXY`), then run the same command again."
_BUILD_FIX = (
    "read the log; `signal: killed` means too little memory (a build needs up to 5 GB), `no space left` too little "
    "disk (12 GB). Then run the same command again: what is finished is kept."
)


@dataclass(frozen=True)
class Build:
    """One `go build`: packages to build, build tags, and `-X` settings (variable of the package, value)."""

    packages: tuple[str, ...]
    tags: str = ""
    variables: tuple[tuple[str, str], ...] = ()

    def flags(self) -> list[str]:
        """Flags that decide the result; part of the cache key."""
        stamped = " ".join(f"-X {name}={value}" for name, value in self.variables)
        return ["-trimpath", "-buildvcs=false", "-tags", self.tags, "-ldflags", f"-s -w {stamped}".strip()]


@dataclass(frozen=True)
class Copy:
    """A file or folder copied unchanged out of a module, to a path below the cache entry.

    pinned_by: folder with the go.mod that pins the module, when it is not the set's own.
    """

    module: str
    source: str
    target: str
    pinned_by: str = ""


@dataclass(frozen=True)
class GoSet:
    """A folder of go/ and its products.

    name: of the set, for people and for the cache. folder: with go.mod and go.sum. provides: names of the programs in
    bin/ afterwards. renames: (Go's name, the wanted name). title: description, with its version.
    """

    name: str
    folder: str
    title: str
    provides: tuple[str, ...] = ()
    builds: tuple[Build, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    copies: tuple[Copy, ...] = ()
    root: Path = GO_SETS

    @property
    def directory(self) -> Path:
        """The location of its go.mod."""
        return self.root / self.folder

    def mod_files(self) -> list[Path]:
        """Every go.mod among its sources."""
        folders = {self.folder, *(copy.pinned_by for copy in self.copies)} - {""}
        return [self.root / folder / "go.mod" for folder in sorted(folders)]

    def key(self) -> str:
        """A key of go.mod, go.sum, sources beside them, flags, copied files, and the kind of processor."""
        pins = [path.with_name(name).read_bytes() for path in self.mod_files() for name in ("go.mod", "go.sum")]
        pins += [path.read_bytes() for path in sorted(self.directory.glob("*.go"))]
        recipe = repr([(build.packages, build.flags()) for build in self.builds]) + repr(self.renames)
        return content_key(*pins, recipe, repr(self.copies), platform.machine())

    def describe(self) -> str:
        """The origin, for people."""
        return f"{self.title}, {'built from' if self.builds else 'out of'} Go modules"

    def build(self, into: Path, job: Job, go: Go) -> None:
        """Downloads, builds and copies everything of the set into the directory `into`.

        Only the first part uses the network, under a time-out for silence; compiling has it switched off.
        Raises SandboxError with the end of the log.
        """
        total = max((self._download(build, job, go) for build in self.builds), default=0)
        (into / "bin").mkdir()
        for build in self.builds:
            self._compile(build, into / "bin", total, job, go)
        for old, new in self.renames:
            (into / "bin" / old).rename(into / "bin" / new)
        for copy in self.copies:
            self._copy(copy, into, job, go)
        if lacking := [name for name in self.provides if not (into / "bin" / name).is_file()]:
            raise SandboxError(f"{self.name}: the build did not make {', '.join(lacking)}.", why=f"log: {job.log}")

    def _download(self, build: Build, job: Job, go: Go) -> int:
        """Downloads the modules of the packages, and only those; returns the number of packages to compile."""
        job.note("downloading modules")

        def on_line(line: str) -> None:
            # `-x` prints "# get https://proxy/module/@v/version.zip" for each request.
            if found := re.match(r"# get \S+?://[^/]+/(\S+)/@v/(\S+?)\.zip$", line):
                job.note(f"downloading {found[1]} {found[2]}")

        listed = job.run(
            [*_go(go, "list"), "-deps", "-x", "-tags", build.tags, "-f", "package {{.ImportPath}}", *build.packages],
            cwd=self.directory,
            env=go.environment(network=True),
            limit=_DOWNLOAD_LIMIT,
            stall=_STALL,
            on_line=on_line,
            fix=_NETWORK_FIX,
        )
        return sum(line.startswith("package ") for line in listed.splitlines())

    def _compile(self, build: Build, binaries: Path, total: int, job: Job, go: Go) -> None:
        job.note("compiling")
        compiled = 0

        def on_line(line: str) -> None:
            # `-v` prints each package at the start of its compilation, without those in the build cache.
            nonlocal compiled
            if line and not line.startswith(("#", "go:")) and " " not in line:
                compiled += 1
                job.note(f"compiling, {compiled} of at most {total} packages: {line}")

        job.run(
            [*_go(go, "build"), "-v", *build.flags(), "-o", f"{binaries}/", *build.packages],
            cwd=self.directory,
            env=go.environment(network=False),
            limit=_BUILD_LIMIT,
            on_line=on_line,
            fix=_BUILD_FIX,
        )

    def _copy(self, copy: Copy, into: Path, job: Job, go: Go) -> None:
        job.note(f"downloading {copy.module}")
        pinned_in = self.root / (copy.pinned_by or self.folder)
        environment = go.environment(network=True)
        command = [str(go.program), "mod", "download", "-modcacherw", copy.module]
        job.run(command, cwd=pinned_in, env=environment, limit=_DOWNLOAD_LIMIT, stall=_STALL, fix=_NETWORK_FIX)
        command = [*_go(go, "list"), "-m", "-f", "{{.Dir}}", copy.module]
        module = job.run(command, cwd=pinned_in, env=environment, limit=120, fix=_NETWORK_FIX).splitlines()[-1]
        source, target = Path(module) / copy.source, into / copy.target
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
            # Go keeps modules read-only; a cache entry must be removable by its owner.
            for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
                folder.chmod(0o755)
        else:
            shutil.copyfile(source, target)
            target.chmod(0o755)


def _go(go: Go, command: str) -> list[str]:
    """A command of Go that never changes go.mod and leaves a module cache that its owner can remove."""
    return [str(go.program), command, "-mod=readonly", "-modcacherw"]
