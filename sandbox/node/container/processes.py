"""Starting, watching and ending one container's process from the agent."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from sandbox import kernel
from sandbox.bootstrap import CHECKOUT
from sandbox.memory_file import memory_file
from sandbox.node.container import pipes
from sandbox.node.runtime.spec import RuntimeSpec

_COMMAND = (sys.executable, "-S", "-m", "sandbox.node.runtime.launcher")


class StartError(RuntimeError):
    """The program could not be started; the text says which step failed."""


@dataclass(frozen=True)
class Process:
    """A running container: the process id of its first process, and the promise of its exit code."""

    pid: int
    exited: "asyncio.Future[int]"

    def signal(self, number: signal.Signals) -> None:
        """Does nothing if it has ended. The kernel ends the rest of a PID namespace with its first process."""
        if not self.exited.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


async def _launcher(
    runtime_spec: RuntimeSpec, stdin: int, stdout: int, stderr: int
) -> tuple[asyncio.subprocess.Process, int]:
    """Starts the launcher; returns it and the descriptor on which it reports (to be closed by the caller)."""
    with ExitStack() as opened:
        reading, writing = os.pipe()
        opened.callback(os.close, writing)
        told = json.dumps(asdict(replace(runtime_spec, report_fd=writing)))
        document = opened.enter_context(memory_file(told.encode()))
        passed = [writing, document, *([runtime_spec.network_fd] if runtime_spec.network_fd is not None else [])]
        try:
            process = await asyncio.create_subprocess_exec(
                *_COMMAND,
                str(document),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=passed,
                env={"PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"},
                cwd="/",
            )
        except BaseException:
            os.close(reading)
            raise
    return process, reading


async def start(runtime_spec: RuntimeSpec, stdout: int, stderr: int) -> Process:
    """Starts a container and returns once its program runs. Raises StartError.

    stdout, stderr: write ends of pipes; the caller closes its copies afterwards.
    """
    return await _carried_through(_start(runtime_spec, stdout, stderr))


async def join(runtime_spec: RuntimeSpec, stdin: int, stdout: int, stderr: int) -> Process:
    """Runs a further process in a container (its ``join_pid``); its exit code is 126 or 127 if it cannot start.

    Raises StartError.
    """
    return await _carried_through(_join(runtime_spec, stdin, stdout, stderr))


async def _carried_through(start: Coroutine[Any, Any, Process]) -> Process:
    """A start that is cancelled goes on to its end and what it started is killed then: nothing is lost sight of."""
    starting = asyncio.create_task(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_kill_started)
        raise


def _kill_started(starting: "asyncio.Task[Process]") -> None:
    if not starting.cancelled() and not starting.exception():
        starting.result().signal(signal.SIGKILL)


async def _launched(
    runtime_spec: RuntimeSpec, stdin: int, stdout: int, stderr: int
) -> tuple[Process, asyncio.subprocess.Process, str]:
    """The new process, its launcher, and what the launcher says went wrong after it was made; empty if nothing."""
    launcher, report = await _launcher(runtime_spec, stdin, stdout, stderr)
    first, _, rest = (await pipes.text(report)).partition("\n")
    if not first.isdigit():
        raise StartError(first or f"the launcher ended with {await launcher.wait()} and said nothing")
    return Process(int(first), asyncio.get_running_loop().create_future()), launcher, rest.strip()


async def _start(runtime_spec: RuntimeSpec, stdout: int, stderr: int) -> Process:
    process, launcher, trouble = await _launched(runtime_spec, asyncio.subprocess.DEVNULL, stdout, stderr)
    await launcher.wait()
    _reap(process)
    if trouble:
        await process.exited
        raise StartError(trouble)
    return process


def _reap(process: Process) -> None:
    """The agent is process 1 of its PID namespace: containers become its children and it learns their exit codes."""
    loop = asyncio.get_running_loop()
    handle = os.pidfd_open(process.pid)

    def ended() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        process.exited.set_result(kernel.exit_code(os.waitpid(process.pid, 0)[1]))

    loop.add_reader(handle, ended)


async def _join(runtime_spec: RuntimeSpec, stdin: int, stdout: int, stderr: int) -> Process:
    process, launcher, _ = await _launched(runtime_spec, stdin, stdout, stderr)

    def ended(waiting: "asyncio.Task[int]") -> None:
        code = -signal.SIGKILL if waiting.cancelled() else waiting.result()
        process.exited.set_result(code if code >= 0 else 128 - code)

    asyncio.create_task(launcher.wait()).add_done_callback(ended)
    return process


async def run(runtime_spec: RuntimeSpec, timeout: float) -> tuple[int, str]:
    """Runs a command in a container; returns its exit code and the start of its output.

    Raises StartError, and TimeoutError after ``timeout`` seconds (the command is killed then).
    """
    reading, writing = os.pipe()
    try:
        process = await join(runtime_spec, asyncio.subprocess.DEVNULL, writing, writing)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    output = asyncio.create_task(pipes.text(reading))
    try:
        async with asyncio.timeout(timeout):
            code = await asyncio.shield(process.exited)
            return code, (await output)[:4096]
    finally:
        process.signal(signal.SIGKILL)
        output.cancel()


def command(argv: Sequence[str], container: RuntimeSpec, pid: int) -> RuntimeSpec:
    """The runtime spec of a further process in a running container, with the container's own rights and environment."""
    return replace(container, argv=tuple(argv), join_pid=pid, mounts=(), network_fd=None, report_fd=-1)
