"""JSON Schemas of the mesh document and of stack files, for editors and for other tools.

Both are committed beside this module; a test compares them with what is generated here.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

HERE = Path(__file__).parent
MESH_SCHEMA = HERE / "mesh.schema.json"
STACK_SCHEMA = HERE / "stack.schema.json"
PROJECT = "hosted-mesh"


class _WithoutTitles(GenerateJsonSchema):
    """Titles that only repeat a field's name are noise in an editor."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 (pydantic names it)
        return False


def _schema_of(model: type[Model]) -> dict[str, Any]:
    """The model's JSON Schema with the fields' docstrings.

    Pydantic can read those itself (`use_attribute_docstrings`), but does so whenever the models are imported: 0.04 s of
    each run of a program, for texts that only the committed schema needs.
    """
    schema = model.model_json_schema(by_alias=True, schema_generator=_WithoutTitles)
    parts = {**schema["$defs"], model.__name__: schema}
    for part in _models():
        if part.__name__ in parts:
            properties, texts = parts[part.__name__]["properties"], _docstrings(part)
            for name in part.model_fields.keys() & texts.keys():
                alias = str(part.model_fields[name].alias)
                properties[alias] = dict(sorted({**properties[alias], "description": texts[name]}.items()))
    return schema


def _models(above: type[Model] = Model) -> Iterator[type[Model]]:
    for model in above.__subclasses__():
        yield model
        yield from _models(model)


def _docstrings(model: type[Model]) -> dict[str, str]:
    """What is written below each field, also of the models that this one extends."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__[: model.__mro__.index(Model)]):
        (definition,) = ast.parse(inspect.getsource(owner)).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in pairwise(definition.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = inspect.cleandoc(text)
    return found


def mesh_schema() -> dict[str, Any]:
    """JSON Schema of a mesh document."""
    schema = _schema_of(Mesh)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Mesh document"}


def stack_schema() -> dict[str, Any]:
    """JSON Schema of a `Pulumi.<stack>.yaml` file: our keys are checked, other keys are left to Pulumi."""
    settings = _schema_of(StackSettings)
    mesh = mesh_schema()
    definitions = {**mesh.pop("$defs"), **settings.pop("$defs")}
    mesh.pop("$schema")
    document = {
        "description": "The mesh document, or the name of a file beside this one that holds it.",
        "anyOf": [mesh, {"type": "string"}],
    }
    keys = {f"{PROJECT}:{name}": field for name, field in settings["properties"].items()}
    config = {
        "type": "object",
        "properties": {**keys, f"{PROJECT}:mesh": document},
        "required": [f"{PROJECT}:stack", f"{PROJECT}:mesh"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of hosted-mesh",
        "type": "object",
        "properties": {"config": config},
        "required": ["config"],
        "$defs": definitions,
    }


def text_of(schema: dict[str, Any]) -> str:
    """A schema as it is committed."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write() -> None:
    """Writes both files; run as `hosted-mesh schema --write`."""
    MESH_SCHEMA.write_text(text_of(mesh_schema()), encoding="utf-8")
    STACK_SCHEMA.write_text(text_of(stack_schema()), encoding="utf-8")
