"""Where the time of the tests went: by folder, and the slowest ones, read from pytest's JUnit reports.

What a whole run took is kept in the cache, and the next one begins with what takes longest: a long group of tests that
comes last would leave the other processes idle.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.cache import cache_dir

SLOWEST = 30
UNKNOWN = 5.0
"""Seconds that a test is taken to need which no run has timed."""


@dataclass(frozen=True)
class Timing:
    """One test. seconds: with its fixtures, those of its module or session too when it was the first to need them."""

    file: str  # "tests/unit/test_lock.py"
    name: str
    seconds: float

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]

    @property
    def test(self) -> str:
        """As pytest calls it."""
        return f"{self.file}::{self.name}"


def read(reports: Iterable[Path]) -> list[Timing]:
    """Every test of these reports; a report that pytest did not come to write has none."""
    cases = [
        case
        for report in reports
        if report.exists()
        for case in ElementTree.parse(report).iter("testcase")  # noqa: S314 (written by our own pytest a moment ago)
    ]
    return [
        Timing(f"{case.get('classname', '').replace('.', '/')}.py", case.get("name", ""), float(case.get("time", 0)))
        for case in cases
        if case.get("classname")  # a file that cannot be imported is a case too, without one
    ]


def table(timings: Iterable[Timing]) -> str:
    """Seconds by folder in the order of the run, then the slowest tests; of tests side by side the sum."""
    timings = list(timings)
    folders: dict[str, list[float]] = defaultdict(list)
    for timing in timings:
        folders[timing.folder].append(timing.seconds)
    lines = ["   seconds  tests  folder"]
    lines += [f"{sum(seconds):10.1f}  {len(seconds):5}  {folder}" for folder, seconds in folders.items()]
    lines += ["", f"   seconds  the {SLOWEST} slowest tests, fixtures included"]
    slowest = sorted(timings, key=lambda timing: -timing.seconds)[:SLOWEST]
    return "\n".join([*lines, *(f"{one.seconds:10.1f}  {one.test}" for one in slowest)])


def keep(timings: Iterable[Timing], file: Path | None = None) -> None:
    """Writes down what each test took, in place of what the run before took. file: default: in the cache."""
    path = file or _kept()
    making = path.with_name(f".{path.name}.new")
    making.write_text(json.dumps({one.test: round(one.seconds, 1) for one in timings}, indent=0))
    making.replace(path)


def kept(file: Path | None = None) -> dict[str, float]:
    """Seconds by test, of the last run that was kept; nothing before the first, or when it cannot be read."""
    try:
        found: dict[str, float] = json.loads((file or _kept()).read_text())
    except (OSError, ValueError):
        return {}
    return found


def longest_first(groups: Mapping[str, str], seconds: Mapping[str, float]) -> list[str]:
    """Tests in the order in which their groups should begin; within a group they stay in theirs.

    groups: each test's, in the order of collection. seconds: by test; one that is not there counts `UNKNOWN`.
    """
    cost: dict[str, float] = defaultdict(float)
    for test, group in groups.items():
        cost[group] += seconds.get(test, UNKNOWN)
    places = {group: place for place, group in enumerate(dict.fromkeys(groups.values()))}
    return sorted(groups, key=lambda test: (-cost[groups[test]], places[groups[test]]))


def _kept() -> Path:
    return cache_dir() / "timings.json"
