"""JSON Schemas of the documents and of stack files, for editors and for other tools.

All are committed beside this module; a test compares them with what is generated here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from pulumi_hosted_mesh.spec import typed_dicts
from pulumi_hosted_mesh.spec.cluster import ClusterBase
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsEdgeStack, DnsStack
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import RootSettings, StackSettings

HERE = Path(__file__).parent
PROJECT = "hosted-mesh"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, type[Model]] = {
    "mesh": Mesh,
    "dataPlane": DataPlane,
    "cluster": ClusterBase,
    "dns": DnsStack,
    "dnsEdge": DnsEdgeStack,
    "root": RootSettings,
    "endpoints": EndpointDocument,
    "federation": Federation,
    "member": FederationMember,
    "offers": Offer,
}
LISTS = ("endpoints", "offers")
"""The documents of stacks, by their keys in the configuration."""


class _WithoutTitles(GenerateJsonSchema):
    """Titles that only repeat a field's name are noise in an editor."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 (pydantic names it)
        return False


def _schema_of(model: type[Model]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True, schema_generator=_WithoutTitles)


def mesh_schema() -> dict[str, Any]:
    """JSON Schema of a mesh document."""
    schema = _schema_of(Mesh)
    return {"$schema": DIALECT, **schema, "title": "Mesh document"}


def data_plane_schema() -> dict[str, Any]:
    """JSON Schema of a data plane's own document."""
    schema = _schema_of(DataPlane)
    return {"$schema": DIALECT, **schema, "title": "Data plane document"}


def endpoint_schema() -> dict[str, Any]:
    """JSON Schema of the file with the control plane's public facts."""
    schema = _schema_of(EndpointDocument)
    return {"$schema": DIALECT, **schema, "title": "Endpoint of a control plane"}


def federation_schema() -> dict[str, Any]:
    """JSON Schema of a federation's document."""
    schema = _schema_of(Federation)
    return {"$schema": DIALECT, **schema, "title": "Federation document"}


def offer_schema() -> dict[str, Any]:
    """JSON Schema of the file with what a peer exports."""
    schema = _schema_of(Offer)
    return {"$schema": DIALECT, **schema, "title": "Offer of a peer"}


def deployment_schema() -> dict[str, Any]:
    """JSON Schema of a deployment's document."""
    schema = _schema_of(Deployment)
    return {"$schema": DIALECT, **schema, "title": "Deployment document"}


def dns_schema() -> dict[str, Any]:
    """JSON Schema of the DNS bridge's document."""
    schema = _schema_of(DnsBridge)
    return {"$schema": DIALECT, **schema, "title": "DNS bridge document"}


def stack_schema() -> dict[str, Any]:
    """JSON Schema of a `Pulumi.<stack>.yaml` file: our keys are checked, other keys are left to Pulumi."""
    settings = _schema_of(StackSettings)
    definitions = settings.pop("$defs")
    keys = {f"{PROJECT}:{name}": field for name, field in settings["properties"].items()}
    for key, model in DOCUMENTS.items():
        schema = _schema_of(model)
        definitions |= schema.pop("$defs", {})
        either = {"anyOf": [schema, {"type": "string"}]}
        description = schema.pop("description", "")
        keys[f"{PROJECT}:{key}"] = {
            "description": f"{description} Or the name of a file beside this one that holds it.".strip(),
            **({"type": "array", "items": either} if key in LISTS else either),
        }
    config = {"type": "object", "properties": keys, "required": [f"{PROJECT}:stack"]}
    return {
        "$schema": DIALECT,
        "title": "Stack file of hosted-mesh",
        "type": "object",
        "properties": {"config": config},
        "required": ["config"],
        "$defs": definitions,
    }


SCHEMAS = {
    HERE / "mesh.schema.json": mesh_schema,
    HERE / "data-plane.schema.json": data_plane_schema,
    HERE / "endpoint.schema.json": endpoint_schema,
    HERE / "federation.schema.json": federation_schema,
    HERE / "offer.schema.json": offer_schema,
    HERE / "deployment.schema.json": deployment_schema,
    HERE / "dns.schema.json": dns_schema,
    HERE / "stack.schema.json": stack_schema,
}
"""The committed files, and what makes each."""


def text_of(schema: dict[str, Any]) -> str:
    """A schema as it is committed."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write() -> None:
    """Writes the schemas and the TypedDicts; run as `hosted-mesh schema --write`."""
    for path, make in SCHEMAS.items():
        path.write_text(text_of(make()), encoding="utf-8")
    typed_dicts.write()
