"""Sends a tenant's spans to the backend by OTLP (gRPC), from a queue with a bound."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from typing import Any, Final

import grpc
import grpc.aio

from . import telemetry_messages
from .settings import Backend
from .store import Budget

TRACE_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
QUEUE, REFUSED, STOPPED = "queue", "backend", "stopped"
LARGEST_BATCH: Final = 2**20
SECONDS: Final = 10.0
OVERHEAD: Final = 256
"""Bytes of memory of a waiting request, beside its own."""
SHORTEST_WAIT, LONGEST_WAIT = 0.5, 15.0
# By default gRPC waits up to two minutes before it connects again.
OPTIONS: Final = (("grpc.initial_reconnect_backoff_ms", 500), ("grpc.max_reconnect_backoff_ms", 5_000))
# Of OTLP's specification: the sender tries again. All others lose the spans.
REPEATED: Final = frozenset(
    {
        *(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED),
        *(grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED),
    }
)


class Forwarder:
    """The queue of one tenant, and the connection that empties it."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.waiting: deque[tuple[bytes, int]] = deque()
        self.bytes = self.sent = 0
        self.lost: Counter[str] = Counter()
        self._filled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, request: bytes, spans: int) -> None:
        """A request for the backend. It is lost, and counted, if the queue is full."""
        size = len(request) + OVERHEAD
        if self.bytes + size > self.backend.queue_bytes:
            self.lost[QUEUE] += spans
            return
        self.waiting.append((request, spans))
        self.bytes += size
        self._filled.set()

    def start(self) -> None:
        """Connects. Raises: OSError if the file of authorities is missing."""
        self._task = asyncio.create_task(self._run(self._channel()))

    async def stop(self) -> None:
        """Waits a moment for the backend; the rest of the queue is lost."""
        if self._task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                while self.waiting:
                    await asyncio.sleep(0.05)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.lost[STOPPED] += sum(spans for _, spans in self.waiting)

    async def _run(self, connection: Any) -> None:
        wait = SHORTEST_WAIT
        async with connection as channel:
            export = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
            while True:
                self._filled.clear()
                if not self.waiting:
                    await self._filled.wait()
                batch = self._batch()
                if await self._exported(export, batch):
                    wait = SHORTEST_WAIT
                    self._remove(len(batch))
                else:
                    await asyncio.sleep(wait)
                    wait = min(LONGEST_WAIT, 2 * wait)

    def _channel(self) -> Any:
        if self.backend.plaintext:
            return grpc.aio.insecure_channel(self.backend.address, options=OPTIONS)
        authorities = self.backend.authorities
        roots = authorities.read_bytes() if authorities else None
        return grpc.aio.secure_channel(self.backend.address, grpc.ssl_channel_credentials(roots), options=OPTIONS)

    def _batch(self) -> list[tuple[bytes, int]]:
        found, size = list[tuple[bytes, int]](), 0
        for one in self.waiting:
            size += len(one[0])
            if found and size > LARGEST_BATCH:
                break
            found.append(one)
        return found

    async def _exported(self, export: Any, batch: list[tuple[bytes, int]]) -> bool:
        """Whether the batch is done: sent, or lost. False: the backend is away."""
        # Requests in a row are one request: its only field is a list.
        raw, spans = b"".join(one for one, _ in batch), sum(number for _, number in batch)
        try:
            answer = await export(raw, timeout=SECONDS)
        except grpc.aio.AioRpcError as error:
            if error.code() in REPEATED:
                return False
            if len(batch) > 1:
                # One request may spoil the others.
                for one in batch:
                    if not await self._exported(export, [one]):
                        self.lost[REFUSED] += one[1]
                return True
            self.lost[REFUSED] += spans
            return True
        refused = telemetry_messages.ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans
        self.sent += spans - refused
        self.lost[REFUSED] += refused
        return True

    def _remove(self, number: int) -> None:
        for _ in range(number):
            request, _ = self.waiting.popleft()
            self.bytes -= len(request) + OVERHEAD


class Traces:
    """Spans of a tenant on their way to the backend. Their budget is their own: they take nothing from metrics."""

    def __init__(self, forwarder: Forwarder) -> None:
        rate = forwarder.backend.bytes_per_second
        self.forwarder, self.budget = forwarder, Budget(rate, 4 * rate)
        self.received = 0
        self.rejected: Counter[str] = Counter()
