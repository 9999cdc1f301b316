"""Asks the health endpoints of processes in other network namespaces, without blocking."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress

from sandbox.clusters.addresses import NetworkName
from sandbox.clusters.namespaces import inside
from sandbox.clusters.plan import Probe

_TIMEOUT = 2.0  # seconds


async def healthy(probe: Probe, network: NetworkName) -> bool:
    """True when the endpoint answers 200; anything else, no answer included, is False."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await _status(probe, network) == 200
    except (OSError, ValueError, asyncio.IncompleteReadError, ssl.SSLError):
        return False


async def _status(probe: Probe, network: NetworkName) -> int:
    with inside(network):  # the socket belongs to that network for good; connecting needs no further switch
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", probe.port))
    except BaseException:
        connection.close()
        raise
    tls = ssl.create_default_context(cafile=str(probe.authority)) if probe.authority else None
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
