"""Real tool chain, real clusters, real engine. Nothing here skips: what cannot be had fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import clusters, deployment, toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of two processes one runs all of a group, in order (pytest-xdist's loadgroup).

    A group is what shares something costly: one process deploys the mesh, a file's fixtures are made once.
    Engine tests claim names of their own, so each goes to whichever process is free unless its file says otherwise.
    """
    for item in items:
        path = item.path.relative_to(CHECKOUT).as_posix()
        if item.get_closest_marker("xdist_group"):
            continue
        if "live_sandbox" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("mesh"))
        elif not path.startswith("tests/engine/"):
            item.add_marker(pytest.mark.xdist_group(path))


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
    state = tmp_path_factory.mktemp("engine")
    try:
        yield clusters.up(state, tools, progress, nodes=False)
    finally:
        clusters.down(state)


@pytest.fixture(scope="session")
def live_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="session")
def live_sandbox(live_state: Path, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    """All that `make up` makes, in a state directory of its own: nodes, istiod, webhooks, a mesh."""
    try:
        sandbox = clusters.up(live_state, tools, progress)
        deployment.up(sandbox, tools, progress)
        yield sandbox
    finally:
        clusters.down(live_state)
