"""One container of a Pod: started, probed, restarted with back-off, stopped."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

import httpx2
from lightkube.models.core_v1 import Container, LifecycleHandler, Probe
from lightkube.resources.core_v1 import Pod

from sandbox.node import logs, probes, processes
from sandbox.node.environment import MissingReferenceError
from sandbox.node.fields import UnknownFieldError
from sandbox.node.images import UnknownImageError
from sandbox.node.launch import Launch
from sandbox.node.payload import NotMountableError
from sandbox.node.security import RefusedError
from sandbox.node.state import BackOff, ContainerState, Running, Terminated, Waiting, now

_log = logging.getLogger(__name__)
_CONFIG_RETRY = 2.0
_IMAGE_RETRY = 10.0


class PodHost(Protocol):
    """What a container needs of its Pod."""

    pod: Pod
    address: str

    async def launch(self, container: Container) -> Launch:
        """Everything about the start. Raises MissingReferenceError, RefusedError, NotMountableError, httpx2.HTTPError."""

    def log(self, container: str, restart: int) -> logs.LogFile: ...

    def image_id(self, container: Container) -> str: ...

    def publish(self) -> None:
        """Something that the status shows has changed."""

    async def warn(self, reason: str, message: str) -> None: ...

    async def note(self, reason: str, message: str) -> None: ...


class ContainerRunner:
    """Runs one container until it is done for good or stopped. ``state`` is what others may look at."""

    def __init__(self, host: PodHost, container: Container, state: ContainerState, restart_policy: str) -> None:
        self._host, self.container, self.state = host, container, state
        self._policy = "Always" if state.kind == "sidecar" else restart_policy
        self._back_off = BackOff()
        self._stopping = False
        self._stop_asked = asyncio.Event()
        self._process: processes.Process | None = None
        self._launch: Launch | None = None
        self._ending: asyncio.Task[None] | None = None
        self.started = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """Of the container's first process, while it runs."""
        return self._process.pid if self._process and not self._process.exited.done() else None

    async def run(self) -> None:
        """Returns when the container is not to be started again."""
        while not self._stopping:
            try:
                launch = await self._prepare()
            except _NotNowError as obstacle:
                self._set(Waiting(obstacle.reason, obstacle.message))
                await self._host.warn(obstacle.event, obstacle.message)
                await self._pause(obstacle.retry)
                continue
            begun = time.monotonic()
            await self._run_once(launch)
            if self._stopping or self.state.done(self._policy):
                return
            await self._wait_for_restart(begun)

    async def _prepare(self) -> Launch:
        try:
            launch = await self._host.launch(self.container)
            self.state.image_id = self._host.image_id(self.container)
        except UnknownImageError as error:
            raise _NotNowError("ErrImagePull", "Failed", str(error), _IMAGE_RETRY) from None
        except (MissingReferenceError, RefusedError, UnknownFieldError) as error:
            raise _NotNowError("CreateContainerConfigError", "Failed", str(error), _CONFIG_RETRY) from None
        except (NotMountableError, httpx2.HTTPError, OSError) as error:
            raise _NotNowError("CreateContainerError", "Failed", str(error), _CONFIG_RETRY) from None
        return launch

    async def _run_once(self, launch: Launch) -> None:
        log = self._host.log(self.container.name, self.state.restarts)
        ends = {name: logs.pipes(launch.identity.uid) for name in ("stdout", "stderr")}
        copies = [asyncio.create_task(logs.copy(reading, name, log)) for name, (reading, _) in ends.items()]
        started_at = None
        try:
            try:
                self._process = await processes.start(launch, ends["stdout"][1], ends["stderr"][1])
            finally:
                for _, writing in ends.values():
                    os.close(writing)
            self._launch, started_at = launch, now()
            self.state.container_id = f"process://{self._process.pid}"
            self._set(Running(started_at))
            await self._host.note("Started", f"Started container {self.container.name}")
            if self._stopping:  # asked to stop while it was starting
                self._process.signal(signal.SIGKILL)
            code = await self._while_running(self._process)
            reason = "Completed" if code == 0 else "Error"
            self._ended(Terminated(code, reason, started_at, now()))
        except processes.StartError as error:
            self._ended(Terminated(128, "StartError", started_at, now(), str(error)))
            await self._host.warn("Failed", f"Error: {self.container.name}: {error}")
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await asyncio.gather(*copies)
            for copy in copies:
                copy.cancel()
            log.close()

    async def _while_running(self, process: processes.Process) -> int:
        """Probes the container as long as it runs; returns its exit code."""
        watching = asyncio.create_task(self._probe())
        try:
            return await process.exited
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _probe(self) -> None:
        container = self.container
        target = probes.Target(container, self._host.address, self.execute)
        if container.startupProbe:
            passed = asyncio.Event()
            task = asyncio.create_task(
                probes.watch(target, container.startupProbe, self._on_startup(passed))
            )
            try:
                await passed.wait()
            finally:
                task.cancel()
        self.state.started = True
        self.state.ready = container.readinessProbe is None
        self.started.set()
        self._host.publish()
        await asyncio.gather(
            *(
                probes.watch(target, probe, handler)
                for probe, handler in self._standing_probes()
                if probe is not None
            )
        )

    def _standing_probes(self) -> list[tuple[Probe | None, Callable[[bool, str], Awaitable[None]]]]:
        async def readiness(ok: bool, message: str) -> None:
            self.state.ready = ok
            self._host.publish()
            if not ok:
                await self._host.warn("Unhealthy", f"Readiness probe failed: {message}")

        async def liveness(ok: bool, message: str) -> None:
            if not ok:
                await self._kill_unhealthy("Liveness", message)

        return [(self.container.readinessProbe, readiness), (self.container.livenessProbe, liveness)]

    def _on_startup(self, passed: asyncio.Event) -> Callable[[bool, str], Awaitable[None]]:
        async def changed(ok: bool, message: str) -> None:
            if ok:
                passed.set()
            else:
                await self._kill_unhealthy("Startup", message)

        return changed

    async def _kill_unhealthy(self, probe: str, message: str) -> None:
        await self._host.warn("Unhealthy", f"{probe} probe failed: {message}")
        await self._host.note("Killing", f"Container {self.container.name} failed {probe.lower()} probe, will be restarted")
        if self._process:
            spec = self._host.pod.spec
            grace = 30 if spec is None or spec.terminationGracePeriodSeconds is None else spec.terminationGracePeriodSeconds
            # Not awaited: this runs inside the very task that the process's end cancels.
            self._ending = asyncio.create_task(self._end(self._process, grace))

    async def _wait_for_restart(self, begun: float) -> None:
        assert isinstance(self.state.current, Terminated)
        pause = self._back_off.next(begun)
        self.state.last = self.state.current
        self.state.restarts += 1
        if pause and not self._stopping:
            metadata = self._host.pod.metadata
            where = f"{metadata.name}_{metadata.namespace}({metadata.uid})" if metadata else ""
            message = f"back-off {pause:.0f}s restarting failed container={self.container.name} pod={where}"
            self._set(Waiting("CrashLoopBackOff", message))
            await self._host.warn("BackOff", message)
            await self._pause(pause)
            if self._stopping:
                self._set(self.state.last)

    async def execute(self, argv: list[str], timeout: float) -> tuple[int, str]:
        """Runs a command in the running container; exit code and output. Raises StartError, TimeoutError."""
        pid, launch = self.pid, self._launch
        if pid is None or launch is None:
            raise processes.StartError(f"container {self.container.name} does not run")
        return await processes.run(processes.command(argv, launch, pid), timeout)

    def join(self, argv: list[str], *, terminal: bool) -> Launch:
        """The launch of a further process in the running container. Raises StartError."""
        pid, launch = self.pid, self._launch
        if pid is None or launch is None:
            raise processes.StartError(f"container {self.container.name} does not run")
        return processes.command(argv, launch, pid, terminal=terminal)

    async def stop(self, grace: float) -> None:
        """Ends the container for good: preStop, SIGTERM, and SIGKILL after ``grace`` seconds in all."""
        self._stopping = True
        self._stop_asked.set()
        if self._process:
            await self._end(self._process, grace)

    async def _end(self, process: processes.Process, grace: float) -> None:
        deadline = time.monotonic() + grace
        hook = self.container.lifecycle.preStop if self.container.lifecycle else None
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                if hook and grace > 0:
                    await self._hook(hook, grace)
                process.signal(signal.SIGTERM)
                await asyncio.shield(process.exited)
        process.signal(signal.SIGKILL)
        await asyncio.shield(process.exited)

    async def _hook(self, hook: LifecycleHandler, grace: float) -> None:
        target = probes.Target(self.container, self._host.address, self.execute)
        outcome = probes.Outcome(True)
        try:
            if hook.exec:
                code, output = await self.execute(list(hook.exec.command or []), grace)
                outcome = probes.Outcome(code == 0, f"ended with {code}: {output[:200]}")
            elif hook.httpGet:
                outcome = await probes.http_get(target, hook.httpGet, grace)
            elif hook.sleep:
                await asyncio.sleep(hook.sleep.seconds)
        except processes.StartError as error:
            outcome = probes.Outcome(False, str(error))
        if not outcome.ok:
            await self._host.warn("FailedPreStopHook", outcome.message)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop_asked.wait()

    def _ended(self, how: Terminated) -> None:
        self.started.clear()
        self.state.started = self.state.ready = False
        self._set(how)

    def _set(self, current: Waiting | Running | Terminated) -> None:
        self.state.current = current
        self._host.publish()


class _NotNowError(Exception):
    """Why a container cannot be started at the moment; tried again after ``retry`` seconds."""

    def __init__(self, reason: str, event: str, message: str, retry: float) -> None:
        super().__init__(message)
        self.reason, self.event, self.message, self.retry = reason, event, message, retry


