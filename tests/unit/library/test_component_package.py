"""The components as a package for other languages: the host serves a schema with the mesh's document as plain input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

COMPONENTS = Path(__file__).parents[3] / "components"


def schema() -> dict[str, Any]:
    """The package's schema, asked of the host as the engine asks it."""
    command = [sys.executable, str(COMPONENTS / "__main__.py"), "127.0.0.1:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        try:
            port = int(host.stdout.readline())
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                answer = provider_pb2_grpc.ResourceProviderStub(channel).GetSchema(provider_pb2.GetSchemaRequest())
        finally:
            host.terminate()
    found: dict[str, Any] = json.loads(answer.schema)
    return found


def test_schema_of_the_package() -> None:
    served = schema()
    assert served["name"] == "hosted-mesh"
    component = served["resources"]["hosted-mesh:index:HostedMesh"]
    assert component["isComponent"] is True
    assert component["inputProperties"]["document"] == {
        "type": "string",
        "plain": True,
        "description": "The mesh document, as YAML or JSON text.",
    }
    assert component["requiredInputs"] == ["document"]
    assert set(component["properties"]) == {"host", "namespace", "rootCertificate", "injectionLabels"}
