"""What `test` says of the time: read from reports as pytest writes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.commands import selection
from sandbox.commands.selection import side_by_side
from sandbox.commands.timings import SLOWEST, UNKNOWN, Timing, keep, kept, longest_first, read, table


def test_a_report_of_pytest_is_read_by_folder_and_slowest_first(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text(
        "import time, pytest\n"
        "@pytest.fixture\ndef slow():\n    time.sleep(0.3)\n"
        "def test_fast(): pass\n"
        "@pytest.mark.parametrize('a', ['x.y/z'])\ndef test_slow(slow, a): assert 0\n"
    )
    (folder / "test_broken.py").write_text("import no_such_module\n")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    command += ["--continue-on-collection-errors", "--import-mode=importlib", f"--junit-xml={report}", "tests"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False).returncode == 1

    found = {one.name: one for one in read([report, tmp_path / "never-written.xml"])}
    assert set(found) == {"test_fast", "test_slow[x.y/z]"}
    slow = found["test_slow[x.y/z]"]
    assert (slow.file, slow.folder) == ("tests/unit/test_one.py", "tests/unit")
    assert slow.seconds >= 0.3


def test_the_table_sums_up_folders_and_names_the_slowest() -> None:
    timings = [Timing("tests/unit/test_a.py", f"test_{number}", number) for number in range(40)]
    lines = table([*timings, Timing("tests/live/test_b.py", "test_b", 39.5)]).splitlines()
    assert [line.split() for line in lines[1:3]] == [["780.0", "40", "tests/unit"], ["39.5", "1", "tests/live"]]
    slowest = lines[5:]
    assert len(slowest) == SLOWEST
    assert slowest[0].split() == ["39.5", "tests/live/test_b.py::test_b"]
    assert slowest[1].split() == ["39.0", "tests/unit/test_a.py::test_39"]


def test_what_took_longest_begins_first_and_a_group_stays_in_its_order(tmp_path: Path) -> None:
    file = tmp_path / "timings.json"
    assert kept(file) == {}
    keep([Timing("tests/live/test_a.py", "test_1", 2), Timing("tests/live/test_b.py", "test_2", 60)], file)
    groups = {
        "tests/live/test_a.py::test_1": "a",
        "tests/live/test_new.py::test_1": "new",
        "tests/live/test_new.py::test_2": "new",
        "tests/live/test_b.py::test_1": "b",
        "tests/live/test_a.py::test_0": "a",
        "tests/live/test_b.py::test_2": "b",
    }
    assert 2 < UNKNOWN < 60
    found = [test.removeprefix("tests/live/test_") for test in longest_first(groups, kept(file))]
    assert found == ["b.py::test_1", "b.py::test_2", "new.py::test_1", "new.py::test_2", "a.py::test_1", "a.py::test_0"]
    file.write_text("{")
    assert kept(file) == {}


def test_whole_folders_are_shared_by_processes_and_what_is_chosen_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "memory", lambda: 16 * 10**9)
    shared = ["--dist=loadgroup", "--no-loadscope-reorder"]
    assert side_by_side(["tests/unit"], []) == ["--numprocesses=2", *shared]
    assert side_by_side(["tests/engine"], []) == ["--numprocesses=3", *shared]
    assert side_by_side(["tests/unit/test_lock.py"], []) == []
    assert side_by_side(["tests/unit"], ["-x"]) == []
    assert side_by_side(["tests/unit/test_lock.py::test_x"], []) == []
    monkeypatch.setattr(selection, "memory", lambda: 8 * 10**9)
    assert side_by_side(["tests/live"], []) == ["--numprocesses=2", *shared], "as many as have room"
    monkeypatch.setattr(selection, "memory", lambda: 2 * 10**9)
    assert side_by_side(["tests/live"], []) == ["--numprocesses=1", *shared]
