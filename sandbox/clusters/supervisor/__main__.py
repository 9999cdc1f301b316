"""PID 1 of a sandbox: `python -m sandbox.clusters.supervisor STATE`, started by spawn.py in its own namespaces.

It names the network namespaces, mounts directories of the inside, starts the processes of the plan, restarts those that
end, reaps orphans, and writes processes.json. SIGTERM stops everything in order. If it is killed, the kernel kills all
processes of its PID namespace. If its state directory disappears, it ends itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from sandbox.clusters.network.addresses import WAN
from sandbox.clusters.network.namespaces import NETNS, name_network
from sandbox.clusters.state import Layout, Processes, read, write
from sandbox.clusters.supervisor.child import Child
from sandbox.clusters.supervisor.plan import Plan
from sandbox.kernel import MS_BIND, MS_NODEV, MS_NOSUID, mount

_LOOK_PERIOD = 2.0  # seconds between two looks at the state directory
_RESOLVER = Path("/etc/resolv.conf")


def prepare(plan: Plan) -> None:
    """Makes mounts and network namespaces; all of them end with the mount namespace."""
    resolver = _RESOLVER.resolve()  # before /run is covered: it is often a link into /run
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64m")
    NETNS.mkdir(mode=0o755)
    name_network(WAN, new=False)
    for name in plan.networks:
        name_network(name, new=True)
    if plan.resolver:
        _use_resolver(resolver, plan.resolver)


def _use_resolver(target: Path, nameserver: str) -> None:
    own = Path("/run/resolv.conf")
    own.write_text(f"nameserver {nameserver}\noptions timeout:1 attempts:3\n")
    if target.is_relative_to("/run"):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    if target.exists():  # without one there is nothing to cover: the machine itself resolves no names
        mount(str(own), str(target), flags=MS_BIND)


class Supervisor:
    """Runs the children of one plan until it receives a stop."""

    def __init__(self, layout: Layout, plan: Plan) -> None:
        self.layout = layout
        self.children = {spec.name: Child(spec, layout.log(spec.name), self._report) for spec in plan.processes}
        self._stop = asyncio.Event()
        self._abandoned = False
        self._report_due = False

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._reap)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        tasks = [asyncio.create_task(child.run(self.children)) for child in self.children.values()]
        tasks.append(asyncio.create_task(self._look_after_state()))
        await self._stop.wait()
        if not self._abandoned:
            await self._stop_in_order(self.children.values())
            self._write()
        for task in tasks:
            task.cancel()

    async def _stop_in_order(self, children: Iterable[Child]) -> None:
        def stage(child: Child) -> int:
            return child.spec.stop_stage

        for _, group in groupby(sorted(children, key=stage), key=stage):
            await asyncio.gather(*(child.stop() for child in group))

    async def _look_after_state(self) -> None:
        while self.layout.supervisor.exists():
            await asyncio.sleep(_LOOK_PERIOD)
        self._abandoned = True  # the directory is gone, and with it the only way for `down` to stop this process
        self._stop.set()

    def _reap(self) -> None:
        """Collects every ended process, also grandchildren that were left to PID 1."""
        running = {child.pid: child for child in self.children.values() if child.pid is not None}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if child := running.get(pid):
                child.exited(status)

    def _report(self) -> None:
        """Writes the statuses soon; simultaneous changes are written once."""
        if not self._report_due:
            self._report_due = True
            asyncio.get_running_loop().call_later(0.02, self._write)

    def _write(self) -> None:
        self._report_due = False
        if self.layout.own.exists():
            write(self.layout.processes, Processes(processes=[child.status for child in self.children.values()]))


if __name__ == "__main__":
    state = Layout(Path(sys.argv[1]))
    found = read(state.plan, Plan)
    if found is None:
        sys.exit(f"{state.plan} is missing or unreadable")
    prepare(found)
    asyncio.run(Supervisor(state, found).run())
