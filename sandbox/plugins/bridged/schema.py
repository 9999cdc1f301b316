"""The schema of a bridged package, for programs in YAML and the commands of `pulumi package`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbox.plugins.bridged.resources import ResourceType

Schema = dict[str, Any]


def package(name: str, version: str, types: Iterable[ResourceType]) -> Schema:
    """The schema of the version of the package, as JSON values. Without descriptions."""
    return {
        "name": name,
        "version": version,
        "meta": {"moduleFormat": "(.*)(?:/[^/]*)"},
        "provider": {},
        "types": {},
        "resources": {kind.token: _resource(kind) for kind in types},
    }


def _resource(kind: ResourceType) -> Schema:
    inputs = {name: _property(one.of) for name, one in kind.attributes.items()}
    required = [name for name, one in kind.attributes.items() if one.required]
    computed = {name: _property(of) for name, of in kind.computed.items()}
    secret = kind.secrets | {name for name, one in kind.attributes.items() if one.secret}
    properties = {name: {**one, "secret": True} if name in secret else one for name, one in (inputs | computed).items()}
    return {
        "properties": properties,
        "required": [*required, *computed],
        "inputProperties": {name: properties[name] for name in inputs},
        "requiredInputs": required,
    }


def _property(of: str) -> Schema:
    """A type of `Attribute.of` as a type of the schema."""
    if of == "any":
        return {"$ref": "pulumi.json#/Any"}
    if of[0] == "[":
        return {"type": "array", "items": _property(of[1:])}
    if of[0] == "{":
        return {"type": "object", "additionalProperties": _property(of[1:])}
    return {"type": of}
