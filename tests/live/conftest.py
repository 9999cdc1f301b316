"""What the live tests start themselves begins sooner; the sandbox's own programs have an environment of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandbox import toolchain
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_GRAPHS
from tests.support.environment import quickened


@pytest.fixture(scope="session")
def tools(progress: Progress) -> Tools:
    """Those of `make up`, and Prometheus and Kiali, which a node runs as Pods."""
    return toolchain.ensure(also={"prometheus", *FOR_GRAPHS}, progress=progress)


@pytest.fixture(scope="session", autouse=True)
def quick() -> Iterator[None]:
    """For the CLI and its plug-ins as `make up` runs them too. An ordinary user's commands do not see it."""
    before = dict(os.environ)
    os.environ.update(quickened({}))
    yield
    os.environ.clear()
    os.environ.update(before)
