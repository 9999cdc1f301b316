"""The engine's messages to a pack for a synthetic stack, sent to the pack without an engine.

For stacks that take the engine too long. The pack's work for a message does not depend on its sender; the bench
measures one size both ways, to show that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf import struct_pb2
from google.protobuf.json_format import ParseDict
from hosted_mesh_plan.decode import SECRET, SIGNATURE
from pulumi.runtime.proto import analyzer_pb2 as protocol

from bench.policies.synthetic import Planned, planned
from sandbox.plugins.protocol.server import UNLIMITED

STACK: Final = "urn:pulumi:bench::hosted-mesh-bench::pulumi:pulumi:Stack::hosted-mesh-bench-bench"
SERVERS: Final = {"cp": "https://control-plane.example.com:6443", "dp": "https://data-plane.example.com:6443"}


def send(pack: Path, log: Path, resources: int, secrets: int) -> int:
    """Lets a pack judge a first preview of a synthetic stack. Returns the number of findings; there should be none."""
    environment = os.environ | {"BENCH_PACK_LOG": str(log)}
    with subprocess.Popen([sys.executable, str(pack)], stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}", options=UNLIMITED) as channel:
                return _send(channel, list(planned(resources, secrets)))
        finally:
            process.terminate()


def _send(channel: grpc.Channel, objects: list[Planned]) -> int:
    def method(name: str) -> Any:
        return channel.unary_unary(
            f"/pulumirpc.Analyzer/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=protocol.AnalyzeResponse.FromString,
        )

    method("Configure")(protocol.ConfigureAnalyzerRequest())
    method("ConfigureStack")(
        protocol.AnalyzerStackConfigureRequest(stack="bench", project="hosted-mesh-bench", dry_run=True)
    )
    analyze, found = method("Analyze"), 0
    for one in requests(objects):
        found += len(analyze(one).diagnostics)
    return found + len(method("AnalyzeStack")(whole(objects)).diagnostics)


def requests(objects: list[Planned]) -> Iterator[protocol.AnalyzeRequest]:
    """The engine's message before each write: inputs, with secrets marked."""
    for side in SERVERS:
        provider = _provider(side)
        yield protocol.AnalyzeRequest(
            type=provider.type, urn=provider.urn, name=provider.name, properties=provider.properties
        )
    for one in objects:
        yield protocol.AnalyzeRequest(**_registered(one))


def whole(objects: list[Planned]) -> protocol.AnalyzeStackRequest:
    """The engine's message at the end: outputs, and the source of each property."""
    return protocol.AnalyzeStackRequest(
        resources=[
            protocol.AnalyzerResource(
                **_registered(one),
                parent=STACK,
                propertyDependencies={key: protocol.AnalyzerPropertyDependencies() for key in one.manifest},
            )
            for one in objects
        ]
    )


def _registered(one: Planned) -> dict[str, Any]:
    """The common part of both messages about a resource."""
    kind = f"kubernetes:core/v1:{one.kind}"
    return {
        "type": kind,
        "urn": _urn(kind, one.name),
        "name": one.name,
        "properties": properties(one),
        "options": protocol.AnalyzerResourceOptions(parent=STACK),
        "provider": _provider(one.side),
    }


def properties(one: Planned) -> struct_pb2.Struct:
    data: dict[str, Any] = one.manifest
    if one.secret:
        data["stringData"] = {SIGNATURE: SECRET, "value": dict(one.secret)}
    return ParseDict(data, struct_pb2.Struct())


def _urn(kind: str, name: str) -> str:
    return f"urn:pulumi:bench::hosted-mesh-bench::{kind}::{name}"


def _provider(side: str) -> protocol.AnalyzerProviderResource:
    name = {"cp": "control-plane-cluster", "dp": "data-plane-cluster"}[side]
    kubeconfig = (
        f"apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{{name: x, context: {{cluster: x, user: x}}}}]\n"
        f"clusters: [{{name: x, cluster: {{server: '{SERVERS[side]}'}}}}]\nusers: [{{name: x, user: {{}}}}]\n"
    )
    return protocol.AnalyzerProviderResource(
        type="pulumi:providers:kubernetes",
        urn=_urn("pulumi:providers:kubernetes", name),
        name=name,
        properties=ParseDict({"kubeconfig": kubeconfig}, struct_pb2.Struct()),
    )
