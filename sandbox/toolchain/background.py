"""Tools that one process builds beside tests: a test that needs a tool waits for this process instead of building."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from sandbox.bootstrap import CHECKOUT
from sandbox.jobs import kill_group
from sandbox.lock import locked
from sandbox.progress import Progress

COMMAND = (sys.executable, "-m", "sandbox.commands.cli", "tools", "--for-tests")
_POLL = 0.5  # seconds between two looks for a tool of the other process
_QUIET = 60.0  # seconds without a line, after which the lines of running steps are printed too
_ENDING = 20.0  # seconds for compilers to end and half-made files to go
_NICE = 5  # tests come first where both need a processor


@contextmanager
def builder(lock: Path, progress: Progress) -> Iterator[None]:
    """Held by the building process; others see it by `busy`. The process gives way to tests."""
    os.nice(_NICE)
    with progress.step("tools for the tests") as step, locked(lock, step.note):
        yield


def busy(lock: Path) -> bool:
    """Whether a process builds now. A killed one does not count: the kernel has released its lock."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def wait(lock: Path, missing: Callable[[], Sequence[str]], progress: Progress) -> None:
    """Waits until no tool is missing, or no process builds any more, and prints the awaited names."""
    if not (missing() and busy(lock)):
        return
    with progress.step("tools that are built beside the tests") as step:
        while (names := missing()) and busy(lock):
            step.note(f"waiting for {', '.join(names)}")
            time.sleep(_POLL)
        step.result("ready" if not names else f"the other process ended without {', '.join(names)}")


@contextmanager
def started(lock: Path, *, command: Sequence[str] = COMMAND, stream: IO[str] | None = None) -> Iterator[None]:
    """Runs the building process beside the body, prints its finished steps, and ends it with the body.

    lock: of `builder`, which `command` takes. A failure of the process is only printed: a test that needs the tool
    builds it again and reports the error. stream: default: standard error.
    """
    process = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C at the terminal comes to it by `kill_group` alone
    )
    printer = threading.Thread(target=_print, args=(process, stream or sys.stderr), daemon=True)
    printer.start()
    try:
        while process.poll() is None and not busy(lock):
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_ENDING)
        kill_group(process)
        printer.join(timeout=5)


def _print(process: subprocess.Popen[bytes], stream: IO[str]) -> None:
    """Forwards the lines: all of finished steps, and one a minute of a running step (" ... ")."""
    assert process.stdout is not None
    printed = time.monotonic()
    with suppress(ValueError, OSError):  # `kill_group` closes it
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip()
            now = time.monotonic()
            if not line or (line.lstrip().startswith("...") and now - printed < _QUIET):
                continue
            printed = now
            print(f"[tools] {line}", file=stream, flush=True)
