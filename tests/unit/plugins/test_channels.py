"""Programs of one process reach engines that follow each other at one port."""

from __future__ import annotations

from concurrent import futures

import grpc
import pytest
from pulumi.runtime.settings import _GRPC_CHANNEL_OPTIONS

from tests.engine.plugins import stack  # noqa: F401 (it sets the options)


def _served(port: int = 0) -> tuple[grpc.Server, int]:
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, port


def _channel(port: int) -> grpc.Channel:
    """A channel with the options of the tests' programs."""
    return grpc.insecure_channel(f"127.0.0.1:{port}", options=_GRPC_CHANNEL_OPTIONS)


def _asked(channel: grpc.Channel) -> grpc.StatusCode:
    """What a server that serves nothing answers."""
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary("/any/thing")(b"", timeout=30)
    code: grpc.StatusCode = refused.value.code()
    return code


def test_a_new_server_at_the_port_of_one_that_has_gone_answers() -> None:
    first, port = _served()
    with _channel(port) as earlier, _channel(port) as later:  # the SDK leaves its channels open
        _asked(earlier)
        first.stop(0).wait()
        _asked(earlier)
        second, _ = _served(port)
        try:
            assert _asked(later) is grpc.StatusCode.UNIMPLEMENTED
        finally:
            second.stop(0).wait()
