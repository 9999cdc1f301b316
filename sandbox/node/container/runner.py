"""One container of a Pod: started, probed, restarted with back-off, stopped."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from typing import Protocol

import httpx2
from lightkube.models.core_v1 import Container
from lightkube.models.core_v1 import ContainerStateRunning as Running
from lightkube.models.core_v1 import ContainerStateTerminated as Terminated
from lightkube.models.core_v1 import ContainerStateWaiting as Waiting
from lightkube.resources.core_v1 import Pod

from sandbox.node.container import logs, pipes, probes, processes, stopping
from sandbox.node.container.fields import UnknownFieldError
from sandbox.node.container.health import Health
from sandbox.node.container.state import BackOff, ContainerState, Current, now
from sandbox.node.keyed_data import MissingReferenceError
from sandbox.node.runtime.images import UnknownImageError
from sandbox.node.runtime.security import RefusedError
from sandbox.node.runtime.spec import RuntimeSpec
from sandbox.node.volumes.payload import NotMountableError

_CONFIG_RETRY, _IMAGE_RETRY = 2.0, 10.0
_CANNOT_START = 128  # what container runtimes give as exit code of a program that could not be started


class PodHost(Protocol):
    """What a container needs of its Pod."""

    @property
    def pod(self) -> Pod: ...

    @property
    def address(self) -> str: ...

    async def runtime_spec(self, container: Container) -> RuntimeSpec:
        """Everything about the start. Raises what ``_prepare`` names, and httpx2.HTTPError."""

    def log(self, container: str, restart: int) -> logs.LogFile: ...

    def image_id(self, container: Container) -> str: ...

    def publish(self) -> None:
        """Something that the status shows has changed."""

    async def warn(self, reason: str, message: str) -> None: ...

    async def note(self, reason: str, message: str) -> None: ...


class _NotNowError(Exception):
    """Why a container cannot be started at the moment; tried again after ``retry`` seconds."""

    def __init__(self, reason: str, message: str, retry: float) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry = reason, message, retry


class ContainerRunner:
    """Runs one container until it is done for good or stopped. ``state`` is what others may look at."""

    def __init__(self, host: PodHost, container: Container, state: ContainerState, restart_policy: str) -> None:
        self._host, self.container, self.state = host, container, state
        self._policy = "Always" if state.kind == "sidecar" else restart_policy
        self._back_off = BackOff()
        self._stop_asked = asyncio.Event()
        self._process: processes.Process | None = None
        self._runtime_spec: RuntimeSpec | None = None
        self._ending: asyncio.Task[None] | None = None
        self.started = asyncio.Event()
        self.log_grows = False
        """From the start of a run until all that it wrote is in its log, which is a moment after its end."""

    @property
    def pid(self) -> int | None:
        """Of the container's first process, while it runs."""
        return self._process.pid if self._process and not self._process.exited.done() else None

    async def run(self) -> None:
        """Returns when the container is not to be started again."""
        while not self._stop_asked.is_set() and not self.state.done(self._policy):
            try:
                runtime_spec = await self._prepare()
            except _NotNowError as obstacle:
                self._set(Waiting(reason=obstacle.reason, message=obstacle.message))
                await self._host.warn("Failed", obstacle.message)
                await self._pause(obstacle.retry)
                continue
            begun = time.monotonic()
            await self._run_once(runtime_spec)
            if not self._stop_asked.is_set() and not self.state.done(self._policy):
                await self._wait_for_restart(begun)

    async def stop(self, grace: float) -> None:
        """Ends the container for good: preStop, SIGTERM, and SIGKILL after ``grace`` seconds in all."""
        self._stop_asked.set()
        if self._process:
            await self._end(self._process, grace)

    async def execute(self, argv: list[str], timeout: float) -> tuple[int, str]:
        """Runs a command in the running container; exit code and output. Raises StartError, TimeoutError."""
        return await processes.run(self.join(argv), timeout)

    def join(self, argv: list[str]) -> RuntimeSpec:
        """The runtime spec of a further process in the running container. Raises StartError."""
        pid, runtime_spec = self.pid, self._runtime_spec
        if pid is None or runtime_spec is None:
            raise processes.StartError(f"container {self.container.name} does not run")
        return processes.command(argv, runtime_spec, pid)

    async def _prepare(self) -> RuntimeSpec:
        try:
            runtime_spec = await self._host.runtime_spec(self.container)
            self.state.image_id = self._host.image_id(self.container)
        except UnknownImageError as error:
            raise _NotNowError("ErrImagePull", str(error), _IMAGE_RETRY) from None
        except (MissingReferenceError, RefusedError, UnknownFieldError) as error:
            raise _NotNowError("CreateContainerConfigError", str(error), _CONFIG_RETRY) from None
        except (NotMountableError, httpx2.HTTPError, OSError) as error:
            raise _NotNowError("CreateContainerError", str(error), _CONFIG_RETRY) from None
        return runtime_spec

    async def _run_once(self, runtime_spec: RuntimeSpec) -> None:
        """One run, from start to end."""
        log = self._host.log(self.container.name, self.state.restarts)
        ends = {name: pipes.make(runtime_spec.identity.uid) for name in ("stdout", "stderr")}
        copies = [asyncio.create_task(logs.copy(reading, name, log)) for name, (reading, _) in ends.items()]
        self.log_grows = True
        try:
            try:
                process = await processes.start(runtime_spec, ends["stdout"][1], ends["stderr"][1])
            finally:
                for _, writing in ends.values():
                    os.close(writing)
            await self._while_running(process, runtime_spec)
        except processes.StartError as error:
            self._ended(Terminated(_CANNOT_START, reason="StartError", finishedAt=now(), message=str(error)))
            await self._host.warn("Failed", f"Error: {self.container.name}: {error}")
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await asyncio.gather(*copies)
            for copy in copies:
                copy.cancel()
            log.close()
            self.log_grows = False

    async def _while_running(self, process: processes.Process, runtime_spec: RuntimeSpec) -> None:
        self._process, self._runtime_spec, started_at = process, runtime_spec, now()
        self.state.container_id = f"process://{process.pid}"
        self._set(Running(startedAt=started_at))
        if self._stop_asked.is_set():  # asked to stop while it was starting
            process.signal(signal.SIGKILL)
        health = Health(
            self._target(), self.state, self.started,
            publish=self._host.publish, warn=self._host.warn, restart=self._end_unhealthy,
        )  # fmt: skip
        watching = asyncio.create_task(health.watch())
        try:
            await self._host.note("Started", f"Started container {self.container.name}")
            code = await process.exited
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        reason, ran = "Completed" if code == 0 else "Error", self.state.container_id
        self._ended(Terminated(code, containerID=ran, reason=reason, startedAt=started_at, finishedAt=now()))

    def _target(self) -> probes.Target:
        return probes.Target(self.container, self._host.address, self.execute)

    async def _end_unhealthy(self, probe: str) -> None:
        name, spec = self.container.name, self._host.pod.spec
        await self._host.note("Killing", f"Container {name} failed {probe} probe, will be restarted")
        asked = spec.terminationGracePeriodSeconds if spec else None
        if self._process:
            # Not awaited: this runs inside the very task that the process's end cancels.
            self._ending = asyncio.create_task(self._end(self._process, 30.0 if asked is None else float(asked)))

    async def _end(self, process: processes.Process, grace: float) -> None:
        trouble = await stopping.end(process, self._target(), grace)
        if trouble:
            await self._host.warn("FailedPreStopHook", trouble)

    async def _wait_for_restart(self, begun: float) -> None:
        assert isinstance(self.state.current, Terminated)
        pause = self._back_off.next(begun)
        self.state.last = self.state.current
        self.state.restarts += 1
        if pause:
            metadata = self._host.pod.metadata
            where = f"{metadata.name}_{metadata.namespace}({metadata.uid})" if metadata else ""
            message = f"back-off {pause:.0f}s restarting failed container={self.container.name} pod={where}"
            self._set(Waiting(reason="CrashLoopBackOff", message=message))
            await self._host.warn("BackOff", message)
            await self._pause(pause)
            if self._stop_asked.is_set():
                self._set(self.state.last)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop_asked.wait()

    def _ended(self, how: Terminated) -> None:
        self.started.clear()
        self.state.started = self.state.ready = False
        self._set(how)

    def _set(self, current: Current) -> None:
        self.state.current = current
        self._host.publish()
