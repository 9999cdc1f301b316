"""The tools of clusters without nodes: the engine's tests do not wait for those of a mesh that serves traffic."""

from __future__ import annotations

import pytest

from sandbox import toolchain
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_ENGINE


@pytest.fixture(scope="session")
def tools(progress: Progress) -> Tools:
    """The pinned tools, built on the first use on this machine."""
    return toolchain.ensure(FOR_ENGINE, progress=progress)
