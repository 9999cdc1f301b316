"""Real tool chain, real clusters, real engine. Nothing here skips: what cannot be had fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.commands.timings import kept, longest_first
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.support import grouping, nightly
from tests.support.clusters import started

SECONDS = "seconds_by_test"
pytest_xdist_make_scheduler = grouping.pytest_xdist_make_scheduler
pytest_addoption = nightly.pytest_addoption
pytest_runtest_setup = nightly.pytest_runtest_setup


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several processes one runs all of a group, in order (tests/support/grouping.py); long groups begin first.

    A group is what shares something costly: one process deploys the mesh, a file's fixtures are made once.
    The engine's tests claim names of their own, so each goes to whichever process is free unless its file says
    otherwise.
    """
    nightly.select(config, items)
    for item in items:
        path = item.path.relative_to(CHECKOUT).as_posix()
        if item.get_closest_marker("xdist_group"):
            continue
        if "live_sandbox" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("mesh"))
        elif not path.startswith("tests/engine/"):
            item.add_marker(pytest.mark.xdist_group(path))
    if hasattr(config, "workerinput"):  # one of several
        groups = {item.nodeid: grouping.group_of(item) for item in items}
        order = {test: place for place, test in enumerate(longest_first(groups, config.workerinput.get(SECONDS, {})))}
        items.sort(key=lambda item: order[item.nodeid])
    grouping.write_groups(config, items)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Read once for all processes, which have to agree on the order while another run may write."""
    node.workerinput[SECONDS] = _kept()
    grouping.pytest_configure_node(node)


@cache
def _kept() -> dict[str, float]:
    return kept()


@pytest.fixture(scope="session")
def progress() -> Progress:
    return Progress()


@pytest.fixture(scope="session")
def tools(progress: Progress) -> Tools:
    """The pinned tools; built on the first use on this machine."""
    return toolchain.ensure(progress=progress)


@pytest.fixture(scope="session")
def engine_sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    """Two real API servers without nodes: for what the engine does, no Pod has to run."""
    with started(tmp_path_factory.mktemp("engine"), tools, progress, nodes=False) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def live_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="session")
def live_sandbox(live_state: Path, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    """All that `make up` makes, in a state directory of its own: nodes, istiod, webhooks, a mesh."""
    with started(live_state, tools, progress) as sandbox:
        deployment.up(sandbox, tools, progress)
        yield sandbox
