"""Answers `kubectl logs` from a container's log files."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sandbox.node.container import logs
from sandbox.node.container.runner import ContainerRunner

_LOOK_AGAIN = 0.25


@dataclass(frozen=True)
class Options:
    """The query of a log request."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: datetime | None = None
    limit: int | None = None

    @classmethod
    def parse(cls, query: dict[str, str]) -> "Options":
        since = datetime.fromisoformat(query["sinceTime"]) if "sinceTime" in query else None
        if "sinceSeconds" in query:
            since = datetime.now(UTC) - timedelta(seconds=int(query["sinceSeconds"]))
        return cls(
            follow=query.get("follow") == "true",
            previous=query.get("previous") == "true",
            timestamps=query.get("timestamps") == "true",
            tail=int(query["tailLines"]) if "tailLines" in query else None,
            since=since,
            limit=int(query["limitBytes"]) if "limitBytes" in query else None,
        )

    def show(self, line: bytes) -> bytes:
        """A stored line as it is sent; empty if it is too old."""
        at, stamp, text = logs.parse(line)
        if self.since and at < self.since:
            return b""
        return stamp + b" " + text if self.timestamps else text


def _newest(directory: Path, container: str, restart: int) -> Path:
    """The file of the newest run: while a container waits to be started again, that is the run before."""
    path = logs.path_of(directory, container, restart)
    return path if path.exists() else logs.path_of(directory, container, max(restart - 1, 0))


async def send(directory: Path, runner: ContainerRunner, options: Options, writer: asyncio.StreamWriter) -> None:
    """Writes the log; with follow until the container's run ends or the caller goes away."""
    state = runner.state
    path = _newest(directory, state.name, state.restarts - (1 if options.previous else 0))
    if not path.exists():
        return
    left = options.limit
    with path.open("rb") as file:
        old = path.with_suffix(".old")
        stored = [*(old.read_bytes().splitlines(keepends=True) if old.exists() else []), *file.readlines()]
        first = 0 if options.tail is None else max(len(stored) - options.tail, 0)
        for line in stored[first:]:
            shown = options.show(line)[:left]
            left = None if left is None else left - len(shown)
            writer.write(shown)
        await writer.drain()
        while options.follow and not options.previous and not writer.is_closing():
            ended = not runner.log_grows
            for line in file.readlines():
                writer.write(options.show(line))
            await writer.drain()
            if ended:
                return
            await asyncio.sleep(_LOOK_AGAIN)
