"""Requests health endpoints of processes in other network namespaces, without blocking."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from sandbox.clusters.network.namespaces import connect
from sandbox.clusters.supervisor.plan import Probe

_TIMEOUT = 2.0  # seconds


async def healthy(probe: Probe, network: str) -> bool:
    """True when the endpoint answers 200; anything else, no answer included, is False."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await _status(probe, network) == 200
    except (OSError, ValueError, asyncio.IncompleteReadError, ssl.SSLError):
        return False


@lru_cache
def _trusting(authority: Path) -> ssl.SSLContext:
    """Made once for each: reading the file takes as long as the whole request."""
    return ssl.create_default_context(cafile=str(authority))


async def _status(probe: Probe, network: str) -> int:
    connection = await connect(network, probe.port)
    tls = _trusting(probe.authority) if probe.authority else None
    reader, writer = await asyncio.open_connection(
        sock=connection, ssl=tls, server_hostname="localhost" if tls else None
    )
    try:
        writer.write(f"GET {probe.path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()
        with suppress(OSError, ssl.SSLError):
            await writer.wait_closed()
