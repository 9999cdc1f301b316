"""The application without engine and network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.controller.service import Service


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service.make(tmp_path)
