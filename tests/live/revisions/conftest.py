"""Steady traffic on the mesh of a test file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.revisions.counting import GATEWAY, flowing
from tests.live.revisions.mesh_of_versions import Mesh
from tests.live.revisions.steady_traffic import Traffic


@pytest.fixture(scope="module")
def traffic(mesh: Mesh, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    made = Traffic(mesh, tmp_path_factory.mktemp("counts"), GATEWAY)
    with made.running():
        flowing(made)
        yield made
