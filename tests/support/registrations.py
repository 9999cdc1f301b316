"""The engine's resource monitor in memory, for programs that run in this process (`without_engine`).

It names resources as the engine does. A subclass defines the answers: `tests.corpus.simulated_engine` lets the policies
judge each registration, `tests.unit.library.program` records them.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import struct_pb2
from pulumi.runtime import mocks
from pulumi.runtime.proto import resource_pb2

STACK = "pulumi:pulumi:Stack"


class Registrations(mocks.MockMonitor):
    """Takes registrations. project, stack: those of the URNs."""

    def __init__(self, project: str, stack: str) -> None:
        self.resources = {}
        self.project, self.stack = project, stack
        self.stack_urn = ""

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """As the engine makes it (New in Pulumi's urn.go): with the types of all parents."""
        above = parent.split("::")[2] if parent else ""
        types = f"{above}$" if above not in ("", STACK) else ""
        return f"urn:pulumi:{self.stack}::{self.project}::{types}{type_}::{name}"

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == STACK:
            self.stack_urn = urn
            return resource_pb2.RegisterResourceResponse(urn=urn)
        own_id, outputs = self.registered(urn, request)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=own_id, object=outputs)

    def registered(self, urn: str, request: Any) -> tuple[str, struct_pb2.Struct]:
        """The id and the outputs of a resource."""
        raise NotImplementedError
