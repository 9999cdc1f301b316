"""Runs commands to their end, and ends their remaining processes."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MOST_SECONDS: Final = 600


@dataclass(frozen=True)
class Done:
    """A command that has ended. code: its exit code, or a signal's number below zero; None if it was ended here."""

    code: int | None
    output: str
    error: str


Run = Callable[[Sequence[str], Path, Mapping[str, str]], Done]


@dataclass
class Commands:
    """Runs commands to their end. `stop` ends running ones, and prevents others."""

    seconds: float = MOST_SECONDS
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def __call__(self, command: Sequence[str], cwd: Path, variables: Mapping[str, str], given: str = "") -> Done:
        """given: its standard input. Raises: OSError if it cannot be started."""
        with self._lock:
            if self._stopped:
                return Done(None, "", "stopped")
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # so that an interrupt comes from this process, once
            )
            self._running.add(process)
        try:
            output, error = self._read(process, given)
        except subprocess.TimeoutExpired:
            _end(process)
            return Done(None, "", f"it did not end within {self.seconds:g} seconds")
        finally:
            _kill(process)
            with self._lock:
                self._running.discard(process)
        return Done(process.returncode, output, error)

    def _read(self, process: subprocess.Popen[str], given: str) -> tuple[str, str]:
        """A command's output until its end. Remaining processes may hold its pipes open: they are ended, or left alone
        in their own session. Raises: TimeoutExpired."""
        has_ended = False
        for second in itertools.count(1):
            try:
                return process.communicate(given if second == 1 else None, timeout=1)
            except subprocess.TimeoutExpired as read:
                if has_ended:
                    return _text(read.output), _text(read.stderr)
                has_ended = process.poll() is not None
                if has_ended:
                    _kill(process)
                elif second >= self.seconds:
                    raise
        raise AssertionError("counts for ever")

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _end(process)


def _text(read: bytes | str | None) -> str:
    return read.decode(errors="replace") if isinstance(read, bytes) else read or ""


def _end(process: subprocess.Popen[str]) -> None:
    """Lets a command end its processes; ends all if it does not."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    _kill(process)
    process.wait()


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
