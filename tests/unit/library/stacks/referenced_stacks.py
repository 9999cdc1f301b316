"""Objects and documents for several test modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from tests.unit.library.documents import document

SETTINGS = read_document(
    StackSettings, {"stack": "control-plane", "references": {"trust": "t", "root": "r", "access": "a"}}
)

MESH = read_document(Mesh, document())


@dataclass(frozen=True)
class Outputs:
    """A stack that has these."""

    values: dict[str, Any]

    def get_output(self, name: str) -> pulumi.Output[Any]:
        return pulumi.Output.from_input(self.values.get(name))
