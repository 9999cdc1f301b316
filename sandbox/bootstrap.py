"""Before each command: a virtual environment in the cache with the pinned packages. Standard library only."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox.cache import cache_dir, content_key
from sandbox.errors import SandboxError
from sandbox.jobs import Job, Terminated
from sandbox.lock import locked
from sandbox.old_environments import COMPLETE, mark_used, remove_unused
from sandbox.progress import Progress

CHECKOUT = Path(__file__).resolve().parent.parent
_STEP = "Python packages"
_PINS = (
    "requirements-dev.txt",
    "requirements.txt",
    "constraints.txt",
    "VERSION",
    "components/pyproject.toml",
    "plan/pyproject.toml",
    "policies/pyproject.toml",
    "analysis/pyproject.toml",
    "controller/pyproject.toml",
)
_LIMIT, _STALL = 1800.0, 180.0  # seconds
_NETWORK_FIX = "check that PyPI (or your PIP_INDEX_URL) can be reached, then run the same command again."


def run(arguments: Sequence[str], module: str = "sandbox.commands.cli") -> int:  # noqa: RET503 - execv does not return
    """Makes the environment where needed and becomes `python -m MODULE ARGUMENTS`; returns only after an error."""
    signal.signal(signal.SIGTERM, Terminated.by_signal)
    # A script's `make up &` starts this process with SIGINT ignored, and its children would inherit that. The engine
    # ends its plug-ins by SIGINT; a plug-in that ignores it delays the end of every run by five seconds.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        python = ensure_environment(Progress())
    except SandboxError as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    os.execv(python, [str(python), "-m", module, *arguments])  # noqa: S606


def ensure_environment(progress: Progress) -> Path:
    """The interpreter of the environment for this checkout, made first where needed.

    The environment is keyed by interpreter, pins and checkout (the library is installed in place). So a changed pin
    makes a new environment, and no run uses one that an interrupted run left half-made. Raises SandboxError.
    """
    cache = cache_dir()
    environment = cache / "venv" / environment_key(CHECKOUT)
    python = environment / "bin" / "python"
    if (environment / COMPLETE).exists():
        mark_used(environment)
        return python
    with progress.step(_STEP) as step, locked(cache / "locks" / "venv", step.note) as lock:
        if (environment / COMPLETE).exists():
            step.skip("made by another run meanwhile")
            return python
        (cache / "logs").mkdir(exist_ok=True)
        log = cache / "logs" / "packages.log"
        log.write_text("")
        # Made in place, not renamed: scripts in a virtual environment hold its absolute path.
        shutil.rmtree(environment, ignore_errors=True)
        _install(environment, Job(_STEP, log, step.note, lock=lock))
        (environment / COMPLETE).touch()
        remove_unused(environment.parent)
        step.result(f"in {environment}")
    return python


def environment_key(checkout: Path) -> str:
    """A key of the interpreter, the pins and the checkout."""
    pins = [checkout / name for name in _PINS]
    contents = [path.read_bytes() if path.is_file() else b"" for path in pins]
    return content_key(sys.version, sys.base_prefix, str(checkout), *contents)


def _install(environment: Path, job: Job) -> None:
    job.note("making a virtual environment")
    python = environment / "bin" / "python"
    if importlib.util.find_spec("ensurepip"):
        job.run([sys.executable, "-m", "venv", str(environment)], limit=300)
        pip = [str(python), "-m", "pip"]
    elif importlib.util.find_spec("pip"):
        # Debian splits ensurepip off into python3-venv; a pip outside can fill an environment without one.
        job.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], limit=300)
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
    else:
        raise SandboxError(
            f"This Python ({sys.executable}) cannot make a virtual environment: it has neither ensurepip nor pip.",
            fix="install them; on Debian and Ubuntu: apt install python3-venv.",
        )

    def on_line(line: str) -> None:
        if line.startswith(("Collecting", "Obtaining", "Installing")):
            job.note(line[:100])

    options = ["--disable-pip-version-check", "--no-input", "--timeout", "60", "--retries", "3"]
    job.run(
        [*pip, "install", *options, "-r", "requirements-dev.txt"],
        cwd=CHECKOUT,
        limit=_LIMIT,
        stall=_STALL,
        on_line=on_line,
        fix=_NETWORK_FIX,
    )
    # Makes `sandbox` importable from any directory for every program of this environment, without PYTHONPATH.
    (site_packages,) = environment.glob("lib/python*/site-packages")
    (site_packages / "hosted-mesh-checkout.pth").write_text(f"{CHECKOUT}\n")
