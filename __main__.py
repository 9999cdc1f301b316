"""The program: reads the stack's document and builds the stack that it names."""

from __future__ import annotations

import pulumi
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.stack import StackKind

from stacks import access, all_in_one, configuration, control_plane, data_plane, trust

BUILD = {
    StackKind.ALL_IN_ONE: all_in_one.build,
    StackKind.TRUST: trust.build,
    StackKind.ACCESS: access.build,
    StackKind.CONTROL_PLANE: control_plane.build,
    StackKind.DATA_PLANE: data_plane.build,
}

try:
    settings, mesh = configuration.read_configuration()
    outputs = BUILD[settings.stack](mesh, settings)
except InvalidInputError as mistake:
    # The language host prints a RunError as one message, without a stack trace.
    raise pulumi.RunError(str(mistake)) from None

for name, value in outputs.items():
    pulumi.export(name, value)
