"""A measurement's own sandbox, beside the user's and without effect on it, and commands for it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

from sandbox import clusters
from sandbox.clusters import Cluster
from sandbox.errors import SandboxError
from sandbox.toolchain import Tools

T = TypeVar("T")


@contextmanager
def beside(state: Path) -> Iterator[Path]:
    """A folder on the disk of `state`, removed at the end, and with it the sandbox in its `state`."""
    state.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sandbox-bench-", dir=state.parent) as folder:
        try:
            yield Path(folder)
        finally:
            clusters.down(Path(folder) / "state")


def run(tools: Tools, tool: str, *arguments: str, given: Iterable[Mapping[str, Any]] = ()) -> str:
    """The output of a tool. given: objects for its standard input. Raises SandboxError when it fails."""
    command = [str(tools[tool]), *arguments]
    text: str = yaml.safe_dump_all(given)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SandboxError(f"`{tool} {arguments[0]}` failed during the measurement.", why=done.stderr)
    return done.stdout


def kubectl(tools: Tools, cluster: Cluster, *arguments: str, given: Iterable[Mapping[str, Any]] = ()) -> str:
    """As a cluster's administrator."""
    return run(tools, "kubectl", *arguments, f"--kubeconfig={cluster.kubeconfig}", given=given)


def until(look: Callable[[], T], what: str, *, seconds: float, every: float) -> T:
    """The first non-empty answer of `look`. `what`: its name in the error. Raises SandboxError after that time."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise SandboxError(f"After {seconds:g} s still missing: {what}. The measurement ends.")
        time.sleep(every)
    return found
