"""Watches the start of a sandbox from the host: processes by the supervisor's report, API servers by their answers."""

from __future__ import annotations

import json
import ssl
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sandbox.clusters.running import Cluster, Sandbox
from sandbox.clusters.state import Layout, Processes, ProcessStatus, read
from sandbox.errors import SandboxError
from sandbox.progress import few

_POLL = 0.05  # seconds
_TIMEOUT = 60.0  # seconds for each cluster: a loaded machine with two slow cores needs 15
_FAILURES = 5  # of one process in a row, then the start fails
_LOG_LINES = 12


def wait_ready(sandbox: Sandbox, note: Callable[[str], None]) -> None:
    """Returns when every process is ready, every API server answers on the host and, if wanted, every node is Ready.

    note: receives the list of missing parts. Raises SandboxError with the end of the log of a process that keeps
    failing.
    """
    layout = Layout(sandbox.state)
    clusters = sandbox.clusters.values()
    patience = _TIMEOUT * len(clusters)
    deadline = time.monotonic() + patience
    awaited = ["supervisor"]
    while time.monotonic() < deadline:
        if not sandbox.supervisor.identity.alive():
            raise _failed(layout, "supervisor", "The sandbox's supervisor ended.")
        if report := read(layout.processes, Processes):
            for process in report.processes:
                if process.failures >= _FAILURES and not is_well(process):
                    raise _failed(layout, process.name, f"{process.name} keeps ending ({process.last_exit}).")
            awaited = [process.name for process in report.processes if not is_well(process)]
            awaited = awaited or [what for cluster in clusters for what in missing(sandbox, cluster)]
            if not awaited:
                return
        note(f"waiting for {few(awaited)}")
        time.sleep(_POLL)
    raise _failed(layout, awaited[0], f"Not ready after {patience:.0f} s: {few(awaited)}.")


def is_well(process: ProcessStatus) -> bool:
    return process.phase in ("ready", "done")


def missing(sandbox: Sandbox, cluster: Cluster) -> list[str]:
    """The parts that are not ready yet, in words."""
    found = []
    if not answers(cluster):
        return [f"{cluster.name}'s API server"]
    if _seen(cluster, "/api/v1/namespaces/default/serviceaccounts/default") is None:
        found.append(f"{cluster.name}'s default ServiceAccount")  # without it no Pod can be made
    for own in cluster.addresses.nodes if sandbox.supervisor.nodes else ():
        node = _seen(cluster, f"/api/v1/nodes/{own.name}")
        if node is None or not node_ready(json.loads(node), since=sandbox.supervisor.started):
            found.append(own.name)
    return found


def node_ready(node: dict[str, Any], *, since: float) -> bool:
    """Whether a Node has been Ready since that Unix time: an earlier status may be from before a restart."""
    return any(
        one["type"] == "Ready"
        and one["status"] == "True"
        # Whole seconds, so a heartbeat of the very second may be older than `since`.
        and datetime.fromisoformat(one["lastHeartbeatTime"]).timestamp() >= int(since)
        for one in node["status"].get("conditions", [])
    )


def answers(cluster: Cluster) -> bool:
    """True when the API server reports on the host's address that it is ready."""
    return _seen(cluster, "/readyz") is not None


def _seen(cluster: Cluster, path: str) -> str | None:
    try:
        return get_text(cluster, path, seconds=2)
    except OSError:  # refused, not listening yet, or forbidden until the roles exist
        return None


def get_text(cluster: Cluster, path: str, *, seconds: float = 15) -> str:
    """A page of the API server, `/metrics` for one, as its administrator. Raises OSError unless it answers 200.

    Without an HTTP library: its import would take longer than the whole rest of adopting a running sandbox.
    """
    tls = ssl.create_default_context(cafile=str(cluster.certificate_authority))
    tls.load_cert_chain(*cluster.administrator)
    # Never through a proxy.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))
    with opener.open(cluster.server + path, timeout=seconds) as answer:
        return str(answer.read().decode())


def _failed(layout: Layout, process: str, what: str) -> SandboxError:
    log = layout.log(process)
    lines = log.read_text(errors="replace").splitlines()[-_LOG_LINES:] if log.exists() else []
    return SandboxError(what, why="\n".join(dict.fromkeys(lines)), fix=f"read {log}, then `make down` and `make up`.")
