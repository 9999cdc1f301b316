"""A container's output on disk: one line per line, with time and stream, as container runtimes write it.

``<time> stdout F <text>``: what `kubectl logs` (with --timestamps, --since, --tail, --previous, -f) is served from.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from sandbox.node.container.pipes import reader_of

LINE_LIMIT = 256 * 1024
FILE_LIMIT = 16 * 1024 * 1024


def path_of(pod_directory: Path, container: str, restart: int) -> Path:
    """The file of one run of a container."""
    return pod_directory / "logs" / f"{container}-{restart}.log"


class LogFile:
    """Appends lines; beyond ``FILE_LIMIT`` bytes the older half is given up (kept as ``.old`` until the next time)."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = path
        self._file = path.open("ab")

    def append(self, stream: str, line: bytes) -> None:
        at = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._file.write(f"{at} {stream} F ".encode() + line.rstrip(b"\r\n") + b"\n")
        self._file.flush()
        if self._file.tell() > FILE_LIMIT:
            self._file.close()
            self._path.replace(self._path.with_suffix(".old"))
            self._file = self._path.open("ab")

    def close(self) -> None:
        self._file.close()


async def copy(pipe: int, stream: str, log: LogFile) -> None:
    """Reads a pipe to its end into the log and closes it."""
    async with reader_of(pipe, LINE_LIMIT) as reader:
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                if end.partial:
                    log.append(stream, end.partial)
                return
            except asyncio.LimitOverrunError as long:
                line = await reader.readexactly(long.consumed or LINE_LIMIT)
            log.append(stream, line)


def parse(line: bytes) -> tuple[datetime, bytes, bytes]:
    """Time, the time's text and the text of a stored line."""
    at, _, rest = line.partition(b" ")
    text = rest.split(b" ", 2)[2] if rest.count(b" ") >= 2 else b"\n"
    return datetime.fromisoformat(at.decode()), at, text
