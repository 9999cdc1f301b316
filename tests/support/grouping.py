"""Tests of a group (the marker `xdist_group`) in one of several processes, in order: hooks of a conftest.

pytest-xdist's own way, `--dist=loadgroup`, adds the group to each test's id. pytest 9.2 no longer allows that: xdist
then has no groups and prints no warning. So here each process records its tests' groups, and the scheduler reads them.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

_PLACE = "place_of_groups"


def group_of(item: pytest.Item) -> str:
    """The test's own id when it has no group: such a test goes to any free process."""
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else item.nodeid


def write_groups(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For the scheduler, from a process that has collected its tests and set their markers."""
    if own := getattr(config, "workerinput", None):
        file = Path(own[_PLACE]) / f"{own['workerid']}.json"
        file.write_text(json.dumps({item.nodeid: group_of(item) for item in items}))


class ByGroup(LoadScopeScheduling):
    """A process treats a group like a module with `--dist=loadscope`."""

    @cached_property
    def _groups(self) -> dict[str, str]:
        """First called when every process has collected the same tests."""
        file = next(_place().iterdir())
        found: dict[str, str] = json.loads(file.read_text())
        return found

    def _split_scope(self, nodeid: str) -> str:
        return self._groups[nodeid]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[_PLACE] = str(_place())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup | None:
    return ByGroup(config, log) if config.getvalue("dist") == "loadgroup" else None


@cache
def _place() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="hosted-mesh-groups-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
