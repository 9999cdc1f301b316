"""The marker `nightly` in runs of pytest: which tests are left out, kept, reported, and what has no slice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.bootstrap import CHECKOUT
from sandbox.commands.timings import read
from tests.support.nightly import all_but, one_in

CONFTEST = """
from tests.support import grouping, nightly

pytest_addoption = nightly.pytest_addoption
pytest_runtest_setup = nightly.pytest_runtest_setup
pytest_xdist_make_scheduler = grouping.pytest_xdist_make_scheduler
pytest_configure_node = grouping.pytest_configure_node

def pytest_configure(config):
    config.addinivalue_line("markers", "nightly(part): as in pyproject.toml")

def pytest_collection_modifyitems(config, items):
    nightly.select(config, items)
    grouping.write_groups(config, items)
"""
TESTS = """
import pytest
from tests.support.nightly import one_in

def test_daily(): pass

@pytest.mark.nightly
def test_rest(): pass

@pytest.mark.parametrize("number", one_in(3, range(6), "numbers"))
def test_many(number): pass
"""
REST, NUMBERS = "tests/unit/test_it.py", "tests/unit/test_it.py::numbers"
DAILY = {"test_daily", "test_many[0]", "test_many[3]"}
MANY = {"test_many[1]", "test_many[2]", "test_many[4]", "test_many[5]"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    # Each of 300 seconds: two slices.
    (tmp_path / "tests" / "nightly.json").write_text(json.dumps({REST: 300, NUMBERS: 301}))
    return tmp_path


def run(project: Path, *options: str) -> tuple[int, set[str], str]:
    """The exit code, the tests that ran, and the output."""
    report = project / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "tests"]
    command += ["--import-mode=importlib", f"--rootdir={project}", f"--junit-xml={report}", *options]
    environment = {"PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, {one.name for one in read([report])}, done.stdout + done.stderr


def test_without_options_all_tests_run_and_nightly_ones_are_reported_with_their_group(project: Path) -> None:
    code, ran, _ = run(project)
    assert (code, ran) == (0, DAILY | MANY | {"test_rest"})
    groups = {one.name: one.nightly for one in read([project / "report.xml"])}
    assert groups == dict.fromkeys(DAILY, "") | dict.fromkeys(MANY, NUMBERS) | {"test_rest": REST}


@pytest.mark.parametrize("processes", [[], ["--numprocesses=2", "--dist=loadgroup", "--no-loadscope-reorder"]])
def test_a_run_leaves_nightly_tests_out_or_keeps_those_of_its_slice(project: Path, processes: list[str]) -> None:
    assert run(project, "--nightly=leave", *processes)[:2] == (0, DAILY)
    only = ("-m", "nightly", *processes)
    assert run(project, "--nightly=1", *only)[:2] == (0, MANY)
    assert run(project, "--nightly=2", *only)[:2] == (0, {"test_rest"})


def test_a_nightly_test_in_no_slice_fails_in_each_run(project: Path) -> None:
    (project / "tests" / "nightly.json").write_text(json.dumps({REST: 300}))
    for options in (["--nightly=leave"], ["--nightly=1", "-m", "nightly"], ["--nightly=leave", "--numprocesses=2"]):
        code, _, printed = run(project, *options)
        assert code == 1
        assert f"The nightly group {NUMBERS} is in no slice." in printed
        assert "make slices" in printed


def test_groups_are_written_for_the_record(project: Path) -> None:
    file = project / "groups.json"
    assert run(project, "--collect-only", "-m", "nightly", f"--nightly-groups={file}")[0] == 0
    found = json.loads(file.read_text())
    assert found == {f"{REST}::{name}": NUMBERS for name in MANY} | {f"{REST}::test_rest": REST}


def test_most_cases_of_a_list_are_marked() -> None:
    def daily(values: list[Any]) -> list[object]:
        return [param.values[0] for param in values if not param.marks]

    assert daily(one_in(4, "abcdefghi")) == ["a", "e", "i"]
    assert daily(one_in(2, ["a", "a", "a"])) == ["a", "a"]
    assert daily(all_but({"b"}, "abc")) == ["b"]
    assert daily(all_but(str.isupper, "aBc", "part")) == ["B"]
    assert [mark.args for param in all_but({"b"}, "ab", "part") for mark in param.marks] == [("part",)]
