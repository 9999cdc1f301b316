"""`test` and `lint`: which programs run over which folders, and what came of each at the end."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from sandbox.bootstrap import CHECKOUT
from sandbox.commands.timings import keep, read, table
from sandbox.jobs import wait_gently
from sandbox.program_environment import with_tools
from sandbox.progress import Progress, format_seconds
from sandbox.toolchain import ensure

# In this order: what takes seconds comes first, what needs the tool chain and the clusters comes last.
FOLDERS = ("tests/unit", "tests/engine", "tests/live")
_TYPED = ("components", "stacks", "policies", "sandbox", "tests", "examples", "bench")
# Bytes. A nested literal given to pulumi_kubernetes' typed dictionaries made mypy take 17 GB; 1 GB is usual.
_LINT_MEMORY = 6 * 2**30
_NO_TESTS = 5  # pytest's exit code when it found none
LINT = "lint"
WORKERS = {"tests/engine": 3}
OTHERS = 2
"""Processes. Each may have two API servers and an engine, some 3 GB. Those of tests/engine wait for these: with two of
them two cores are idle for a third of the time."""


def run_tests(arguments: Sequence[str]) -> int:
    """Runs pytest on each folder in turn, and all of them even if one fails; returns 0 only if every one passed.

    Without arguments `lint` comes first, and counts.

    arguments: for pytest; paths below tests/ among them limit what is run. A folder without tests is a failure, unless
    a selection (-k, -m, a path) may have left it empty; then at least one folder must have had tests.
    """
    plan = split_by_folder(arguments)
    options = [argument for argument in arguments if not _is_path(argument)]
    results: dict[str, int] = {}
    taken: dict[str, float] = {}
    began = time.monotonic()
    # The tests' folders are in it too: a sandbox whose folder is removed ends itself, if its test was killed.
    with tempfile.TemporaryDirectory(prefix="hosted-mesh-", ignore_cleanup_errors=True) as folder:
        reports = {name: Path(folder) / f"{number}.xml" for number, name in enumerate(plan)}
        if not arguments:
            print("\n=== lint", flush=True)
            results[LINT], taken[LINT] = _timed(run_lint)
        for name, paths in plan.items():
            if name != FOLDERS[0]:
                ensure(progress=Progress())  # here, where its progress is seen: pytest hides what a fixture prints
            print(f"\n=== {name}", flush=True)
            report = reports[name]
            own = [f"--junit-xml={report}", f"--basetemp={report.with_suffix('')}", *side_by_side(paths, options)]
            command = [sys.executable, "-m", "pytest", *paths, *own, *options]
            results[name], taken[name] = _timed(partial(_call, command))
        timings = read(reports.values())
        print(f"\n{table(timings)}")
        if not arguments:
            keep(timings)
    print(f"\n=== all tests, {format_seconds(time.monotonic() - began)}")
    for name, code in results.items():
        verdict = _VERDICTS.get(code, f"FAILED (exit code {code})")
        print(f"{verdict:<24} {name:<16} {format_seconds(taken[name])}")
    return overall(results, selective=bool(arguments))


def side_by_side(paths: Sequence[str], options: Sequence[str]) -> list[str]:
    """Options for pytest: whole folders are shared by processes, each with clusters of its own (tests/conftest.py).

    A chosen file or test is not worth a second pair of clusters; with options (-x, -k, --pdb) one may want to watch.
    """
    workers = min(WORKERS.get(path, OTHERS) for path in paths)
    whole = not options and all((CHECKOUT / path).is_dir() for path in paths)
    # In the order in which tests/conftest.py puts the groups: xdist's own is by the number of their tests.
    return [f"--numprocesses={workers}", "--dist=loadgroup", "--no-loadscope-reorder"] if whole else []


_VERDICTS: Mapping[int, str] = {0: "passed", _NO_TESTS: "no tests"}


def split_by_folder(arguments: Sequence[str]) -> dict[str, list[str]]:
    """The folders to run, in order, each with the paths to give to pytest; without paths all three, whole.

    A path that is not below one of the three (a typing error, "tests") goes to the first, where pytest says what it
    thinks of it.
    """
    paths = [argument.removeprefix("./") for argument in arguments if _is_path(argument)]
    if not paths:
        return {folder: [folder] for folder in FOLDERS}
    plan: dict[str, list[str]] = {}
    for folder in FOLDERS:
        inside = [path for path in paths if path == folder or path.startswith((f"{folder}/", f"{folder}::"))]
        if inside:
            plan[folder] = inside
    strays = [path for path in paths if not any(path in inside for inside in plan.values())]
    return plan if not strays else {strays[0]: strays, **plan}


def overall(results: Mapping[str, int], *, selective: bool) -> int:
    """The exit code of `test`: 0 if every folder passed; with a selection, folders that it emptied do not count."""
    codes = list(results.values())
    if selective and any(code == 0 for code in codes):
        codes = [code for code in codes if code != _NO_TESTS]
    return 0 if codes and all(code == 0 for code in codes) else 1


def run_lint() -> int:
    """Runs ruff and mypy over everything, all of them even if one fails; returns 0 if all are content."""
    commands = {
        # Which room may import which: pyproject.toml.
        "import-linter": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        "ruff check": [sys.executable, "-m", "ruff", "check", "."],
        "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "."],
        "mypy --strict": [sys.executable, "-m", "mypy", "--strict", *_TYPED],
        # By itself: the policy pack has a __main__ too, and mypy takes one of a name.
        "mypy --strict __main__.py": [sys.executable, "-m", "mypy", "--strict", "__main__.py"],
    }
    results = {name: _call(command, memory=_LINT_MEMORY) for name, command in commands.items()}
    for name, code in results.items():
        print(f"{'clean' if code == 0 else 'FAILED':<8} {name}")
    return 0 if all(code == 0 for code in results.values()) else 1


def _timed(run: Callable[[], int]) -> tuple[int, float]:
    """Its exit code, and the seconds that it took."""
    began = time.monotonic()
    return run(), time.monotonic() - began


def _is_path(argument: str) -> bool:
    return argument.removeprefix("./").startswith("tests")


def _call(command: Sequence[str], memory: int | None = None) -> int:
    sys.stdout.flush()
    with subprocess.Popen(command, cwd=CHECKOUT, env=with_tools()) as process:
        if memory:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
        return wait_gently(process)
