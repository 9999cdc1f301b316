"""What the live tests start themselves begins sooner; the sandbox's own programs have an environment of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.environment import quickened


@pytest.fixture(scope="session", autouse=True)
def quick() -> Iterator[None]:
    """For the CLI and its plug-ins as `make up` runs them too. An ordinary user's commands do not see it."""
    before = dict(os.environ)
    # Not PYTHONPATH, which the sandbox's programs get too: some of them live for long, and have garbage to collect.
    os.environ.update({name: value for name, value in quickened({}).items() if name != "PYTHONPATH"})
    yield
    os.environ.clear()
    os.environ.update(before)
