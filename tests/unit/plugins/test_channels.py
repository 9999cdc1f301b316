"""Programs of one process reach engines that follow each other at one port."""

from __future__ import annotations

from concurrent import futures
from typing import Any

import grpc
import pytest
from pulumi.runtime.settings import _GRPC_CHANNEL_OPTIONS

from tests.engine.plugins import stack  # noqa: F401 (it sets the options)


def _served(port: int = 0) -> tuple[grpc.Server, int]:
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, port


def _asked(port: int) -> grpc.StatusCode:
    """What a server that serves nothing answers by a new channel, which stays open as the SDK's does."""
    with pytest.raises(grpc.RpcError) as refused:
        grpc.insecure_channel(f"127.0.0.1:{port}", options=_GRPC_CHANNEL_OPTIONS).unary_unary("/any/thing")(
            b"", timeout=30
        )
    code: grpc.StatusCode = refused.value.code()
    return code


def test_a_new_server_at_the_port_of_one_that_has_gone_answers() -> None:
    first, port = _served()
    earlier = grpc.insecure_channel(f"127.0.0.1:{port}", options=_GRPC_CHANNEL_OPTIONS)
    call: Any = earlier.unary_unary("/any/thing")
    with pytest.raises(grpc.RpcError):
        call(b"", timeout=30)
    first.stop(0).wait()
    with pytest.raises(grpc.RpcError):
        call(b"", timeout=30)
    second, _ = _served(port)
    try:
        assert _asked(port) is grpc.StatusCode.UNIMPLEMENTED
    finally:
        second.stop(0).wait()
        earlier.close()
