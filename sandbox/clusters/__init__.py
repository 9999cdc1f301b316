"""Real Kubernetes clusters on one machine, as many as a topology lists, each with a network of its own.

`up` starts or adopts them, `load` finds running ones, `status` reports on them, `down` removes them.
`stop` ends them and keeps their data; `copy` makes another sandbox of that data; `up` starts either again.
Everything runs under one supervisor, PID 1 of a PID namespace; networks and mounts live and die with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.clusters.copying import duplicate
from sandbox.clusters.readiness import wait_ready
from sandbox.clusters.running import Cluster, Sandbox
from sandbox.clusters.shutdown import end, remove
from sandbox.clusters.state import Layout, ProcessStatus, Settings, read, running
from sandbox.clusters.status import Status, observe
from sandbox.clusters.topology import ClusterSpec, Topology
from sandbox.errors import SandboxError
from sandbox.lock import locked

if TYPE_CHECKING:
    from sandbox.clusters.processes.table import Tools
    from sandbox.progress import Progress

__all__ = [
    "Cluster",
    "ClusterSpec",
    "ProcessStatus",
    "Sandbox",
    "SandboxError",
    "Status",
    "Topology",
    "copy",
    "down",
    "load",
    "status",
    "stop",
    "up",
]


def up(
    state: Path,
    tools: Tools,
    progress: Progress,
    *,
    topology: Topology | None = None,
    nodes: bool = True,
    programs: Collection[str] = (),
) -> Sandbox:
    """Starts the sandbox of this state directory, or adopts the running one; returns when everything is ready.

    state: made if missing, mode 0700. tools: executables by name. topology: the clusters; default: those of the state
    directory, else `Topology.of(2)`; a topology with more clusters after the present ones adds them by a restart.
    nodes: False leaves out networks, DNS, scheduler and node agents, for tests that use API servers only; a call with
    True restarts a running sandbox that lacks them. programs: tools that Pods need; a running sandbox whose nodes have
    been started without one of them is restarted with it.

    Waits for a sandbox that an interrupted `up` left half-started. After a crash or a reboot the sandbox starts with
    its former data. Raises SandboxError when the machine forbids it or a process does not get ready.
    """
    layout = Layout(state.absolute())
    with progress.step("start the clusters") as step, _held(layout, step.note):
        found = running(layout)
        before = read(layout.settings, Settings)
        wanted = _together(before.topology if before else None, topology)
        same = found and before and before.topology == wanted and (found.nodes or not nodes)
        if found and same and (not found.nodes or _nodes_have(layout, wanted, programs)):
            step.skip("already running")
        else:
            if found:
                step.note("stopping the sandbox to start it again with more clusters or programs")
                nodes = nodes or found.nodes
                end(found)
            # Not at module level: every program of this package imports this file, and most need no X.509.
            from sandbox.clusters.starting import start  # noqa: PLC0415

            start(layout, wanted, tools, nodes=nodes)
        sandbox = Sandbox.load(layout.root)
        if sandbox is None:
            raise SandboxError("The sandbox ended during its start.", fix=f"read {layout.log('supervisor')}.")
        wait_ready(sandbox, step.note)
    return sandbox


def load(state: Path) -> Sandbox | None:
    """The sandbox of this state directory if it runs, else None."""
    return Sandbox.load(state)


def status(state: Path) -> Status:
    """The state of the sandbox at this moment, as observed."""
    return observe(Layout(state.absolute()))


def stop(state: Path) -> None:
    """Stops everything in order and keeps all data; `up` continues from it. Does nothing when no sandbox runs."""
    layout = Layout(state.absolute())
    if layout.own.exists():
        with _held(layout):
            if found := running(layout):
                end(found)


def copy(state: Path, target: Path) -> None:
    """Copies the whole state directory of a stopped sandbox to `target`; `up` starts either.

    If both run, the copy gets ports of its own on the host. Raises SandboxError if the sandbox runs, or if `target`
    exists.
    """
    layout = Layout(state.absolute())
    with _held(layout):
        if running(layout):
            raise SandboxError(f"The sandbox in {state} runs, so it cannot be copied.", fix="stop it first.")
        duplicate(layout, Layout(target.absolute()))


def down(state: Path) -> None:
    """Stops everything in order and removes the clusters' files; also the state directory if nothing else is in it.

    Does the same after a crash. Does nothing for a state directory without clusters.
    """
    layout = Layout(state.absolute())
    if not layout.own.exists():
        return
    with _held(layout):
        if found := running(layout):
            end(found)
        remove(layout)


def _together(present: Topology | None, wanted: Topology | None) -> Topology:
    """The larger of the wanted and the present topology, if one begins with the other."""
    if present is None or wanted is None:
        return wanted or present or Topology.of()
    if present.begins_with(wanted):
        return present
    if wanted.begins_with(present):
        return wanted
    raise SandboxError(
        "This sandbox has other clusters.",
        why=f"it has {present}; requested: {wanted}. You can add clusters after the present ones, not change them.",
        fix="`make down` first, or choose another state directory.",
    )


def _nodes_have(layout: Layout, topology: Topology, programs: Collection[str]) -> bool:
    """Whether the folder of programs that the nodes were started with has these."""
    if not programs:
        return True
    # As above: most programs that import this file need no X.509.
    from sandbox.clusters.network.addresses import addresses_of  # noqa: PLC0415
    from sandbox.clusters.processes.node_config import config_path  # noqa: PLC0415

    configs = [config_path(layout, one, node) for one in addresses_of(topology).values() for node in one.nodes]
    folders = {Path(json.loads(path.read_text())["bin_dir"]) for path in configs}
    return all((folder / name).exists() for folder in folders for name in programs)


def _held(layout: Layout, waiting: Callable[[str], None] = lambda _: None) -> AbstractContextManager[int]:
    """Holds the state directory for one `up` or `down`; waits for another process that holds it."""
    return locked(layout.lock, waiting, make_folder=layout.make)
