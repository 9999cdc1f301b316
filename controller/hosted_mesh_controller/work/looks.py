"""Looks at clusters on a schedule: each one is a process, which reads the kubeconfigs."""

from __future__ import annotations

import json
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

LOG: Final = logging.getLogger(__name__)
_LIMIT: Final = 900.0  # seconds of one look


def answer(command: Sequence[str], question: Any) -> Any:
    """The answer of a look's process, JSON like its question. Raises: an error of the process."""
    line = json.dumps(question) + "\n"
    done = subprocess.run(list(command), input=line, capture_output=True, text=True, timeout=_LIMIT, check=True)
    return json.loads(done.stdout)


def start(name: str, every_seconds: float | None, look: Callable[[], None]) -> None:
    """Looks until the process ends; without a time, never."""
    if every_seconds:
        threading.Thread(target=_repeat, args=[name, every_seconds, look], daemon=True, name=name).start()


def _repeat(name: str, every_seconds: float, look: Callable[[], None]) -> None:
    while True:
        try:
            look()
        except Exception:  # such as a process that the kernel ended
            LOG.exception("%s failed", name)
        time.sleep(every_seconds)
