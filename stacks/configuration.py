"""The stack's configuration, typed: what to build, and the mesh document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import path_of, read, read_mesh, read_mesh_file
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

HERE = Path(__file__).parent
SOURCE = "the stack's configuration"
MESH = "mesh"


def read_configuration() -> tuple[StackSettings, Mesh]:
    """The stack's settings and its mesh. Raises: InvalidInputError."""
    config = pulumi.Config()
    written = {str(field.alias): config.get(str(field.alias)) for field in StackSettings.model_fields.values()}
    given = {key: _parsed(key, value) for key, value in written.items() if value is not None}
    settings = read(StackSettings, given, SOURCE)
    document = config.get(MESH)
    if document is None:
        problem = Problem(path_of([MESH]), "is required", "Give the mesh document, or the name of a file in stacks/")
        raise InvalidInputError([problem], SOURCE)
    parsed = _parsed(MESH, document)
    if isinstance(parsed, str):
        return settings, read_mesh_file(HERE / parsed)
    return settings, read_mesh(parsed)


def _parsed(key: str, value: str) -> Any:
    """Pulumi hands objects over as JSON text, and plain values as they are. Raises: InvalidInputError."""
    if not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        fix = "Write it as YAML in the stack's file, or set its parts with `pulumi config set --path`"
        raise InvalidInputError([Problem(key, "begins like JSON, but is not valid JSON", fix)], SOURCE) from None
