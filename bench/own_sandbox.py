"""Where a measurement's own sandbox lives: beside the one that people use, which is not disturbed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox import clusters


@contextmanager
def beside(state: Path) -> Iterator[Path]:
    """A folder on the disk of `state`, removed at the end, and with it the sandbox in its `state`."""
    state.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sandbox-bench-", dir=state.parent) as folder:
        try:
            yield Path(folder)
        finally:
            clusters.down(Path(folder) / "state")
