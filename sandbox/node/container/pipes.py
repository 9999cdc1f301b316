"""Pipes between the agent and the programs that it runs."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def make(owner: int | None) -> tuple[int, int]:
    """Read and write end. The container's user owns it, so that a program can open /dev/stdout by name: Envoy does."""
    reading, writing = os.pipe()
    if owner is not None:
        os.fchown(writing, owner, -1)
    return reading, writing


@asynccontextmanager
async def reader_of(fd: int, limit: int = 1 << 16) -> AsyncIterator[asyncio.StreamReader]:
    """Reads a pipe's end, which is closed afterwards. limit: in bytes, of what is read ahead and of a line."""
    reader = asyncio.StreamReader(limit=limit)
    with open(fd, "rb", buffering=0) as file:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        try:
            yield reader
        finally:
            transport.close()


async def text(fd: int) -> str:
    """All that comes out of a pipe until its end."""
    async with reader_of(fd) as reader:
        return (await reader.read()).decode(errors="replace")
