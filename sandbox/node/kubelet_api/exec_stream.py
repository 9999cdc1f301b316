"""Answers `kubectl exec`: a websocket whose messages begin with a channel number (Kubernetes' v5.channel.k8s.io).

wsproto: handshake and framing only, no input and output of its own.
"""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, RejectConnection, Request, TextMessage
from wsproto.utilities import RemoteProtocolError

from sandbox.node.container import processes
from sandbox.node.container.pipes import reader_of
from sandbox.node.container.runner import ContainerRunner

_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE = 0, 1, 2, 3, 255
_PROTOCOL = "v5.channel.k8s.io"
_CHUNK = 32 * 1024


def _outcome(code: int) -> dict[str, Any]:
    """The Status object that tells kubectl the exit code."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code)}
    return {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]},
            "message": f"command terminated with non-zero exit code: exit status {code}"}  # fmt: skip


class _Channels:
    """The websocket, once accepted."""

    def __init__(self, connection: WSConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connection, self._reader, self._writer = connection, reader, writer

    async def send(self, channel: int, data: bytes) -> None:
        self._writer.write(self._connection.send(BytesMessage(bytes([channel]) + data)))
        await self._writer.drain()

    async def receive(self, handle: Callable[[int, bytes], None]) -> None:
        """Until the caller closes; ``handle`` gets channel and data of each message."""
        parts = b""
        while True:
            for event in self._connection.events():
                if isinstance(event, BytesMessage | TextMessage):
                    parts += event.data.encode() if isinstance(event.data, str) else bytes(event.data)
                    if event.message_finished:
                        if parts:
                            handle(parts[0], parts[1:])
                        parts = b""
                elif isinstance(event, Ping):
                    self._writer.write(self._connection.send(event.response()))
                elif isinstance(event, CloseConnection):
                    return
            data = await self._reader.read(_CHUNK)
            if not data:
                return
            self._connection.receive_data(data)

    async def close(self) -> None:
        with suppress(RemoteProtocolError, ConnectionError):
            self._writer.write(self._connection.send(CloseConnection(code=1000)))
            await self._writer.drain()


async def serve(
    head: bytes, query: Mapping[str, str], argv: list[str], runner: ContainerRunner,
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
) -> None:  # fmt: skip
    """Accepts the websocket, runs the command in the container, and relays until it ends."""
    connection = WSConnection(ConnectionType.SERVER)
    connection.receive_data(head)
    request = next(iter(connection.events()), None)
    if not isinstance(request, Request) or _PROTOCOL not in request.subprotocols:
        writer.write(connection.send(RejectConnection(status_code=400, headers=[])))
        return
    writer.write(connection.send(AcceptConnection(subprotocol=_PROTOCOL)))
    channels = _Channels(connection, reader, writer)
    try:
        code = await _relay(channels, query, argv, runner)
        outcome = _outcome(code)
    except processes.StartError as error:
        outcome = {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": str(error)}
    await channels.send(_ERROR, json.dumps(outcome).encode())
    await channels.close()


async def _relay(channels: _Channels, query: Mapping[str, str], argv: list[str], runner: ContainerRunner) -> int:
    """The command's exit code. A caller who goes away ends the command."""
    runtime_spec = runner.join(argv)
    (stdin, given), (output, stdout), (errors, stderr) = os.pipe(), os.pipe(), os.pipe()
    try:
        process = await processes.join(runtime_spec, stdin, stdout, stderr)
    finally:
        for fd in (stdin, stdout, stderr):
            os.close(fd)
    loop = asyncio.get_running_loop()
    copies = [loop.create_task(_copy(fd, channel, channels)) for channel, fd in ((_STDOUT, output), (_STDERR, errors))]
    source = _Input(given)
    if query.get("input") not in ("1", "true"):
        source.close()
    receiving = loop.create_task(channels.receive(source.handle))
    receiving.add_done_callback(lambda _: process.signal(signal.SIGKILL))
    code = await process.exited
    await asyncio.wait(copies, timeout=2)
    receiving.cancel()
    source.close()
    return code


async def _copy(fd: int, channel: int, channels: _Channels) -> None:
    """A pipe to the caller, to its end."""
    async with reader_of(fd) as reader:
        with suppress(ConnectionError):  # the caller has gone away
            while data := await reader.read(_CHUNK):
                await channels.send(channel, data)


class _Input:
    """What the caller sends: standard input, and its end."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def handle(self, channel: int, data: bytes) -> None:
        if self._fd is None:
            return
        if channel == _STDIN and data:
            with suppress(BrokenPipeError):
                os.write(self._fd, data)
        elif channel == _CLOSE and data[:1] == bytes([_STDIN]):
            self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
