"""Commands of the engine, run to their end, without the variables that would lead them to another stack or service."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..program.process import MOST_SECONDS
from ..project import UnusableProjectError

_OF_THE_STACK: Final = ("ACCESS_TOKEN", "API", "BACKEND_URL", "CONFIG", "CREDENTIALS_PATH", "DEBUG_GRPC", "OPTION_")
_OWN: Final = ("STACK", "ENABLE_STREAMING_JSON_PREVIEW")


@dataclass(frozen=True)
class Done:
    """A command of the engine's that has ended."""

    code: int
    output: str
    error: str


Run = Callable[[Sequence[str], Path, Mapping[str, str]], Done]


@dataclass
class Commands:
    """Runs commands to their end. `stop` ends those that run, and keeps others from starting."""

    seconds: float = MOST_SECONDS
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def __call__(self, command: Sequence[str], cwd: Path, variables: Mapping[str, str]) -> Done:
        with self._lock:
            if self._stopped:
                return Done(1, "", "stopped")
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # so that an interrupt comes from us, once
            )
            self._running.add(process)
        try:
            output, error = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return Done(1, "", f"it did not end within {self.seconds:g} seconds")
        finally:
            with self._lock:
                self._running.discard(process)
        return Done(process.returncode, output, error)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Lets the engine end its plug-ins; ends all if it does not."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def engine() -> str:
    """The engine's command. Raises: UnusableProjectError."""
    found = shutil.which("pulumi")
    if found is None:
        raise UnusableProjectError("pulumi: is not on PATH. Install it, or run a program in Python without --preview")
    return found


def engine_variables(given: Mapping[str, str]) -> dict[str, str]:
    """Variables without those that would lead the engine to another stack, secret or service."""
    ours, own = (tuple(f"PULUMI_{name}" for name in names) for names in (_OF_THE_STACK, _OWN))
    return {name: value for name, value in given.items() if not name.startswith(ours) and name not in own}


def own_variables(backend: Path, login: Path, passphrase: str) -> dict[str, str]:
    """Variables that lead the engine to a backend in a folder, and to no login."""
    return {
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": passphrase,
        "PULUMI_CREDENTIALS_PATH": str(login),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PYTHONHASHSEED": "0",
    }
