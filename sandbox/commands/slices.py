"""The slices of the tests marked `nightly`: a few groups each. `make test` runs one slice for each commit.

A group is a test file, or a named part of one (tests/support/nightly.py). tests/nightly.json has the seconds of each
group. The slices follow from this file alone, so a commit has the same slices on every machine.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.bootstrap import CHECKOUT
from sandbox.errors import SandboxError

RECORDED = CHECKOUT / "tests" / "nightly.json"
SECONDS = 180.0
"""Goal for one slice, by the clock."""
PROCESSES = 2
"""Tests of a group may need one process in turn, so a slice holds the work of this many processes."""


def recorded(file: Path = RECORDED) -> dict[str, float]:
    """Seconds by group. Raises SandboxError if the file is missing or malformed."""
    try:
        found = json.loads(file.read_text())
        return {str(group): float(seconds) for group, seconds in found.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise SandboxError(f"{file} cannot be read.", why=str(error), fix="write it anew with `make slices`.") from None


def write(seconds: Mapping[str, float], file: Path = RECORDED) -> None:
    """Writes the seconds of each group, whole numbers of at least one, sorted by name."""
    whole = {group: max(1, round(value)) for group, value in sorted(seconds.items())}
    file.write_text(json.dumps(whole, indent=2) + "\n")


def slices(seconds: Mapping[str, float]) -> list[list[str]]:
    """The groups of each slice, of equal length as far as groups allow; each group is in one slice.

    The longest group goes first, to the process with the least work. A slice joins the longest process with the
    shortest one that is left.
    """
    if not seconds:
        return []
    count = -(-sum(seconds.values()) // (SECONDS * PROCESSES))
    processes: list[list[str]] = [[] for _ in range(int(count) * PROCESSES)]
    work = [0.0] * len(processes)
    for group in sorted(seconds, key=lambda group: (-seconds[group], group)):
        least = work.index(min(work))
        processes[least].append(group)
        work[least] += seconds[group]
    order = sorted(range(len(processes)), key=lambda number: (-work[number], number))
    pairs = [(order[at], order[-1 - at]) for at in range(len(order) // 2)]
    found = [sorted(group for number in pair for group in processes[number]) for pair in pairs]
    return [groups for groups in found if groups]


def of_commit(commit: str, count: int) -> int:
    """The slice of a commit, from 1 to `count`. commit: its hash in hexadecimal; empty for none: slice 1."""
    return int(commit, 16) % count + 1 if commit else 1


def head() -> str:
    """The hash of the checkout's commit, without uncommitted changes; "" for a folder without git's history."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def chosen(text: str, count: int) -> int:
    """The chosen number. Raises SandboxError if there is no such slice."""
    if text.isdecimal() and 1 <= int(text) <= count:
        return int(text)
    raise SandboxError(
        f"SLICE={text}: there is no such slice of the nightly tests.", fix=f"choose a number from 1 to {count}."
    )


def files(groups: Iterable[str]) -> list[str]:
    """The test files of these groups, each once, in order."""
    return sorted({group.partition("::")[0] for group in groups})


def has_nightly(group: str) -> bool:
    """Whether the file of the group is there and marks tests `nightly`."""
    file = CHECKOUT / group.partition("::")[0]
    return file.is_file() and "nightly" in file.read_text()


def regrouped(
    groups: Mapping[str, str], timed: Mapping[str, float], before: Mapping[str, float]
) -> tuple[dict[str, float], list[str]]:
    """The seconds of each group for tests/nightly.json, and the groups without a time.

    groups: by nightly test. timed: seconds by test, of runs on this machine. before: seconds by group, for groups
    with a test that no run on this machine has timed.
    """
    found: dict[str, float] = {}
    tests: dict[str, list[str]] = {}
    for test, group in groups.items():
        tests.setdefault(group, []).append(test)
    unknown = []
    for group, own in tests.items():
        if all(test in timed for test in own):
            found[group] = sum(timed[test] for test in own)
        elif group in before:
            found[group] = before[group]
        else:
            unknown.append(group)
    return found, unknown
