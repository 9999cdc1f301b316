"""What `up` says while clusters start."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.clusters.readiness import wait_ready
from sandbox.clusters.state import Layout, Processes, ProcessStatus, write
from sandbox.errors import SandboxError

NAMES = [f"data-plane-{number}-apiserver" for number in range(200)]


def starting(state: Path, **process: Any) -> Any:
    """A sandbox of which no process is ready yet."""
    layout = Layout(state)
    layout.make()
    found = [ProcessStatus(name=name, phase="starting", since=0.0, **process) for name in NAMES]
    write(layout.processes, Processes(processes=found))
    alive = SimpleNamespace(identity=SimpleNamespace(alive=lambda: True))
    return SimpleNamespace(state=state, supervisor=alive, clusters={"data-plane": None})


class Seen(Exception):
    pass


def test_the_line_of_a_large_sandbox_names_a_few_of_what_it_waits_for(tmp_path: Path) -> None:
    def note(text: str) -> None:
        raise Seen(text)

    with pytest.raises(Seen) as caught:
        wait_ready(starting(tmp_path / "state"), note)
    assert str(caught.value) == f"waiting for {', '.join(NAMES[:3])} and 197 more"


def test_so_does_the_error_when_it_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, 40)
    monkeypatch.setattr("sandbox.clusters.readiness.time.monotonic", lambda: next(clock))
    with pytest.raises(SandboxError) as caught:
        wait_ready(starting(tmp_path / "state"), lambda _: None)
    assert caught.value.what == f"Not ready after 60 s: {', '.join(NAMES[:3])} and 197 more."
