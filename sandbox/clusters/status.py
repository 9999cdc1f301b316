"""What runs at this moment: the supervisor by its identity, processes as reported, API servers as they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.clusters.readiness import answers
from sandbox.clusters.running import Sandbox
from sandbox.clusters.state import Layout, Mode, Processes, ProcessStatus, read


@dataclass(frozen=True)
class Status:
    """running: the supervisor lives. mode, pid (on the host) and nodes say nothing unless it does.

    less_real: one line on what this mode cannot do, empty for `root`. refused: ways with more to them that this machine
    did not allow, each with what the kernel or a tool said. answering: whether each API server answers now. processes:
    the supervisor's last report; of a sandbox that crashed, none.
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
    """Asks each API server, so it takes up to 2 s for each that does not answer."""
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
    """What is less real than with root, in one line for people; empty when nothing is."""
    if mode == "root":
        return ""
    if uid_range:
        return "rootless: users of Pods are this user's subordinate ids"
    return (
        "rootless with one user: all Pods run as that user, so the proxy's traffic is told by a mark and not by its "
        "user, and an application's own calls to port 15012 are not captured"
    )
