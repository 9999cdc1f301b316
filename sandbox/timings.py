"""Where the time of the tests went: by folder, and the slowest ones, read from pytest's JUnit reports."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SLOWEST = 30


@dataclass(frozen=True)
class Timing:
    """One test. seconds: with its fixtures, those of its module or session too when it was the first to need them."""

    file: str  # "tests/unit/test_lock.py"
    name: str
    seconds: float

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]


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
    return "\n".join([*lines, *(f"{one.seconds:10.1f}  {one.file}::{one.name}" for one in slowest)])
