"""Real Kubernetes clusters on one machine, as many as a topology says, each with a network of its own.

`up` starts them or adopts running ones, `load` finds running ones, `status` says what runs, `down` removes it all.
`stop` ends them and keeps their data, of which `copy` makes another sandbox; `up` starts either again.
Everything runs under one supervisor, PID 1 of a PID namespace; networks and mounts live and die with it.
"""

from __future__ import annotations

from collections.abc import Callable
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
) -> Sandbox:
    """Starts the sandbox of this state directory, or adopts the one that runs; returns when everything is ready.

    state: made if missing, mode 0700. tools: executables by name. topology: which clusters; default: those that the
    state directory has, else `Topology.of(2)`; one with more clusters after the present ones adds them by a restart.
    nodes: False leaves out networks, DNS, scheduler and node agents (for tests that only talk to API servers); a
    running sandbox without them is restarted when they are wanted.

    A sandbox that an interrupted `up` left half-way is waited for. After a crash or a reboot it starts again on the
    data it had. Raises SandboxError when the machine does not allow it or a process does not get ready.
    """
    layout = Layout(state.absolute())
    with progress.step("start the clusters") as step, _held(layout, step.note):
        found = running(layout)
        before = read(layout.settings, Settings)
        wanted = _together(before.topology if before else None, topology)
        if found and before and before.topology == wanted and (found.nodes or not nodes):
            step.skip("already running")
        else:
            if found:
                step.note("stopping the sandbox, to start it again with more")
                nodes = nodes or found.nodes
                end(found)
            # Not above: every program of this package is loaded through this file, and most need no X.509.
            from sandbox.clusters.starting import start  # noqa: PLC0415

            start(layout, wanted, tools, nodes=nodes)
        sandbox = Sandbox.load(layout.root)
        if sandbox is None:
            raise SandboxError("The sandbox ended while it was started.", fix=f"read {layout.log('supervisor')}.")
        wait_ready(sandbox, step.note)
    return sandbox


def load(state: Path) -> Sandbox | None:
    """The sandbox of this state directory if it runs, else None."""
    return Sandbox.load(state)


def status(state: Path) -> Status:
    """What runs, as observed at this moment."""
    return observe(Layout(state.absolute()))


def stop(state: Path) -> None:
    """Ends everything in order and keeps all data: `up` goes on from there. Nothing happens when nothing runs."""
    layout = Layout(state.absolute())
    if layout.own.exists():
        with _held(layout):
            if found := running(layout):
                end(found)


def copy(state: Path, target: Path) -> None:
    """Makes another sandbox of a stopped one, with all that lies in its state directory; `up` starts either.

    It gets ports of its own on the host if the first one runs when it is started. Raises SandboxError if the sandbox
    runs, or if there is something at `target`.
    """
    layout = Layout(state.absolute())
    with _held(layout):
        if running(layout):
            raise SandboxError(f"The sandbox in {state} runs, so it cannot be copied.", fix="stop it first.")
        duplicate(layout, Layout(target.absolute()))


def down(state: Path) -> None:
    """Stops everything in order and removes this room's files; with nothing left in it, the state directory too.

    Does the same after a crash, and nothing when there is nothing.
    """
    layout = Layout(state.absolute())
    if not layout.own.exists():
        return
    with _held(layout):
        if found := running(layout):
            end(found)
        remove(layout)


def _together(present: Topology | None, wanted: Topology | None) -> Topology:
    """The larger of the two: what is wanted may be there already, or begin with what is there."""
    if present is None or wanted is None:
        return wanted or present or Topology.of()
    if present.begins_with(wanted):
        return present
    if wanted.begins_with(present):
        return wanted
    raise SandboxError(
        "This sandbox has other clusters.",
        why=f"there are {present}; wanted are {wanted}. Clusters can be added after those that are there, not changed.",
        fix="`make down` first, or choose another state directory.",
    )


def _held(layout: Layout, waiting: Callable[[str], None] = lambda _: None) -> AbstractContextManager[int]:
    """Holds the state directory for one `up` or `down`; another that holds it is waited for."""
    return locked(layout.lock, waiting, make_folder=layout.make)
