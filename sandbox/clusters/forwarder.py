"""Lets the host reach an API server in the sandbox: `python -m sandbox.clusters.forwarder FD PORT`.

FD is a listening socket that was bound to the host's 127.0.0.1 before the network namespace changed; a socket stays
in the namespace where it was made. This process runs in the node's namespace and connects each client to
127.0.0.1:PORT there. Bytes pass as they are, so TLS is end to end.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

_CHUNK = 1 << 16


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


async def _serve(client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter, port: int) -> None:
    server_out: asyncio.StreamWriter | None = None
    try:
        server_in, server_out = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(client_in, server_out))
            both.create_task(_copy(server_in, client_out))
    except* OSError:
        pass  # the API server is not up, or one side hung up: the other sees its connection end
    finally:
        for writer in (client_out, server_out):
            if writer is not None:
                writer.close()


async def _forward(listener: socket.socket, port: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with await asyncio.start_server(lambda r, w: _serve(r, w, port), sock=listener, limit=_CHUNK):
        await stop.wait()


if __name__ == "__main__":
    listener = socket.socket(fileno=int(sys.argv[1]))
    listener.setblocking(False)
    asyncio.run(_forward(listener, int(sys.argv[2])))
