"""A provider plug-in driven by its protocol, without the engine: official or stand-in, it cannot tell who asks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pulumi.runtime.proto import engine_pb2_grpc, status_pb2

from sandbox.bootstrap import CHECKOUT
from sandbox.plugins.protocol.server import UNLIMITED
from sandbox.plugins.protocol.stubs import empty_pb2, grpc, message_factory, plugin_pb2, provider_pb2
from sandbox.plugins.protocol.values import plain, read_struct, write_struct

_METHODS: Final = provider_pb2.DESCRIPTOR.services_by_name["ResourceProvider"].methods_by_name
_LIMIT: Final = 120  # seconds for one call, after which the plug-in hangs
SEED: Final = bytes(range(32))  # of generated names: the engine sends as many

Values = Mapping[str, Any]


class Refused(Exception):
    """The plug-in's error. state: what it says there is all the same, None when there is nothing."""

    def __init__(self, message: str, state: dict[str, Any] | None, identity: str) -> None:
        super().__init__(message)
        self.state = state
        self.identity = identity


class Plugin:
    """A running, configured plug-in. Each method is one call of the protocol, with the fields that the engine sends."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self.abilities: dict[str, bool] = {}

    def call(self, method: str, **fields: Any) -> Any:
        """The response. Fields that are dicts become property values. Raises Refused."""
        described = _METHODS[method]
        request_class = message_factory.GetMessageClass(described.input_type)
        request = request_class(**{name: value for name, value in fields.items() if not isinstance(value, Mapping)})
        for name, value in fields.items():
            if name == "variables":
                request.variables.update(value)
            elif isinstance(value, Mapping):
                write_struct(self._sent(value), getattr(request, name))
        function: Callable[..., Any] = self._channel.unary_unary(
            f"/pulumirpc.ResourceProvider/{method}",
            request_serializer=request_class.SerializeToString,
            response_deserializer=message_factory.GetMessageClass(described.output_type).FromString,
        )
        try:
            return function(request, timeout=_LIMIT)
        except grpc.RpcError as error:
            raise _refused(error) from None

    def _sent(self, value: Values) -> Values:
        """Without marks of secrets where the plug-in does not take them, as the engine does it."""
        takes = self.abilities.get("acceptSecrets") or not self.abilities
        return value if takes else {name: plain(item) for name, item in value.items()}

    def version(self) -> str:
        ask = self._channel.unary_unary(
            "/pulumirpc.ResourceProvider/GetPluginInfo",
            request_serializer=empty_pb2.Empty.SerializeToString,
            response_deserializer=plugin_pb2.PluginInfo.FromString,
        )
        return str(ask(empty_pb2.Empty(), timeout=_LIMIT).version)

    def configure(self, package: str, settings: Mapping[str, str]) -> None:
        """Told once; what the plug-in says that it can do is kept in `abilities`."""
        urn = f"urn:pulumi:recorded::recorded::pulumi:providers:{package}::it"
        self.call("CheckConfig", urn=urn, olds={}, news=settings)
        response = self.call(
            "Configure",
            variables={f"{package}:config:{name}": value for name, value in settings.items()},
            args=settings,
            acceptSecrets=True,
            acceptResources=True,
            sends_old_inputs=True,
            sends_old_inputs_to_delete=True,
        )
        self.abilities = {field.name: value for field, value in response.ListFields()}


def _refused(error: Any) -> Refused:
    """What an error says, with the state that it carries when something was made but did not get ready."""
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for packed in status_pb2.Status.FromString(details).details:
        failed = provider_pb2.ErrorResourceInitFailed()
        if packed.Unpack(failed):
            return Refused(str(error.details()), read_struct(failed.properties), failed.id)
    return Refused(str(error.details()), None, "")


@contextmanager
def running(program: Path, package: str, settings: Mapping[str, str] | None) -> Iterator[Plugin]:
    """The plug-in while the block runs. settings: of the provider, by their names in the protocol; None: not told."""
    engine = grpc.server(ThreadPoolExecutor(8))
    engine_pb2_grpc.add_EngineServicer_to_server(_Engine(), engine)
    port = engine.add_insecure_port("127.0.0.1:0")
    engine.start()
    process = subprocess.Popen(
        [program, f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HOSTED_MESH_PYTHON": sys.executable, "HOSTED_MESH_CHECKOUT": str(CHECKOUT)},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.isdigit(), f"{program.name} did not say its port: {line!r}"
        with grpc.insecure_channel(f"127.0.0.1:{line}", options=UNLIMITED) as channel:
            plugin = Plugin(channel)
            if settings is not None:
                plugin.configure(package, settings)
            yield plugin
    finally:
        process.kill()
        process.wait()
        engine.stop(None)


class _Engine(engine_pb2_grpc.EngineServicer):
    """What a plug-in tells the engine meanwhile, heard and forgotten: words for people, that come at any time."""

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()
