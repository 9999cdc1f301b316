"""Serves one provider to the engine: port, method table, errors, and its end."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from sandbox.plugins.protocol.errors import ProviderError
from sandbox.plugins.protocol.stubs import grpc, message_factory, provider_pb2

UNLIMITED: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
"""Options of a channel or server: the engine sends and accepts messages of any length."""
_ORPHAN_POLL = 2.0  # seconds between two looks whether the engine still lives


def serve(provider: object) -> None:
    """Prints the port on standard output, serves until the engine stops us (SIGINT, SIGTERM) or is gone.

    provider: an object with a method for each implemented protocol method, in snake case, request in, response out
    (`check_config` for CheckConfig). Every other method answers UNIMPLEMENTED, with its name.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = grpc.server(ThreadPoolExecutor(), options=UNLIMITED)
    server.add_generic_rpc_handlers((_handlers(provider),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # The engine reads exactly one line; later output must not look like protocol.
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdout = sys.stderr
    engine = os.getppid()
    while not stop.wait(_ORPHAN_POLL):
        if os.getppid() != engine:
            break
    # Does not wait for a thread that still makes a key: the engine has gone.
    os._exit(0)


def _handlers(provider: object) -> Any:
    service = provider_pb2.DESCRIPTOR.services_by_name["ResourceProvider"]
    methods = {method.name: _handler(provider, method) for method in service.methods if not method.server_streaming}
    return grpc.method_handlers_generic_handler(service.full_name, methods)


def _handler(provider: object, method: Any) -> Any:
    request_class = message_factory.GetMessageClass(method.input_type)
    response_class = message_factory.GetMessageClass(method.output_type)
    function = getattr(provider, snake_case(method.name), None)
    behaviour = _unimplemented(method.name) if function is None else _guarded(function)
    return grpc.unary_unary_rpc_method_handler(
        behaviour,
        request_deserializer=request_class.FromString,
        response_serializer=response_class.SerializeToString,
    )


def snake_case(name: str) -> str:
    """GetPluginInfo -> get_plugin_info."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _unimplemented(name: str) -> Callable[[Any, Any], Any]:
    def answer(_: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the stand-in plug-in does not implement {name}")

    return answer


def _guarded(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def answer(request: Any, context: Any) -> Any:
        try:
            return function(request)
        except ProviderError as failure:
            context.abort(grpc.StatusCode.UNKNOWN, str(failure))
        except Exception as failure:  # a bug of the stand-in: the engine shows the message, its log has the trace
            traceback.print_exc(file=sys.stderr)
            context.abort(grpc.StatusCode.INTERNAL, f"fault in the stand-in plug-in: {failure!r}")

    return answer
