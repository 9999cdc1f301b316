"""A command in a Pod's container, as `kubectl exec` runs it: its output by a WebSocket of the API server.

https://kubernetes.io/docs/reference/generated/kubernetes-api/ (pods/exec), RFC 6455 for the frames.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

import httpcore2

from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.problems import visible

PROTOCOL: Final = "v4.channel.k8s.io"
STANDARD_OUTPUT, STANDARD_ERROR, STATUS = 1, 2, 3
"""Channels: the first byte of each message."""
CLOSE: Final = 8
DATA: Final = (0, 1, 2)
LENGTH_IN_2, LENGTH_IN_8 = 126, 127
MOST_BYTES: Final = 65_536
SECONDS: Final = 15.0


def output_in_pod(
    api: ApiServer, namespace: str, pod: str, container: str, command: Sequence[str], seconds: float = SECONDS
) -> str:
    """Standard output of a command that ended with 0.

    seconds: of silence. Raises: RefusedError, UnreachableError, also if the command failed.
    """
    wanted = [("container", container), ("stdout", "true"), ("stderr", "true")]
    query = urlencode([*wanted, *(("command", one) for one in command)])
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
        "Sec-WebSocket-Protocol": PROTOCOL,
    }
    called = f"{command[0]} in Pod {namespace}/{pod}"
    path = f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(pod)}/exec?{query}"
    with api.upgraded(path, headers, seconds) as stream:
        try:
            found = _channels(_Reader(stream, seconds))
        except (OSError, ValueError, httpcore2.NetworkError, httpcore2.TimeoutException) as error:
            raise UnreachableError(f"{called}: the output ended early ({type(error).__name__})") from None
    status = _status(found.get(STATUS, b""))
    if status != "Success":
        raise UnreachableError(f"{called} failed: {visible(status)}")
    return found.get(STANDARD_OUTPUT, b"").decode(errors="replace")


class _Reader:
    """Reads an exact number of bytes of a connection; fewer at its end."""

    def __init__(self, stream: httpcore2.NetworkStream, seconds: float) -> None:
        self._stream, self._seconds, self._rest = stream, seconds, b""

    def read(self, length: int) -> bytes:
        while len(self._rest) < length and (more := self._stream.read(MOST_BYTES, timeout=self._seconds)):
            self._rest += more
        found, self._rest = self._rest[:length], self._rest[length:]
        return found


def _channels(stream: _Reader) -> dict[int, bytes]:
    """All bytes of each channel, until the server closes."""
    found: dict[int, bytearray] = {}
    while (frame := _frame(stream)) is not None:
        kind, payload = frame
        if kind == CLOSE:
            break
        if kind in DATA and payload:
            found.setdefault(payload[0], bytearray()).extend(payload[1:])
    return {channel: bytes(content) for channel, content in found.items()}


def _frame(stream: _Reader) -> tuple[int, bytes] | None:
    """Opcode and payload of the next frame; a server does not mask it. None at the end."""
    head = stream.read(2)
    if len(head) < 2:
        return None
    length = head[1] & 0x7F
    if length in (LENGTH_IN_2, LENGTH_IN_8):
        length = int.from_bytes(_whole(stream, 2 if length == LENGTH_IN_2 else 8))
    return head[0] & 0x0F, _whole(stream, length)


def _whole(stream: _Reader, length: int) -> bytes:
    found = stream.read(length)
    if len(found) < length:
        raise ValueError("a frame was cut")
    return found


def _status(content: bytes) -> str:
    """`Success`, or the reason."""
    try:
        status = json.loads(content)
        return "Success" if status["status"] == "Success" else str(status.get("message") or status["status"])
    except (ValueError, KeyError, TypeError):
        return "no status"
