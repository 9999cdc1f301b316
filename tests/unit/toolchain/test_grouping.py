"""Several processes of pytest: what shares something costly must not make it in each of them."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from sandbox.bootstrap import CHECKOUT

CONFTEST = """
from tests.support.grouping import pytest_configure_node, pytest_xdist_make_scheduler, write_groups

def pytest_collection_modifyitems(config, items):
    write_groups(config, items)
"""
TESTS = """
import os
import pytest

@pytest.mark.parametrize("name", [
    pytest.param(f"{group}-{number}", marks=pytest.mark.xdist_group(group)) for number in range(8) for group in "abc"
])
def test_it(name):
    with open(f"{name}.seen", "x") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"])
"""


def test_one_process_runs_all_tests_of_a_group(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    options = ["--numprocesses=2", "--dist=loadgroup", "--no-loadscope-reorder", f"--rootdir={tmp_path}"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    workers: dict[str, set[str]] = defaultdict(set)
    for file in tmp_path.glob("*.seen"):
        workers[file.name[0]].add(file.read_text())
    assert {group: len(found) for group, found in workers.items()} == {"a": 1, "b": 1, "c": 1}
    assert set.union(*workers.values()) == {"gw0", "gw1"}
