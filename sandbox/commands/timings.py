"""Where the time of the tests went: by folder, and the slowest ones, read from pytest's JUnit reports.

The cache keeps the seconds of each test, and the next run begins with the longest group: a long group at the end would
leave the other processes idle.
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
NIGHTLY = "nightly"
UNKNOWN = 5.0
"""Assumed seconds of a test without a recorded time."""


@dataclass(frozen=True)
class Timing:
    """One test. seconds: with its fixtures, also those of its module or session if it is their first user."""

    file: str  # "tests/unit/test_lock.py"
    name: str
    seconds: float
    nightly: str = ""
    """The group of a test marked `nightly`."""

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]

    @property
    def test(self) -> str:
        """The test's id in pytest."""
        return f"{self.file}::{self.name}"


def read(reports: Iterable[Path]) -> list[Timing]:
    """Every test of these reports; a missing report (of a run that ended early) has none."""
    cases = [
        case
        for report in reports
        if report.exists()
        for case in ElementTree.parse(report).iter("testcase")  # noqa: S314 (written by our own pytest)
    ]
    return [
        Timing(
            f"{case.get('classname', '').replace('.', '/')}.py",
            case.get("name", ""),
            float(case.get("time", 0)),
            next((one.get("value", "") for one in case.iter("property") if one.get("name") == NIGHTLY), ""),
        )
        for case in cases
        if case.get("classname")  # a file with an import error is a case without a class name
    ]


def table(timings: Iterable[Timing]) -> str:
    """Seconds by folder in the order of the run, then the slowest tests; parallel tests count as their sum.

    Tests marked `nightly` have a row of their own.
    """
    timings = list(timings)
    folders: dict[str, list[float]] = defaultdict(list)
    for timing in timings:
        folders[NIGHTLY if timing.nightly else timing.folder].append(timing.seconds)
    lines = ["   seconds  tests  folder"]
    lines += [f"{sum(seconds):10.1f}  {len(seconds):5}  {folder}" for folder, seconds in folders.items()]
    lines += ["", f"   seconds  the {SLOWEST} slowest tests, fixtures included"]
    slowest = sorted(timings, key=lambda timing: -timing.seconds)[:SLOWEST]
    return "\n".join([*lines, *(f"{one.seconds:10.1f}  {one.test}" for one in slowest)])


def keep(timings: Iterable[Timing], file: Path | None = None, *, forget: bool = False) -> None:
    """Writes the seconds of each test, beside those of tests outside of this run.

    file: default: in the cache. forget: drop the tests outside of this run: it ran all that exist.
    """
    path = file or _kept()
    making = path.with_name(f".{path.name}.new")
    before = {} if forget else kept(path)
    making.write_text(json.dumps(before | {one.test: round(one.seconds, 1) for one in timings}, indent=0))
    making.replace(path)


def kept(file: Path | None = None) -> dict[str, float]:
    """Seconds by test, of the latest recorded runs; empty before the first, or when it cannot be read."""
    try:
        found: dict[str, float] = json.loads((file or _kept()).read_text())
    except (OSError, ValueError):
        return {}
    return found


def longest_first(groups: Mapping[str, str], seconds: Mapping[str, float]) -> list[str]:
    """Tests in the best order of their groups' starts; within a group they keep their order.

    groups: each test's, in the order of collection. seconds: by test; a test without counts `UNKNOWN`.
    """
    cost: dict[str, float] = defaultdict(float)
    for test, group in groups.items():
        cost[group] += seconds.get(test, UNKNOWN)
    places = {group: place for place, group in enumerate(dict.fromkeys(groups.values()))}
    return sorted(groups, key=lambda test: (-cost[groups[test]], places[groups[test]]))


def _kept() -> Path:
    return cache_dir() / "timings.json"
