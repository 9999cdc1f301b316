"""Lets the host reach the API servers in the sandbox: `python -m sandbox.clusters.network.forwarder NETWORK:FD...`.

FD is a listening socket, bound to the host's 127.0.0.1 before the network namespace changed; a socket stays in its
first namespace. Each client is connected to the API server's port on NETWORK's loopback. Bytes pass unchanged, so TLS
is end to end.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from contextlib import AsyncExitStack
from functools import partial

from sandbox.clusters.network.addresses import API_PORT
from sandbox.clusters.network.namespaces import connect

_CHUNK = 1 << 16


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


async def _serve(network: str, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
    server_out: asyncio.StreamWriter | None = None
    try:
        server_in, server_out = await asyncio.open_connection(sock=await connect(network, API_PORT), limit=_CHUNK)
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(client_in, server_out))
            both.create_task(_copy(server_in, client_out))
    except* OSError:
        pass  # the API server is not up, or one side hung up: the other sees its connection end
    finally:
        for writer in (client_out, server_out):
            if writer is not None:
                writer.close()


async def _forward(listeners: list[str]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with AsyncExitStack() as open_until_stopped:
        for one in listeners:
            network, _, descriptor = one.partition(":")
            listener = socket.socket(fileno=int(descriptor))
            listener.setblocking(False)
            server = await asyncio.start_server(partial(_serve, network), sock=listener, limit=_CHUNK)
            await open_until_stopped.enter_async_context(server)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_forward(sys.argv[1:]))
