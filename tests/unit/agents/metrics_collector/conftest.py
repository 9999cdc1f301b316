"""Two meshes with an authority each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.agents.metrics_collector.collecting import Mesh


@pytest.fixture
def mesh(tmp_path: Path) -> Mesh:
    return Mesh("a", tmp_path / "a")


@pytest.fixture
def other(tmp_path: Path) -> Mesh:
    return Mesh("b", tmp_path / "b")
