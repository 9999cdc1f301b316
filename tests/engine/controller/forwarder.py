"""Forwards connections: `python forwarder.py LISTEN TARGET [CERTIFICATE KEY]`, each a port of 127.0.0.1 or a path.

A path leads out of a network namespace. With a certificate it ends TLS. Standard library only.
"""

from __future__ import annotations

import asyncio
import ssl
import sys


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while part := await source.read(65536):
            target.write(part)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()


async def main(listen: str, target: str, *files: str) -> None:
    tls = None
    if files:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*files)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if target.isdigit():
            there, back = await asyncio.open_connection("127.0.0.1", int(target))
        else:
            there, back = await asyncio.open_unix_connection(target)
        await asyncio.gather(copy(reader, back), copy(there, writer))

    if listen.isdigit():
        server = await asyncio.start_server(serve, "127.0.0.1", int(listen), ssl=tls)
    else:
        server = await asyncio.start_unix_server(serve, listen, ssl=tls)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
