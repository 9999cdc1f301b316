"""Runs a builder or a downloader as a child process: with a log, with visible progress, and within time limits."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from sandbox.errors import SandboxError

TAIL_LINES = 15  # of a log, shown after a failure
_LOOK = 1.0  # seconds between two looks at time-outs and cancellation


class Cancelled(Exception):
    """The whole run ends (Ctrl-C, or another job failed); has no message of its own."""


@dataclass(frozen=True)
class Job:
    """The surroundings of a source's build.

    log: file in the cache with the output of all its commands. note: shows the current activity. cancelled: set when
    the run ends early; commands are then killed. lock: descriptor of a lock that commands hold too, so that the next
    run waits for commands that outlive a killed run. Needed where the result is not made aside and renamed.
    """

    title: str
    log: Path
    note: Callable[[str], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    lock: int | None = None

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        limit: float,
        stall: float | None = None,
        on_line: Callable[[str], None] | None = None,
        fix: str = "",
    ) -> str:
        """Runs a command to its end and returns its standard output and error, mixed.

        limit: seconds, then it is killed. stall: seconds without a line and without a byte read by the process, then it
        is killed; for downloads. on_line: receives each line. fix: the instruction in the error.
        Raises SandboxError with the last lines of the log when the command fails or is killed for being late.
        """
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(argv)}\n")
            log.flush()
            try:
                process = subprocess.Popen(
                    list(argv),
                    cwd=cwd,
                    env=None if env is None else dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    # Its own group, so that a compiler's children can be killed with it.
                    start_new_session=True,
                    pass_fds=() if self.lock is None else (self.lock,),
                )
            except OSError as error:
                raise SandboxError(f"{self.title}: {argv[0]} cannot be started.", why=str(error), fix=fix) from None
            try:
                output = self._follow(process, log, limit, stall, on_line, fix)
            finally:
                kill_group(process)
        if process.returncode != 0:
            raise self._failed(f"{self.title}: `{short(argv)}` failed (exit code {process.returncode}).", fix)
        return output

    def _follow(
        self,
        process: subprocess.Popen[bytes],
        log: IO[str],
        limit: float,
        stall: float | None,
        on_line: Callable[[str], None] | None,
        fix: str,
    ) -> str:
        assert process.stdout is not None
        started = alive = time.monotonic()
        seen = -1
        rest, whole = b"", bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                ready = selector.select(_LOOK)
                now = time.monotonic()
                if ready:
                    chunk = os.read(process.stdout.fileno(), 65536)
                    if not chunk:
                        break
                    alive = now
                    whole += chunk
                    log.write(chunk.decode(errors="replace"))
                    log.flush()
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        if on_line:
                            on_line(line.decode(errors="replace").strip())
                elif (read := _bytes_read(process.pid)) != seen:
                    seen, alive = read, now
                if self.cancelled.is_set():
                    raise Cancelled
                if stall is not None and now - alive > stall:
                    raise self._failed(f"{self.title}: nothing arrived for {stall:.0f} seconds; given up.", fix)
                if now - started > limit:
                    raise self._failed(f"{self.title}: not finished after {limit / 60:.0f} minutes; given up.", fix)
        process.wait(timeout=30)
        return whole.decode(errors="replace")

    def _failed(self, what: str, fix: str) -> SandboxError:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        tail = "\n".join(line[:300] for line in lines[-TAIL_LINES:])
        return SandboxError(what, why=f"{tail}\n(whole log: {self.log})", fix=fix)


class Terminated(KeyboardInterrupt):
    """SIGTERM as an exception; unlike Ctrl-C, the signal reached this process only."""

    @classmethod
    def by_signal(cls, _signal: int, _frame: FrameType | None) -> None:
        """The signal handler that raises it, so that child processes end and half-made files are removed."""
        raise cls


def wait_gently(process: subprocess.Popen[Any]) -> int:
    """Waits for a child that cleans up after an interrupt (pytest, pulumi); returns its exit code.

    Ctrl-C reaches the child by the terminal, so this only waits; SIGTERM is passed on as an interrupt. A second
    interrupt ends the waiting. Raises KeyboardInterrupt after the child has ended, if there was an interrupt.
    """
    try:
        return process.wait()
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, Terminated):
            process.send_signal(signal.SIGINT)
        process.wait()
        raise


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads its own group, with all its children; does nothing when it has ended already."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.stdout:
        process.stdout.close()


def processes_of(folder: Path) -> dict[int, str]:
    """Processes of this machine, by id, with a path in the folder on their command lines."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if f"{folder}/" in command:
                found[int(entry.name)] = command
    return found


def short(argv: Sequence[str]) -> str:
    """The first words of a command, enough to recognise it."""
    words = " ".join([Path(argv[0]).name, *argv[1:]])
    return words if len(words) < 60 else words[:57] + "..."


def _bytes_read(pid: int) -> int:
    """Bytes that a process has read from files and sockets, the sign of a download's progress; 0 if unknown."""
    try:
        first = Path(f"/proc/{pid}/io").read_text().split("\n", 1)[0]
        return int(first.removeprefix("rchar:"))
    except (OSError, ValueError):
        return 0
