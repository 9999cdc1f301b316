"""A folder of a command's own."""

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
    """A folder that only this user can look into (mode 0700). Gone at the end, also when the command is interrupted or
    told to end. command: whose it is; holds: what lies in it, for the message if it cannot be removed."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    made = Path(tempfile.mkdtemp(prefix=f"hosted-mesh-{command}-")).resolve()
    before = {one: signal.signal(one, leave) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield made
    finally:
        at_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not leave the folder there
        for _ in range(3):  # a plug-in that is about to end may still write
            shutil.rmtree(made, ignore_errors=True)
        for one, handler in {**before, signal.SIGINT: at_interrupt}.items():
            signal.signal(one, handler)
        if made.exists():
            print(f"{made}: cannot be removed. Remove it: it holds {holds}", file=sys.stderr)
