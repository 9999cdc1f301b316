"""Talking back to the engine: log lines and the passing status beside a resource."""

from __future__ import annotations

import threading
from typing import Any, Literal

from sandbox.plugins.protocol.stubs import engine_grpc, engine_pb2, grpc

Severity = Literal["debug", "info", "warning", "error"]
_SEVERITIES: dict[Severity, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}


class Engine:
    """The engine's log. Connects on the first message; a message that cannot be delivered is dropped."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._stub: Any = None
        self._with_status: set[str] = set()

    def log(self, severity: Severity, message: str, urn: str = "") -> None:
        """A lasting line, shown under the resource."""
        self._send(severity, message, urn, ephemeral=False)

    def status(self, severity: Severity, message: str, urn: str) -> None:
        """What the resource is doing right now; replaces the status before it. An empty message clears it."""
        with self._lock:
            if not message and urn not in self._with_status:
                return
            (self._with_status.add if message else self._with_status.discard)(urn)
        self._send(severity, message, urn, ephemeral=True)

    def _send(self, severity: Severity, message: str, urn: str, *, ephemeral: bool) -> None:
        if not self.address:
            return
        with self._lock:
            if self._stub is None:
                self._stub = engine_grpc.EngineStub(grpc.insecure_channel(self.address))
            stub = self._stub
        request = engine_pb2.LogRequest(
            severity=_SEVERITIES[severity], message=message, urn=urn, streamId=0, ephemeral=ephemeral
        )
        try:
            stub.Log(request, timeout=10)
        except grpc.RpcError:
            return  # A status line is not worth failing a resource for.
