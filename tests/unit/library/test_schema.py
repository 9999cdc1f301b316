"""The committed JSON Schemas are those of the models, and the committed stack files and examples fit them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.load import read_mesh

from tests.unit.library.documents import document

ROOT = Path(__file__).parents[3]
STACK_FILES = sorted(ROOT.glob("stacks/Pulumi.*.yaml"))
MESH_FILES = [*sorted(ROOT.glob("stacks/*.mesh.yaml")), *sorted(ROOT.glob("examples/**/mesh.yaml"))]


@pytest.mark.parametrize(
    ("path", "generated"),
    [(schema.MESH_SCHEMA, schema.mesh_schema()), (schema.STACK_SCHEMA, schema.stack_schema())],
    ids=["mesh", "stack"],
)
def test_committed_schema_is_current(path: Path, generated: dict[str, Any]) -> None:
    assert path.read_text() == schema.text_of(generated), "run `hosted-mesh schema --write`"
    jsonschema.Draft202012Validator.check_schema(generated)


@pytest.mark.parametrize("path", STACK_FILES, ids=lambda path: path.name)
def test_stack_files_fit(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    jsonschema.validate(content, schema.stack_schema())
    inline = content["config"]["hosted-mesh:mesh"]
    read_mesh(inline if isinstance(inline, dict) else yaml.safe_load((path.parent / inline).read_text()))


@pytest.mark.parametrize("path", MESH_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_mesh_files_fit(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    jsonschema.validate(content, schema.mesh_schema())
    read_mesh(content)


@pytest.mark.parametrize("path", [*STACK_FILES, *MESH_FILES], ids=lambda path: path.name)
def test_editors_find_the_schema(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert json.loads((path.parent / first.partition("=")[2]).read_text())["$schema"]


def test_every_field_is_described() -> None:
    for name, definition in schema.mesh_schema()["$defs"].items():
        assert definition.get("description"), name
        for field, part in definition.get("properties", {}).items():
            assert part.get("description"), f"{name}.{field}"


def test_schema_refuses_what_the_models_refuse() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document({"controlPlane.istiod.replica": 2}), schema.mesh_schema())
