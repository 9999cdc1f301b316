"""The process that the engine starts: its one line of output, its methods, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbox.plugins
from sandbox.plugins.official import VERSIONS, executable
from sandbox.plugins.protocol.server import snake_case
from sandbox.plugins.protocol.stubs import empty_pb2, grpc, plugin_pb2, provider_pb2

BIN = Path(sandbox.plugins.__file__).parent / "bin"


@pytest.fixture(params=["tls", "random"])
def plugin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A plug-in started as the engine does it, by a link from elsewhere; its name and its process."""
    link = tmp_path / executable(request.param)
    link.symlink_to(BIN / executable(request.param))
    (tmp_path / "sandbox").mkdir()  # a package of our name where the engine runs must not get in the way
    (tmp_path / "sandbox" / "__init__.py").write_text("raise RuntimeError")
    environment = {**os.environ, "HOSTED_MESH_PYTHON": sys.executable}
    process = subprocess.Popen([link], stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
    yield request.param, process
    process.kill()
    process.communicate()


def _call(port: int, method: str, response: Any) -> Any:
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    call = channel.unary_unary(
        f"/pulumirpc.ResourceProvider/{method}",
        request_serializer=empty_pb2.Empty.SerializeToString,
        response_deserializer=response.FromString,
    )
    return call(empty_pb2.Empty(), timeout=10)


def test_a_plug_in_says_its_port_answers_and_goes(plugin: tuple[str, subprocess.Popen[str]]) -> None:
    name, process = plugin
    assert process.stdout is not None
    port = int(process.stdout.readline())
    assert _call(port, "GetPluginInfo", plugin_pb2.PluginInfo).version == VERSIONS[name]
    with pytest.raises(grpc.RpcError) as refused:
        _call(port, "GetMapping", provider_pb2.GetMappingResponse)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "GetMapping" in refused.value.details()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    assert process.stdout.read() == "", "nothing but the port may be on standard output"


@pytest.mark.parametrize(("name", "expected"), [("GetPluginInfo", "get_plugin_info"), ("Diff", "diff")])
def test_method_names(name: str, expected: str) -> None:
    assert snake_case(name) == expected
