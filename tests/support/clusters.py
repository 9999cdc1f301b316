"""Clusters of a test's own, and administrators' clients of a sandbox's API servers."""

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
    """A sandbox, removed at the end, also after a failed start. how: options of `clusters.up`."""
    try:
        yield clusters.up(state, tools, progress, **how)
    finally:
        clusters.down(state)


def client_of(sandbox: Sandbox, name: str) -> Client:
    """Of the cluster of this name, by the sandbox's public kubeconfig."""
    return Client(config=KubeConfig.from_file(sandbox.kubeconfig).get(context_name=name), trust_env=False)
