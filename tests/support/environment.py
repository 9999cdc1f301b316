"""What saves an engine's processes work that says nothing of what is tested."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from sandbox.cache import cache_dir

LISTED = ("-m", "pip", "list", "-v", "--format", "json")


def quickened(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with compiled Python kept in our cache, the list of packages made once, and collectors at ease.

    An operation starts six Python processes, and the language host has pip list all packages before each program.
    """
    paths = (str(_collecting_seldom()), environment.get("PYTHONPATH") or os.environ.get("PYTHONPATH"))
    return dict(environment) | {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(cache_dir() / "pyc"),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PULUMI_PYTHON_CMD": str(_python_that_has_listed()),
        "GOGC": "400",  # the heap of a process that lives for seconds may grow
    }


@cache
def _collecting_seldom() -> Path:
    """A folder for PYTHONPATH. By its usual limits Python looks for garbage for 6 of 100 CPU seconds of previews."""
    folder = Path(tempfile.mkdtemp(prefix="hosted-mesh-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "sitecustomize.py").write_text("import gc\n\ngc.set_threshold(1_000_000)\n")
    return folder


@cache
def _python_that_has_listed() -> Path:
    """This Python, which answers one command, the language host's, with what it answered before."""
    folder = Path(tempfile.mkdtemp(prefix="hosted-mesh-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    answer, program = folder / "packages.json", folder / "python"
    answer.write_bytes(subprocess.run([sys.executable, *LISTED], check=True, capture_output=True).stdout)
    program.write_text(f'#!/bin/sh\n[ "$*" = "{" ".join(LISTED)}" ] && exec cat {answer}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program
