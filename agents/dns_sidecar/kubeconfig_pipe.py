"""The kubeconfig of external-dns: a named pipe. Its content arrives when this replica may read the edge.

External-dns opens its kubeconfig before it builds its sources, and waits there. So a standby replica watches nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from .edge_proxy import EdgeProxy


def proxy_kubeconfig(port: int) -> str:
    """A kubeconfig with the proxy's address and no credential."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "edge", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "edge", "user": {}}],
            "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "edge"}}],
            "current-context": "edge",
        }
    )


def make_pipe(path: Path) -> None:
    """Creates the pipe, unless it exists."""
    if not path.exists():
        os.mkfifo(path, 0o600)


def serve_once(path: Path, text: str, ready: Callable[[], bool], activate: Callable[[], None]) -> None:
    """Writes text to one reader of the pipe, after `ready` returned true. `ready` itself waits."""
    with path.open("wb", buffering=0) as pipe:  # waits for a reader
        while not ready():
            pass
        # A later reader opens a new pipe: two readers of one pipe would share its content.
        fresh = path.with_suffix(".next")
        make_pipe(fresh)
        fresh.replace(path)
        activate()
        try:
            pipe.write(text.encode())
        except BrokenPipeError:
            print("proxy: external-dns exited before it read its kubeconfig", flush=True)


def serve(path: Path, port: int, proxy: EdgeProxy) -> None:
    """Writes the kubeconfig to each reader; never returns."""
    make_pipe(path)
    while True:
        serve_once(path, proxy_kubeconfig(port), proxy.ready, proxy.activate)
