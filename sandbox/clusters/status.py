"""The sandbox's status now: supervisor by identity, processes by its report, API servers by their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.clusters.readiness import answers
from sandbox.clusters.running import Sandbox
from sandbox.clusters.state import Layout, Mode, Processes, ProcessStatus, read


@dataclass(frozen=True)
class Status:
    """running: the supervisor lives; mode, pid (on the host) and nodes are meaningful only then.

    less_real: one line on the limits of this mode, empty for `root`. refused: more complete modes that this machine
    forbids, each with the error of the kernel or a tool. answering: whether each API server answers now. processes:
    the supervisor's latest report; empty for a crashed sandbox.
    """

    running: bool
    mode: Mode | None = None
    pid: int | None = None
    nodes: bool = False
    less_real: str = ""
    refused: tuple[str, ...] = ()
    answering: Mapping[str, bool] | None = None
    processes: tuple[ProcessStatus, ...] = ()


def observe(layout: Layout) -> Status:
    """Calls each API server; each one that does not answer takes 2 s."""
    sandbox = Sandbox.load(layout.root)
    if sandbox is None:
        return Status(running=False)
    report = read(layout.processes, Processes)
    return Status(
        running=True,
        mode=sandbox.mode,
        pid=sandbox.supervisor.identity.pid,
        nodes=sandbox.supervisor.nodes,
        less_real=less_real(sandbox.mode, uid_range=sandbox.supervisor.uid_range),
        refused=tuple(sandbox.supervisor.refused),
        answering={name: answers(cluster) for name, cluster in sandbox.clusters.items()},
        processes=tuple(report.processes) if report else (),
    )


def less_real(mode: Mode, *, uid_range: bool) -> str:
    """The differences to a sandbox of root, in one line for people; empty when there are none."""
    if mode == "root":
        return ""
    if uid_range:
        return "rootless: users of Pods are this user's subordinate ids"
    return (
        "rootless with one user: all Pods run as that user, so a mark and not a user identifies the proxy's traffic, "
        "and an application's own calls to port 15012 are not captured"
    )
