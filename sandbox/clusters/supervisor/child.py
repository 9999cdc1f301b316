"""The life of one process of the sandbox: it waits for others, starts, becomes ready, restarts, stops."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sandbox.clusters.network.namespaces import inside
from sandbox.clusters.state import Phase, ProcessStatus
from sandbox.clusters.supervisor.health import healthy
from sandbox.clusters.supervisor.plan import Process

_PROBE_PERIOD = 0.1  # seconds, while starting
_WATCH_PERIOD = 10.0  # seconds, once ready
_BACK_OFF = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)  # seconds before the first, second, ... restart; then the last
_STABLE = 60.0  # seconds of life after which the back-off starts over


class Child:
    """Runs one `Process` of the plan. `status` is its public report.

    changed: called after each change of the status.
    """

    def __init__(self, spec: Process, log: Path, changed: Callable[[], None]) -> None:
        self.spec = spec
        self.ready = asyncio.Event()
        self.status = ProcessStatus(name=spec.name, phase="waiting", since=time.time())
        self._log = log
        self._changed = changed
        self._exited = asyncio.Event()
        self._stopping = False
        self._code = 0

    @property
    def pid(self) -> int | None:
        return self.status.pid

    def exited(self, wait_status: int) -> None:
        """Called when the supervisor has reaped this child's process."""
        self._code = os.waitstatus_to_exitcode(wait_status)
        self._exited.set()

    async def run(self, others: Mapping[str, Child]) -> None:
        """Lives until `stop` (a service) or until it has succeeded (a task)."""
        for name in self.spec.after:
            await others[name].ready.wait()
        while not self._stopping:
            started = time.monotonic()
            if await self._run_once():
                return
            failures = 0 if time.monotonic() - started > _STABLE else self.status.failures
            self._set(
                "backing off",
                pid=None,
                restarts=self.status.restarts + 1,
                failures=failures + 1,
                last_exit=in_words(self._code),
            )
            await asyncio.sleep(_BACK_OFF[min(failures, len(_BACK_OFF) - 1)])

    async def stop(self) -> None:
        """SIGTERM, then after the grace period SIGKILL; returns when the process is gone."""
        self._stopping = True
        if self.pid is not None and not self._exited.is_set():
            self._set("stopping")
            os.kill(self.pid, signal.SIGTERM)
            try:
                async with asyncio.timeout(self.spec.grace):
                    await self._exited.wait()
            except TimeoutError:
                os.kill(self.pid, signal.SIGKILL)
                await self._exited.wait()
        self._set("stopped", pid=None)

    async def _run_once(self) -> bool:
        """Starts the process and waits for its end. True when it must not start again."""
        self._exited.clear()
        try:
            process = self._start()
        except OSError as error:  # the program is missing or cannot be executed
            self._set("starting", last_exit=str(error))
            self._code = 127
            return False
        self._set("starting", pid=process.pid)
        watch = asyncio.create_task(self._watch())
        try:
            await self._exited.wait()
        finally:
            watch.cancel()
        process.returncode = self._code  # or Popen would look for a process that is gone
        task_done = self.spec.kind == "task" and self._code == 0
        if not task_done:
            self.ready.clear()
        elif not self._stopping:
            self.ready.set()
            self._set("done", pid=None)
        return task_done or self._stopping

    def _start(self) -> subprocess.Popen[bytes]:
        with inside(self.spec.network), open(self._log, "ab", opener=_private) as log:
            return subprocess.Popen(
                self.spec.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=self.spec.inherited,
                start_new_session=True,
            )

    async def _watch(self) -> None:
        """Keeps `ready` equal to the health endpoint's answer."""
        if self.spec.kind == "task":
            return
        while True:
            well = self.spec.probe is None or await healthy(self.spec.probe, self.spec.network)
            if well and self.status.phase != "ready":
                self.ready.set()
                self._set("ready")
            elif not well and self.status.phase == "ready":
                self._set("starting")
            await asyncio.sleep(_WATCH_PERIOD if well else _PROBE_PERIOD)

    def _set(self, phase: Phase, **changes: object) -> None:
        if not (self._stopping and phase not in ("stopping", "stopped")):
            self.status = self.status.model_copy(update={"phase": phase, "since": time.time(), **changes})
            self._changed()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def in_words(code: int) -> str:
    """An exit code in words; a negative one is a signal."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
