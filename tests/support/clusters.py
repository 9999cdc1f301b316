"""Clusters of a test's own, and a sandbox's API servers as the tests' administrator asks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightkube import Client, KubeConfig

from sandbox import clusters
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools


@contextmanager
def started(state: Path, tools: Tools, progress: Progress, **how: Any) -> Iterator[Sandbox]:
    """A sandbox that is removed at the end, also where its start fails. how: as `clusters.up` has it."""
    try:
        yield clusters.up(state, tools, progress, **how)
    finally:
        clusters.down(state)


def client_of(sandbox: Sandbox, name: str) -> Client:
    """Of the cluster of this name, by the kubeconfig that people use."""
    return Client(config=KubeConfig.from_file(sandbox.kubeconfig).get(context_name=name), trust_env=False)
