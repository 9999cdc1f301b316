"""Watches a sandbox come up, from the host: processes as the supervisor reports them, API servers as they answer."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from sandbox.clusters.running import Cluster, Sandbox
from sandbox.clusters.state import Layout, Processes, ProcessStatus, read
from sandbox.errors import SandboxError

_POLL = 0.05  # seconds
_TIMEOUT = 120.0  # seconds: a loaded machine with two slow cores needs 30
_RESTARTS = 5  # of one process before it is given up
_LOG_LINES = 12


def wait_ready(sandbox: Sandbox, note: Callable[[str], None]) -> None:
    """Returns when every process is ready and both API servers answer on the host.

    note: called with what is still awaited. Raises SandboxError with the end of its log when a process keeps failing.
    """
    layout = Layout(sandbox.state)
    deadline = time.monotonic() + _TIMEOUT
    awaited = ["the supervisor"]
    while time.monotonic() < deadline:
        if not sandbox.supervisor.identity.alive():
            raise _failed(layout, "supervisor", "The sandbox's supervisor ended.")
        if report := read(layout.processes, Processes):
            for process in report.processes:
                if process.restarts >= _RESTARTS:
                    raise _failed(layout, process.name, f"{process.name} keeps ending ({process.last_exit}).")
            awaited = [process.name for process in report.processes if not is_well(process)]
            awaited += [] if awaited else [c.name for c in sandbox.clusters.values() if not answers(c)]
            if not awaited:
                return
        note("waiting for " + ", ".join(awaited))
        time.sleep(_POLL)
    raise _failed(layout, awaited[0], f"Not ready after {_TIMEOUT:.0f} s: {', '.join(awaited)}.")


def is_well(process: ProcessStatus) -> bool:
    return process.phase in ("ready", "done")


def answers(cluster: Cluster) -> bool:
    """True when the API server says on the host's address that it is ready."""
    try:
        tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(cluster.certificate_authority)))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), tls)  # never through a proxy
        with opener.open(f"{cluster.server}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _failed(layout: Layout, process: str, what: str) -> SandboxError:
    log = layout.log(process)
    lines = log.read_text(errors="replace").splitlines()[-_LOG_LINES:] if log.exists() else []
    return SandboxError(what, why="\n".join(lines), fix=f"read {log}, then `make down` and `make up`.")
