"""The other scanners' programs: a virtual environment of its own for each, a built program for gitleaks; all cached.

Their pins are separate: checkov's are a hundred packages, some at versions that conflict with everything else here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.policies.cached import cached
from sandbox.cache import content_key
from sandbox.jobs import Job
from sandbox.progress import Progress
from sandbox.toolchain.go_sets import Build, GoSet

HERE = Path(__file__).resolve().parent
_LIMIT, _STALL = 900.0, 120.0  # seconds
GITLEAKS_VERSION = "v8.30.1"
GITLEAKS = GoSet(
    name="gitleaks",
    folder="gitleaks",
    title=f"gitleaks {GITLEAKS_VERSION}",
    provides=("gitleaks",),
    builds=(Build(("tool",), variables=(("github.com/zricethezav/gitleaks/v8/version.Version", GITLEAKS_VERSION),)),),
    root=HERE,
)


def python_with(name: str, progress: Progress) -> Path:
    """The interpreter of an environment with the packages of `<name>.txt`. Raises SandboxError."""
    pins = HERE / f"{name}.txt"

    def build(into: Path, job: Job) -> None:
        job.note("installing")
        job.run([sys.executable, "-m", "venv", str(into / "venv")], limit=300)
        pip = [str(into / "venv/bin/python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        job.run(
            [*pip, "--no-deps", "-r", str(pins)],
            limit=_LIMIT,
            stall=_STALL,
            fix="check that PyPI (or your PIP_INDEX_URL) can be reached, then run the same command again.",
        )

    key = content_key(sys.version, sys.base_prefix, pins.read_bytes())
    return cached(name, key, name, progress, build) / "venv" / "bin" / "python"


def pinned(name: str) -> str:
    """The package's version in `<name>.txt`."""
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return next(line.split("==")[1] for line in lines if line.startswith(f"{name}=="))
