"""A command's private folder."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


@contextlib.contextmanager
def private_folder(command: str, holds: str) -> Iterator[Path]:
    """A folder that only this user can read (mode 0700), removed at the end, also after an interrupt or SIGTERM.
    command: its owner; holds: its content, for the message of a failed removal."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    made = Path(tempfile.mkdtemp(prefix=f"hosted-mesh-{command}-")).resolve()
    before = {one: signal.signal(one, leave) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield made
    finally:
        at_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not leave the folder behind
        for _ in range(3):  # an ending plug-in may still write
            shutil.rmtree(made, ignore_errors=True)
        for one, handler in {**before, signal.SIGINT: at_interrupt}.items():
            signal.signal(one, handler)
        if made.exists():
            print(f"{made}: cannot be removed. Remove it: it holds {holds}", file=sys.stderr)
