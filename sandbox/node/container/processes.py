"""Starting, watching and ending one container's process from the agent."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from sandbox.bootstrap import CHECKOUT
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
        document = os.memfd_create("runtime-spec")
        opened.callback(os.close, document)
        os.write(document, json.dumps(replace(runtime_spec, report_fd=writing).to_json()).encode())
        os.lseek(document, 0, os.SEEK_SET)
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


async def _read_all(fd: int) -> str:
    """Reads a pipe to its end and closes it."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    with open(fd, "rb", buffering=0) as pipe:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            return (await reader.read()).decode(errors="replace")
        finally:
            transport.close()


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


async def _start(runtime_spec: RuntimeSpec, stdout: int, stderr: int) -> Process:
    launcher, report = await _launcher(runtime_spec, asyncio.subprocess.DEVNULL, stdout, stderr)
    lines = (await _read_all(report)).split("\n", 1)
    await launcher.wait()
    if not lines[0].isdigit():
        raise StartError(lines[0] or f"the launcher ended with {launcher.returncode} and said nothing")
    process = Process(int(lines[0]), asyncio.get_running_loop().create_future())
    _reap(process)
    if lines[1].strip():
        await process.exited
        raise StartError(lines[1].strip())
    return process


def _reap(process: Process) -> None:
    """The agent is process 1 of its PID namespace: containers become its children and it learns their exit codes."""
    loop = asyncio.get_running_loop()
    handle = os.pidfd_open(process.pid)

    def ended() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        code = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
        process.exited.set_result(code if code >= 0 else 128 - code)

    loop.add_reader(handle, ended)


async def _join(runtime_spec: RuntimeSpec, stdin: int, stdout: int, stderr: int) -> Process:
    launcher, report = await _launcher(runtime_spec, stdin, stdout, stderr)
    lines = (await _read_all(report)).split("\n", 1)
    exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    if not lines[0].isdigit():
        code = await launcher.wait()
        raise StartError(lines[0] or f"the launcher ended with {code} and said nothing")
    process = Process(int(lines[0]), exited)

    def ended(waiting: "asyncio.Task[int]") -> None:
        code = -signal.SIGKILL if waiting.cancelled() else waiting.result()
        exited.set_result(code if code >= 0 else 128 - code)

    task = asyncio.create_task(launcher.wait())
    task.add_done_callback(ended)
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
    output = asyncio.create_task(_read_all(reading))
    try:
        async with asyncio.timeout(timeout):
            code = await asyncio.shield(process.exited)
            return code, (await output)[:4096]
    finally:
        process.signal(signal.SIGKILL)
        output.cancel()


def command(argv: Sequence[str], container: RuntimeSpec, pid: int, *, terminal: bool = False) -> RuntimeSpec:
    """The runtime spec of a further process in a running container, with the container's own rights and environment."""
    return replace(
        container, argv=tuple(argv), join_pid=pid, mounts=(), network_fd=None, report_fd=-1, terminal=terminal
    )
