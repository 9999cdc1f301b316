"""Savings in an engine's processes that do not affect the test's subject."""

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
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.toolchain import Tools

LISTED = ("-m", "pip", "list", "-v", "--format", "json")
_HERE = Path(__file__).resolve().parent
_NAMESPACES = ("mnt", "net", "pid", "user")


def quickened(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with Pulumi's Python programs forked from one with imported SDKs, and compiled files kept.

    The language host runs pip before each program to list packages; here that list is made once.
    """
    python = str(quick_python())
    return dict(environment) | {
        **_COMPILED_IS_KEPT,
        "PULUMI_PYTHON_CMD": python,
        "HOSTED_MESH_PYTHON": python,  # the stand-in plug-ins'
        "GOGC": "400",  # the heap of a process that lives for seconds may grow
    }


def quick_cli(tools: Tools, settings: Mapping[str, str]) -> PulumiCli:
    """The CLI in a quickened environment. The policy pack runs unforked Python: it looks for the engine among its
    ancestors, and a fork has others."""
    cli = PulumiCli.of(tools, settings)
    return PulumiCli(cli.program, quickened(cli.environment))


_COMPILED_IS_KEPT = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache_dir() / "pyc")}


@cache
def quick_python() -> Path:
    """This Python, as forks of a process that ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="hosted-mesh-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = folder / "socket"
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    server = subprocess.Popen(
        [sys.executable, "-P", _HERE / "forking_python.py", place],
        env=own | _COMPILED_IS_KEPT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout
    assert server.stdout.readline() == "ready\n"
    namespaces = (str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in _NAMESPACES)
    surroundings = " ".join([str(os.getuid()), *namespaces])
    facts = {"@PYTHON@": sys.executable, "@SERVER@": str(place), "@SURROUNDINGS@": surroundings}
    client = (_HERE / "forking_client.py").read_text()
    for name, fact in facts.items():
        client = client.replace(name, fact)
    forking, answer, program = folder / "forking", folder / "packages.json", folder / "python"
    forking.write_text(f"#!{sys.executable} -IS\n{client}")
    answer.write_bytes(subprocess.run([sys.executable, *LISTED], check=True, capture_output=True).stdout)
    program.write_text(f'#!/bin/sh\n[ "$*" = "{" ".join(LISTED)}" ] && exec cat {answer}\nexec {forking} "$@"\n')
    for one in (forking, program):
        one.chmod(0o755)
    return program
