"""The listener for istioctl: Envoy's aggregated discovery service, by gRPC over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from . import xds_messages
from .answers import answer
from .istiod import Istiods
from .refusals import Reason, RefusedError
from .settings import Settings
from .tokens import bearer, require_claims

SERVICE: Final = "envoy.service.discovery.v3.AggregatedDiscoveryService"
LARGEST_REQUEST: Final = 64 * 2**10
MOST_STREAMS: Final = 16
"""Open streams; further ones are refused."""
AT_ONCE: Final = 2
"""Requests to istiod at the same time: a dump is costly there."""
LONGEST_WAIT: Final = 5.0
"""Seconds for a request to arrive. istioctl sends one at once, and closes the stream after its answer."""
LONGEST_ANSWER: Final = 60.0
MOST_REQUESTS: Final = 4
"""Requests of one stream."""
GRACE: Final = 2.0
OPTIONS: Final = (
    ("grpc.max_receive_message_length", LARGEST_REQUEST),
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.max_connection_idle_ms", 120_000),
)


class DebugProxy:
    """The gRPC service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.istiods = Istiods(settings.istiod_host, settings.istiod_port, settings.cluster)
        self.port = 0
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._server: Any = None

    async def start(self) -> None:
        """Listens. Raises: OSError, or RuntimeError of gRPC, if the port is taken or a file is missing."""
        self._server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=MOST_STREAMS)
        handler: Any = grpc.stream_stream_rpc_method_handler(
            self.stream,
            request_deserializer=xds_messages.DiscoveryRequest.FromString,
            response_serializer=lambda message: message.SerializeToString(deterministic=True),
        )
        own = grpc.method_handlers_generic_handler(SERVICE, {"StreamAggregatedResources": handler})
        self._server.add_generic_rpc_handlers((own,))
        self.port = self._server.add_secure_port(
            f"{self.settings.address}:{self.settings.port}",
            credentials(self.settings.certificate, self.settings.key),
        )
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(GRACE)

    async def stream(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """A stream of istioctl."""
        try:
            token = bearer(context.invocation_metadata())
            require_claims(token, self.settings.namespace)
            # A forged token passes until istiod's check: it must not hold a stream.
            async with asyncio.timeout(LONGEST_WAIT) as limit:
                number = 0
                async for request in requests:
                    limit.reschedule(asyncio.get_running_loop().time() + LONGEST_ANSWER)
                    number += 1
                    if number > MOST_REQUESTS:
                        raise RefusedError(Reason.RESOURCE_EXHAUSTED, "too many requests in one stream")
                    yield await self._answer(request, token)
                    limit.reschedule(asyncio.get_running_loop().time() + LONGEST_WAIT)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "no request arrived in time")
        except RefusedError as error:
            log(f"refused: {error.reason}: {error}")
            await context.abort(grpc.StatusCode[error.reason], str(error))

    async def _answer(self, request: Any, token: str) -> Any:
        names = list(request.resource_names)
        async with self._slots:
            found = await asyncio.to_thread(answer, self.istiods, request.type_url, names, token)
        log(f"answered: {request.type_url} {names}")
        return found


def credentials(certificate: Path, key: Path) -> Any:
    """TLS of the listener; changed files count from the next connection on."""
    files = (certificate, key)
    read = _stamps(files)

    def configuration() -> Any:
        return grpc.ssl_server_certificate_configuration([(key.read_bytes(), certificate.read_bytes())])

    def changed() -> Any:
        nonlocal read
        with contextlib.suppress(OSError):  # in the moment of a change: the old files stay
            if (now := _stamps(files)) != read:
                found = configuration()
                read = now
                return found
        return None

    return grpc.dynamic_ssl_server_credentials(configuration(), changed, require_client_authentication=False)


def log(text: str) -> None:
    """One line on stderr. Text of a user is printed as Python's literal, on one line."""
    print(text.replace("\n", " ")[:400], file=sys.stderr, flush=True)


def _stamps(files: tuple[Path, ...]) -> list[tuple[int, int]]:
    return [((found := path.stat()).st_mtime_ns, found.st_ino) for path in files]


async def serve(settings: Settings) -> None:
    """Runs until SIGTERM or SIGINT."""
    proxy = DebugProxy(settings)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await proxy.start()
    log(f"listens on {proxy.port}")
    await stopped.wait()
    await proxy.stop()
