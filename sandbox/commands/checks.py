"""`test` and `lint`: programs over folders, and a list of all results at the end."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from sandbox.bootstrap import CHECKOUT
from sandbox.commands.selection import FOLDERS, Selection, plan
from sandbox.commands.slices import RECORDED, has_nightly, recorded, regrouped, slices, write
from sandbox.commands.timings import keep, kept, read, table
from sandbox.errors import SandboxError
from sandbox.jobs import wait_gently
from sandbox.program_environment import with_tools
from sandbox.progress import Progress, format_seconds
from sandbox.toolchain import beside_tests, ensure
from sandbox.toolchain.catalogue import FOR_ENGINE

_TYPED = (
    "components",
    "stacks",
    "plan",
    "policies",
    "analysis",
    "controller",
    "agents",
    "sandbox",
    "tests",
    "examples",
    "bench",
)
# Bytes. With a nested literal for pulumi_kubernetes' typed dictionaries mypy took 17 GB; 1 GB is usual.
_LINT_MEMORY = 6 * 2**30
_NO_TESTS = 5  # pytest's exit code when it found none
LINT = "lint"


def run_tests(arguments: Sequence[str]) -> int:
    """Runs pytest on each folder in turn, also after a failure; returns 0 only if every folder passed.

    Without arguments `lint` comes first, and counts; then come the tests of each change by folder, and one slice of
    those marked `nightly`. Meanwhile a process builds the tools.

    arguments: `--all` runs all nightly tests too, `--slice N` (or $SLICE) chooses their slice; all others are for
    pytest. Paths below tests/ and options such as -k select tests, nightly ones too. A folder without tests is a
    failure, unless a selection left it empty; then at least one folder must have had tests.
    """
    selection = Selection.of(arguments, os.environ)
    parts, groups = plan(selection)
    results: dict[str, int] = {}
    taken: dict[str, float] = {}
    began = time.monotonic()
    # The tests' state directories lie in this folder: a sandbox of a killed test ends itself when its folder goes.
    with (
        tempfile.TemporaryDirectory(prefix="hosted-mesh-", ignore_cleanup_errors=True) as folder,
        beside_tests() if selection.whole else nullcontext(),
    ):
        reports = {part.title: Path(folder) / f"{number}.xml" for number, part in enumerate(parts)}
        if selection.whole:
            print("\n=== lint", flush=True)
            results[LINT], taken[LINT] = _timed(run_lint)
        for part in parts:
            for needed in part.needs:
                if needed != FOLDERS[0]:  # here, with visible progress: pytest hides the output of fixtures
                    ensure(FOR_ENGINE if needed == FOLDERS[1] else None, progress=Progress())
            print(f"\n=== {part.title}{part.remark}", flush=True)
            report = reports[part.title]
            own = [f"--junit-xml={report}", f"--basetemp={report.with_suffix('')}"]
            command = [sys.executable, "-m", "pytest", *part.paths, *own, *part.options]
            results[part.title], taken[part.title] = _timed(partial(_call, command))
        timings = read(reports.values())
        print(f"\n{table(timings)}")
        keep(timings, forget=selection.whole and selection.every)
    print(f"\n=== all tests, {format_seconds(time.monotonic() - began)}")
    for name, code in results.items():
        verdict = _VERDICTS.get(code, f"FAILED (exit code {code})")
        print(f"{verdict:<24} {name:<24} {format_seconds(taken[name])}")
    if results[parts[-1].title] == 0:
        for group in sorted(groups - {timing.nightly for timing in timings}):
            print(f"{'no tests':<24} {group}; if no machine has tests of it, remove it from {RECORDED.name}")
    return overall(results, selective=not selection.whole)


def write_slices() -> int:
    """Writes tests/nightly.json from the times of this machine's runs; returns 1 if a group has none.

    A group without a time from this machine keeps its seconds, and so does a group without tests for this machine's
    user.
    """
    with tempfile.TemporaryDirectory(prefix="hosted-mesh-") as folder:
        found = Path(folder) / "groups.json"
        command = ["pytest", "--collect-only", "-qq", "-m", "nightly", f"--nightly-groups={found}", *FOLDERS]
        code = _call([sys.executable, "-m", *command], quiet=True)
        if code:
            raise SandboxError(
                f"The nightly tests cannot be collected (exit code {code}).",
                fix="run `make test ARGS='--collect-only -q -m nightly'`.",
            )
        groups: dict[str, str] = json.loads(found.read_text())
    before = recorded() if RECORDED.exists() else {}
    seconds, unknown = regrouped(groups, kept(), before)
    # Some tests are there for one kind of user only.
    elsewhere = {name: before[name] for name in before.keys() - set(groups.values()) if has_nightly(name)}
    seconds |= elsewhere
    write(seconds)
    for number, names in enumerate(slices(seconds), 1):
        print(f"slice {number}, {format_seconds(sum(seconds[name] for name in names))} of tests")
        print("".join(f"  {seconds[name]:6.0f} s  {name}\n" for name in names), end="")
    for group in sorted(elsewhere):
        print(f"no test here, kept: {group}; if no machine has tests of it, remove it from {RECORDED.name}")
    for group in unknown:
        print(f"no run has timed {group}: make test ARGS={group.partition('::')[0]}, then make slices")
    return 1 if unknown else 0


_VERDICTS: Mapping[int, str] = {0: "passed", _NO_TESTS: "no tests"}


def overall(results: Mapping[str, int], *, selective: bool) -> int:
    """The exit code of `test`: 0 if every folder passed; folders left empty by a selection do not count."""
    codes = list(results.values())
    if selective and any(code == 0 for code in codes):
        codes = [code for code in codes if code != _NO_TESTS]
    return 0 if codes and all(code == 0 for code in codes) else 1


def run_lint() -> int:
    """Runs every linter over everything, also after a failure; returns 0 if each reports success."""
    commands = {
        # The walls between packages: pyproject.toml.
        "import-linter": [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        # Habits of prose, in documentation, docstrings and messages: the budget of each tree is in the module.
        "words": [sys.executable, "-m", "sandbox.commands.words"],
        "ruff check": [sys.executable, "-m", "ruff", "check", "."],
        "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "."],
        "mypy --strict": [sys.executable, "-m", "mypy", "--strict", *_TYPED],
        # Separately: the policy pack has a __main__ too, and mypy accepts one module of a name.
        "mypy --strict __main__.py": [sys.executable, "-m", "mypy", "--strict", "__main__.py"],
    }
    results = {name: _call(command, memory=_LINT_MEMORY) for name, command in commands.items()}
    for name, code in results.items():
        print(f"{'clean' if code == 0 else 'FAILED':<8} {name}")
    return 0 if all(code == 0 for code in results.values()) else 1


def _timed(run: Callable[[], int]) -> tuple[int, float]:
    """The command's exit code, and its seconds."""
    began = time.monotonic()
    return run(), time.monotonic() - began


def _call(command: Sequence[str], memory: int | None = None, *, quiet: bool = False) -> int:
    sys.stdout.flush()
    output = subprocess.DEVNULL if quiet else None
    with subprocess.Popen(command, cwd=CHECKOUT, env=with_tools(), stdout=output) as process:
        if memory:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
        return wait_gently(process)
