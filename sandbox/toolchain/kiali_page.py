"""Kiali's page, built from the sources in its Go module: only its container image has it built."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from sandbox.cache import content_key
from sandbox.jobs import Job
from sandbox.toolchain.go_compiler import Go
from sandbox.toolchain.go_sets import Copy, GoSet
from sandbox.toolchain.wheels import Wheel

YARN = Path(__file__).parent / "npm" / "yarn"
_PINS = ("package.json", "package-lock.json")
_INSTALL, _BUILD, _STALL = 1800.0, 3600.0, 300.0  # seconds
_NPM_FIX = "check that the npm registry (or the one that your npm configuration names) can be reached."
_BUILD_FIX = "read the log; the build needs 4 GB of memory."
_SETTINGS = {
    # Packages' own scripts download browsers and set up git hooks.
    "CYPRESS_INSTALL_BINARY": "0",
    "GENERATE_SOURCEMAP": "false",
    "DISABLE_ESLINT_PLUGIN": "true",
    "REACT_APP_IS_UPSTREAM": "true",
    "CI": "false",  # with it a warning is an error
}


class _Limits(TypedDict):
    """Of a command that downloads."""

    limit: float
    stall: float
    fix: str


@dataclass(frozen=True)
class KialiPage(GoSet):
    """The page as one folder, `bin/kiali-page`. node: the wheel of Node.js, whose npm installs yarn by its hash."""

    node: Wheel = field(default_factory=lambda: Wheel("node", (), ()))

    def key(self) -> str:
        """A key of the module's pin, Node's and yarn's. The packages are pinned by yarn.lock in the module."""
        pins = [(YARN / name).read_bytes() for name in _PINS]
        return content_key(super().key(), self.node.key(), *pins, repr(sorted(_SETTINGS.items())), "1")

    def describe(self) -> str:
        """The origin, for people."""
        return f"{self.title}, built from a Go module with packages from npm"

    def build(self, into: Path, job: Job, go: Go) -> None:
        """Builds the page in the directory `into`. Raises SandboxError."""
        work = into / "work"
        work.mkdir()
        self._copy(Copy(self.copies[0].module, self.copies[0].source, "work/page"), into, job, go)
        (work / "node").mkdir()
        self.node.build(work / "node", job)
        for name in _PINS:
            shutil.copyfile(YARN / name, work / name)
        page, environment = work / "page", self._environment(work)
        node, npm = str(work / "node/bin/node"), str(work / "node/lib/npm/bin/npm-cli.js")
        job.note("downloading packages from npm")
        limits: _Limits = {"limit": _INSTALL, "stall": _STALL, "fix": _NPM_FIX}
        job.run([node, npm, "ci", "--ignore-scripts", "--no-audit"], cwd=work, env=environment, **limits)
        registry = job.run([node, npm, "config", "get", "registry"], cwd=work, env=environment, **limits).split()[-1]
        lock = page / "yarn.lock"
        lock.write_text(from_registry(lock.read_text(), registry))
        yarn = [node, str(work / "node_modules/yarn/bin/yarn.js"), "--cache-folder", str(work / "yarn")]
        options = ["--frozen-lockfile", "--ignore-scripts", "--non-interactive", "--network-timeout", "300000"]
        job.run([*yarn, "install", *options], cwd=page, env=environment, **limits)
        job.note("building the page")
        for command in (
            ["i18next", "src/**/*.{ts,tsx}", "-c", "./i18next-parser.config.ts", "--silent"],
            ["react-scripts", "build"],
        ):
            program = [str(page / "node_modules/.bin" / command[0]), *command[1:]]
            job.run(program, cwd=page, env=environment, limit=_BUILD, stall=_BUILD, fix=_BUILD_FIX)
        (into / "bin").mkdir()
        (page / "build").rename(into / "bin" / self.provides[0])
        shutil.rmtree(work)

    def _environment(self, work: Path) -> dict[str, str]:
        path = f"{work / 'node/bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**os.environ, **_SETTINGS, "PATH": path, "HOME": str(work)}


def from_registry(lock: str, registry: str) -> str:
    """A yarn.lock whose packages come from one npm registry. Their hashes stay."""
    return re.sub(r'(resolved ")https://[^/]+/', rf"\g<1>{registry.rstrip('/')}/", lock)
