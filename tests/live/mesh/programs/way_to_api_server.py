"""The only way to an API server: a proxy for CONNECT, and behind it a server with a path of its own for the cluster.

way_to_api_server.py PORT SETTINGS, the latter as JSON: `host`, the one target that the proxy connects to; `path`,
removed from each request; `certificate` and `key`, files of PEM; `address`, `authority` and `name` of the API server.
GET /received of the proxy returns the targets of CONNECT, the TLS server names and the paths, as JSON. It ends with
standard input. Standard library only.
"""

import asyncio
import json
import ssl
import sys

port, settings = int(sys.argv[1]), json.loads(sys.argv[2])
received: dict[str, set[str]] = {"targets": set(), "names": set(), "paths": set()}
ports: list[int] = []  # of the server with the path


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()


async def head_of(source: asyncio.StreamReader) -> list[str]:
    try:
        return (await source.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (asyncio.IncompleteReadError, OSError):
        return []


async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The proxy: it sees the target, and TLS."""
    head = await head_of(reader)
    method, target = head[0].split(" ")[:2] if head else ("", "")
    if method == "CONNECT":
        received["targets"].add(target)
    if method == "CONNECT" and target == settings["host"]:
        behind = await asyncio.open_connection("127.0.0.1", ports[0])
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(copy(reader, behind[1]), copy(behind[0], writer))
        return
    known = json.dumps({name: sorted(found) for name, found in received.items()}).encode()
    status, body = ("200 OK", known) if target.endswith("/received") else ("403 Forbidden", b"")
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()


async def serve_path(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The server behind it ends TLS, and sends each request on without the path."""
    verified = ssl.create_default_context(cadata=settings["authority"])
    behind = await asyncio.open_connection(*settings["address"], ssl=verified, server_hostname=settings["name"])
    answers = asyncio.create_task(copy(behind[0], writer))
    while head := await head_of(reader):
        method, path, version = head[0].split(" ")
        received["paths"].add(path.partition("?")[0])
        if not path.startswith(settings["path"] + "/"):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            continue
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        # A protocol of its own after the request has no end that is visible here.
        assert "transfer-encoding" not in fields
        assert "upgrade" not in fields
        head[0] = f"{method} {path.removeprefix(settings['path'])} {version}"
        behind[1].write("\r\n".join(head).encode("latin-1"))
        behind[1].write(await reader.readexactly(int(fields.get("content-length", 0))))
        await behind[1].drain()
    behind[1].close()
    await answers


def remember(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
    received["names"].add(name or "")


async def main() -> None:
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(settings["certificate"], settings["key"])
    own.set_alpn_protocols(["http/1.1"])
    own.sni_callback = remember
    paths = await asyncio.start_server(serve_path, "127.0.0.1", 0, ssl=own)
    ports.append(paths.sockets[0].getsockname()[1])
    await asyncio.start_server(connect, "0.0.0.0", port)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
