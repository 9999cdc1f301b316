"""The generated protocol stubs, without the SDK around them.

Importing `pulumi` takes a quarter of a second, and the engine starts one process per provider. The stubs need no part
of it, so empty modules with only its paths take the place of its packages. Generated code and gRPC have no types:
everything imported here is `Any`, as nothing else in this folder is.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any


def _shells() -> None:
    if "pulumi" in sys.modules:
        return
    spec = importlib.util.find_spec("pulumi")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the Python package pulumi is not installed: it brings the protocol stubs")
    root = Path(spec.origin).parent
    for name, folder in (
        ("pulumi", root),
        ("pulumi.runtime", root / "runtime"),
        ("pulumi.runtime.proto", root / "runtime" / "proto"),
    ):
        shell = types.ModuleType(name)
        shell.__path__ = [str(folder)]
        sys.modules[name] = shell


def _stub(name: str) -> Any:
    return importlib.import_module(f"pulumi.runtime.proto.{name}")


_shells()
grpc: Any = importlib.import_module("grpc")
provider_pb2: Any = _stub("provider_pb2")
plugin_pb2: Any = _stub("plugin_pb2")
struct_pb2: Any = importlib.import_module("google.protobuf.struct_pb2")
empty_pb2: Any = importlib.import_module("google.protobuf.empty_pb2")
message_factory: Any = importlib.import_module("google.protobuf.message_factory")
