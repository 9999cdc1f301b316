"""The text of docs/components/fields.md, from the documents' models, so that the page cannot say anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any, Final

from pydantic import BaseModel

from pulumi_hosted_mesh.spec.cluster import ClusterBase
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsEdgeStack, DnsStack
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
from pulumi_hosted_mesh.spec.load import models_in
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import RootSettings, StackSettings

HEAD = """\
# Every field

All fields of all [documents](mesh-document.md), with types and defaults. The page is generated from their models, by
`python -m pulumi_hosted_mesh.operations.fields_page`. As arguments of a component in Python a field's name is in
snake_case, `sourceRanges` as `source_ranges`.

"""
DOCUMENTS: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "Mesh document": (Mesh,),
    "Data plane's document": (DataPlane,),
    "Endpoint": (EndpointDocument,),
    "Deployment document": (Deployment,),
    "Federation document": (Federation, Offer),
    "DNS document": (DnsBridge,),
    "Stack files": (StackSettings, RootSettings, ClusterBase, FederationMember, DnsEdgeStack, DnsStack),
}
WORDS: Final = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
}


def page() -> str:
    """The page's text."""
    seen: set[str] = set()
    parts = []
    for title, models in DOCUMENTS.items():
        parts.append(f"## {title}\n")
        for model in models:
            parts += [_section(one) for one in _parts(model, seen)]
    return HEAD + "\n".join(parts)


def _parts(model: type[BaseModel], seen: set[str]) -> Iterator[type[BaseModel]]:
    """A model, and then those of its fields, each once on the page."""
    if model.__name__ in seen:
        return
    seen.add(model.__name__)
    yield model
    for field in model.model_fields.values():
        for part in models_in(field.annotation):
            yield from _parts(part, seen)


def _section(model: type[BaseModel]) -> str:
    schema = model.model_json_schema(by_alias=True)
    # A model that refers to itself would be under $defs; none does.
    required, definitions = schema.get("required", []), schema.get("$defs", {})
    rows = [
        f"| `{name}` | {_type(one, definitions)} | {_default(one, name in required)} | {_text(one['description'])} |"
        for name, one in schema["properties"].items()
    ]
    head = ["| field | type | default | what it is |", "|---|---|---|---|"]
    return "\n".join([f"### {model.__name__}", "", cleandoc(model.__doc__ or ""), "", *head, *rows, ""])


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A field's type in words; of a part of its own, a link to it."""
    if reference := field.get("$ref"):
        name = reference.rpartition("/")[2]
        found = definitions[name]
        return _choice(found["enum"]) if "enum" in found else f"[{name}](#{name.lower()})"
    if arms := field.get("anyOf") or field.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(arm, definitions) for arm in arms if arm.get("type") != "null"))
    if "const" in field:
        return _choice([field["const"]])
    if "enum" in field:
        return _choice(field["enum"])
    if field.get("type") == "array":
        return f"list: {_type(field['items'], definitions)}"
    values = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
    if isinstance(values[0], dict):
        return f"mapping to: {_type(values[0], definitions)}"
    word = WORDS.get(field.get("type", ""), "anything")
    least, most = field.get("minimum"), field.get("maximum")
    if least is None:
        return word
    return f"{word}, {least} to {most}" if most is not None else f"{word}, {least} or more"


def _choice(values: list[Any]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _default(field: dict[str, Any], required: bool) -> str:
    """Nothing where none is given, and where it is that of a part's own fields."""
    if required:
        return "**required**"
    value = field.get("default")
    if value in (None, [], {}) or isinstance(value, dict):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _text(description: str) -> str:
    return " ".join(description.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
