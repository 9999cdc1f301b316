"""Node.js and the npm packages of a TypeScript program for Pulumi, in one folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import content_key
from sandbox.jobs import Job
from sandbox.toolchain.wheels import Wheel

NPM = Path(__file__).parent / "npm"
_PINS = ("package.json", "package-lock.json")
_LIMIT, _STALL = 900.0, 120.0  # seconds


@dataclass(frozen=True)
class NodePackages:
    """Node.js out of a wheel, as `bin/node`, and the packages of npm/package-lock.json, as `node_modules`.

    The wheel's `lib/npm/` is npm, used for installation only.
    """

    name: str
    provides: tuple[str, ...]
    wheel: Wheel
    root: Path = NPM

    def key(self) -> str:
        """A key of Node's pin and of the packages' versions."""
        return content_key(self.wheel.key(), *((self.root / name).read_bytes() for name in _PINS))

    def describe(self) -> str:
        """The origin, for people: name and version."""
        return f"{self.wheel.describe()}, packages from npm"

    def build(self, into: Path, job: Job) -> None:
        """Downloads Node.js, then the packages, each by its hash, into the directory `into`. Raises SandboxError."""
        self.wheel.build(into, job)
        for name in _PINS:
            (into / name).write_bytes((self.root / name).read_bytes())
        job.note("downloading packages from npm")
        job.run(
            # Packages' own scripts do not run: none of these needs one.
            [str(into / "bin/node"), str(into / "lib/npm/bin/npm-cli.js"), "ci", "--ignore-scripts", "--no-audit"],
            cwd=into,
            env=os.environ | {"PATH": f"{into / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
            limit=_LIMIT,
            stall=_STALL,
            fix="check that the npm registry (or the one that your npm configuration names) can be reached.",
        )
