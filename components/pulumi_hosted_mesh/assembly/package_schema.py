"""The schema of the Pulumi package: the host's, with enumerations and marked secrets.

Pulumi's component host infers a schema from the components' annotations. It cannot mark secrets, and it passes
enumerations to components as Python enums. So this module adds both to the schema only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import pulumi
from pulumi.provider.experimental.component import ComponentProvider
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.exposure import KINDS, LoadBalancerExposure
from pulumi_hosted_mesh.spec.fields import models_in
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.typed_dicts import ROOTS, name_of
from pulumi_hosted_mesh.vocabulary import PACKAGE

DISTRIBUTION: Final = "pulumi-hosted-mesh"
FILE: Final = Path(__file__).parents[1] / "_generated" / "schema" / "pulumi-package.json"
SECRETS: Final = frozenset(
    {
        "cacerts",
        "kubeconfig",
        "privateKey",
        "publisherKubeconfig",
        "readerKubeconfig",
    }
)
"""Properties that hold credentials. SDKs make an Output of such an input, so mappings with plain keys are not among
them: the components make secrets of their values."""
FLATTENED: Final[Mapping[str, type[BaseModel]]] = {"HostedMesh": Mesh, "MeshDeployment": Deployment}
"""Components with a document's fields as arguments. They require the control plane's cluster."""
EXPOSURE_KIND: Final = "ExposureKind"


def provider(components: Sequence[type[pulumi.ComponentResource]]) -> ComponentProvider:
    """Pulumi's provider for the components, with this schema."""
    made = ComponentProvider(list(components), PACKAGE, version=version(DISTRIBUTION))
    made.schema = json.dumps(_complete(json.loads(made.schema or "")))
    return made


def text_of(served: str | None) -> str:
    """A provider's schema for the repository, without its version."""
    found = json.loads(served or "")
    del found["version"]
    return f"{schema.text_of(found)}\n"


def _complete(served: dict[str, Any]) -> dict[str, Any]:
    types, resources = served["types"], served["resources"]
    enums: dict[str, list[tuple[str, str]]] = {}
    for model in dict.fromkeys(found for root in ROOTS for found in _models(root)):
        name = "ExposureArgs" if model is LoadBalancerExposure else name_of(model)
        places = [types.get(_token(name), {}).get("properties", {})]
        places += [resources[_token(one)]["inputProperties"] for one, of in FLATTENED.items() if of is model]
        for field_name, field in model.model_fields.items():
            for enum, words in _closed_set(model, field_name, field.annotation):
                for properties in places:
                    if to_camel(field_name) in properties:
                        _refer(properties[to_camel(field_name)], enum)
                        enums[enum] = words
    for name, words in enums.items():
        types[_token(name)] = {"type": "string", "enum": [{"name": name, "value": value} for name, value in words]}
    for one in FLATTENED:
        if one == "HostedMesh":  # with split: false it has none
            continue
        required = resources[_token(one)]["requiredInputs"]
        resources[_token(one)]["requiredInputs"] = sorted({*required, "controlPlane"})
    for resource in resources.values():
        for part in ("properties", "inputProperties"):
            _mark_secrets(resource.get(part) or {})
    for one in types.values():
        _mark_secrets(one.get("properties") or {})
    return served


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for found in models_in(field.annotation):
            yield from _models(found)


def _closed_set(model: type[BaseModel], name: str, annotation: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Name and members of a field's enumeration, if it has one."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield annotation.__name__, [(one.name, str(one.value)) for one in annotation]
    elif model is LoadBalancerExposure and name == "kind":
        yield EXPOSURE_KIND, [(one.upper().replace("-", "_"), one) for one in KINDS]
    elif get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _closed_set(model, name, part)


def _refer(part: dict[str, Any], enum: str) -> None:
    """Replaces the innermost string of a property by a reference to the enumeration."""
    for inner in ("items", "additionalProperties"):
        if inner in part:
            return _refer(part[inner], enum)
    part.pop("type", None)
    part["$ref"] = f"#/types/{_token(enum)}"
    return None


def _mark_secrets(properties: Mapping[str, dict[str, Any]]) -> None:
    for name in SECRETS & properties.keys():
        properties[name]["secret"] = True


def _token(name: str) -> str:
    return f"{PACKAGE}:index:{name}"
