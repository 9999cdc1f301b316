"""A program with a cloud's package, previewed without an engine and without the cloud.

    python -m tests.support.cloud_preview PROGRAM ANSWERS

ANSWERS is a JSON file: `outputs` of resources by name, `calls` by token and name of the resource, `config`. Prints the
registrations.
"""

from __future__ import annotations

import json
import runpy
import sys
import unittest.mock
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf import json_format, struct_pb2
from pulumi.runtime import resource
from pulumi.runtime.proto import callback_pb2, resource_pb2

from tests.support.registrations import Registrations
from tests.support.without_engine import perform


class Cloud(Registrations):
    """Answers with a resource's inputs and the given outputs."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__("project", "stack")
        self.answers = answers
        self.found: list[dict[str, Any]] = []

    def registered(self, urn: str, request: Any) -> tuple[str, struct_pb2.Struct]:
        inputs = json_format.MessageToDict(request.object)
        provider = request.provider.rpartition("::")[0].rpartition("::")[2]
        self.found.append({"type": request.type, "name": request.name, "provider": provider, "inputs": inputs})
        outputs = inputs | self.answers["outputs"].get(request.name, {})
        return f"{request.name}-id" if request.custom else "", json_format.ParseDict(outputs, struct_pb2.Struct())

    def Invoke(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        name = json_format.MessageToDict(request.args)["resourceName"]
        answer = self.answers["calls"][f"{request.tok} {name}"]
        return resource_pb2.ResourceInvokeResponse(**{"return": json_format.ParseDict(answer, struct_pb2.Struct())})

    ResourceInvoke = Invoke


class Callbacks:
    """Takes the transforms of charts, as the SDK's server for the engine."""

    def register_transform(self, _: Any) -> callback_pb2.Callback:
        return callback_pb2.Callback(token="t", target="unused")


async def callbacks() -> Callbacks:
    return Callbacks()


def main(program: Path, answers: Path) -> None:
    cloud = Cloud(json.loads(answers.read_text()))
    pulumi.runtime.set_all_config(cloud.answers["config"])
    with unittest.mock.patch.object(resource, "_get_callbacks", callbacks):
        perform(lambda: runpy.run_path(str(program / "__main__.py")), cloud, preview=True)
    print(json.dumps(cloud.found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
