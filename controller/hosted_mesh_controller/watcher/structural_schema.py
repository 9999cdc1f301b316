"""The structural schema of a custom resource, from a document's JSON Schema: the user's fields, and refusals of others.

An API server removes unknown fields, often without an error. So each field of the provider's is in the schema, with a
rule that rejects it and gives the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pulumi_hosted_mesh import Model

from hosted_mesh_controller.documents import EACH, Place

Schema = dict[str, Any]
SET_BY: Final = "x-set-by"
PROVIDERS: Final = "is set by the provider: leave it out, or request it from the provider"
_OPERATOR: Final = "control plane's operator"
_KEPT: Final[tuple[str, ...]] = (
    "type",
    "description",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "enum",
)
_ANY_OBJECT: Final[Schema] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class SchemaReader:
    """Reads the JSON Schema of a document.

    begin: the document's place. users: places of the user's fields. reasons: of a rejection, other than the provider.
    """

    def __init__(
        self, document: type[Model], begin: Place, users: Collection[Place], reasons: Mapping[Place, str]
    ) -> None:
        self._root = document.model_json_schema(by_alias=True)
        self._begin, self._users, self._reasons = begin, frozenset(users), reasons

    def structural(self) -> Schema:
        """The structural schema of the document."""
        return self._partial(self._root, self._begin)

    def _partial(self, schema: Schema, place: Place) -> Schema:
        """The schema of a part with fields of both: those of the provider have a rule that rejects them."""
        if place in self._users:
            return self._whole(schema)
        found = self._resolved(schema)
        if not any(one[: len(place)] == place for one in self._users):
            return refused(self._whole(schema), self._reasons.get(place, PROVIDERS))
        if found.get("type") == "array":
            listed: Schema = {key: found[key] for key in ("type", "description") if key in found}
            return {**listed, "items": self._partial(found["items"], (*place, EACH))}
        fields = {name: self._partial(one, (*place, name)) for name, one in found["properties"].items()}
        kept: Schema = {"description": _line(found["description"])} if "description" in found else {}
        return {"type": "object", **kept, "properties": fields}

    def _whole(self, schema: Schema) -> Schema:
        """The schema of a part, with all of its fields."""
        found = self._resolved(schema)
        made: Schema = {key: found[key] for key in _KEPT if key in found}
        if "description" in made:
            made["description"] = _line(made["description"])
        if "const" in found:
            made["enum"] = [found["const"]]
        if found.get("format") == "hostname":
            made["format"] = "hostname"
        if "exclusiveMinimum" in found:
            made |= {"minimum": found["exclusiveMinimum"], "exclusiveMinimum": True}
        if found.get("type") == "array":
            made["items"] = self._whole(found["items"])
        elif found.get("type") == "object":
            made |= self._fields(found)
        elif "type" not in found and "enum" not in found:
            # Any value: JSON Schema of `Any` has no type.
            made["x-kubernetes-preserve-unknown-fields"] = True
        return made

    def _fields(self, found: Schema) -> Schema:
        if "properties" in found:
            made: Schema = {"properties": {name: self._whole(one) for name, one in found["properties"].items()}}
            return made | ({"required": found["required"]} if found.get("required") else {})
        patterns = list(found.get("patternProperties", {}).values())
        values = found.get("additionalProperties", True) if not patterns else patterns[0]
        return {"additionalProperties": self._whole(values)} if isinstance(values, dict) else dict(_ANY_OBJECT)

    def _resolved(self, schema: Schema) -> Schema:
        """The schema without references and alternatives: an optional value as its value, a union as all its fields."""
        if "$ref" in schema:
            target = self._root["$defs"][schema["$ref"].rpartition("/")[2]]
            return self._resolved({**target, **{key: one for key, one in schema.items() if key != "$ref"}})
        alternatives: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
        choices = [one for one in alternatives if one.get("type") != "null"]
        if not choices:
            return schema
        outer = {key: one for key, one in schema.items() if key not in ("anyOf", "oneOf")}
        parts = [self._resolved(one) for one in choices]
        if len(parts) == 1:
            return {**parts[0], **outer}
        if any(one.get("type") != "object" or "properties" not in one for one in parts):
            raise TypeError(f"a union that is no union of models: {schema}")
        return {"type": "object", "properties": self._united(parts), **outer}

    def _united(self, parts: list[Schema]) -> Schema:
        fields: Schema = {}
        for part in parts:
            for name, one in part["properties"].items():
                before = fields.get(name)
                if before is None or "const" not in one:
                    fields.setdefault(name, one)
                    continue
                values = [*before.get("enum", [before.get("const")]), one["const"]]
                fields[name] = {key: value for key, value in before.items() if key != "const"} | {"enum": values}
        return fields


def owners_fields(document: type[Model], part: str) -> Iterator[str]:
    """The fields of a list's entries that their marks do not give to the control plane's operator. part: the list."""
    root = document.model_json_schema(by_alias=True)
    definitions: Mapping[str, Schema] = root["$defs"]
    entry = root["properties"][part]["items"]["$ref"].rpartition("/")[2]
    for name, field in definitions[entry]["properties"].items():
        target = definitions[field["$ref"].rpartition("/")[2]] if "$ref" in field else {}
        if field.get(SET_BY, target.get(SET_BY, _OPERATOR)) != _OPERATOR:
            yield name


def refused(schema: Schema, message: str) -> Schema:
    """A field that is always rejected. The value's type stays: the API server evaluates no rule on an untyped one."""
    kind = schema.get("type", "string" if "enum" in schema else "object")
    made: Schema = {"type": kind, "description": f"Rejected: it {message}."}
    if kind == "object":
        made = {**_ANY_OBJECT, **made}
    if kind == "array":
        # Of one type: the API server evaluates no rule on a list of untyped entries.
        items = schema.get("items", {}).get("type", "object")
        made |= {"items": dict(_ANY_OBJECT) if items == "object" else {"type": items}}
    rule = {"rule": "false", "message": message, "reason": "FieldValueForbidden"}
    return {**made, "x-kubernetes-validations": [rule]}


def _line(text: str) -> str:
    return " ".join(text.split())
