"""Reading a document: from text or from parsed YAML to a `Mesh`, or to one clear error."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.mesh import Mesh

M = TypeVar("M", bound=Model)
MERGE = "tag:yaml.org,2002:merge"
Location = Sequence[str | int]

# pydantic's error types that say no more than "of another type", in the words of a YAML document.
TYPES = {
    "string_type": "must be text",
    "int_type": "must be a whole number, without quotes",
    "bool_type": "must be true or false, without quotes",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "model_attributes_type": "must be a mapping of fields to values",
}


class RepeatedKeyError(yaml.MarkedYAMLError):
    """A mapping has two entries of one name. YAML's readers would keep the last and drop the first without a word."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which also refuses repeated keys."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGE:
                if (key.tag, key.value) in seen:
                    raise RepeatedKeyError(problem=key.value, problem_mark=key.start_mark)
                seen.add((key.tag, key.value))
        return node


def read_mesh(document: object, source: str = "the mesh document") -> Mesh:
    """The mesh that parsed YAML describes.

    Raises: InvalidInputError with every problem found, each naming the field, the rule and the fix.
    """
    return read(Mesh, document, source)


def read_mesh_file(path: Path) -> Mesh:
    """The mesh that a YAML file describes. Raises: InvalidInputError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not UTF-8 text"
        raise InvalidInputError([Problem("(file)", f"cannot be read: {reason}", "Check the path")], str(path)) from None
    return read_mesh_text(text, str(path))


def read_mesh_text(text: str, source: str = "the mesh document") -> Mesh:
    """The mesh that YAML or JSON text describes. Raises: InvalidInputError."""
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "file"
        if isinstance(error, RepeatedKeyError):
            rule, fix = "is given twice in one mapping, so the first would be dropped", "Make one of the two"
            raise InvalidInputError([Problem(f"{error.problem} ({where})", rule, fix)], source) from None
        raise InvalidInputError([Problem(f"({where})", "is not valid YAML", "Correct the syntax")], source) from None
    return read_mesh(document, source)


def read(model: type[M], document: object, source: str) -> M:
    """The same for any part of a document."""
    if not isinstance(document, Mapping):
        raise InvalidInputError(
            [Problem("(document)", "must be a mapping of fields to values", "See the schema")], source
        )
    try:
        return model.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        problems = [
            _problem(model, one["type"], one["loc"], one.get("ctx", {}), one["input"]) for one in error.errors()
        ]
        raise InvalidInputError(problems, source) from None


def _problem(
    model: type[BaseModel], kind: str, location: Location, context: Mapping[str, object], value: object
) -> Problem:
    """The problem without the value, which may be a secret."""
    if location and location[-1] == "[key]":  # pydantic's mark for the name of an entry, not its value
        location = location[:-1]
    field = path_of(location)
    broken = context.get("error")
    if isinstance(broken, RuleBrokenError):
        return Problem(field, broken.rule, broken.fix)
    if kind == "missing":
        return Problem(field, "is required", "Add it")
    if kind == "extra_forbidden":
        return _unknown_field(model, location)
    if kind == "string_type" and isinstance(value, bool | int | float | date):
        return Problem(field, TYPES[kind], _in_quotes(model, location, value))
    if kind in TYPES:
        return Problem(field, TYPES[kind], "Change its value")
    if kind == "enum":
        return Problem(field, f"must be one of {context.get('expected')}", "Choose one of these")
    if kind == "string_pattern_mismatch":
        return Problem(field, f"must match {context.get('pattern')}", "Change its value")
    bounds = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}
    if kind in bounds:
        words, key = bounds[kind]
        return Problem(field, f"must be {words} {context.get(key)}", "Change its value")
    return Problem(field, f"does not fit ({kind.replace('_', ' ')})", "See the schema")


def _in_quotes(model: type[BaseModel], location: Location, value: object) -> str:
    """How to make text of what YAML reads as a number, a date or true.

    A whole number is repeated if it stands in a field of the document: no such field holds a secret. Anything else is
    not, for YAML does not tell how it was written (1.30 or 1.3, on or true).
    """
    name = location[-1]
    known = isinstance(name, str) and name in fields_at(model, location[:-1])
    shown = value if known and type(value) is int else "..."
    return f'Put it in quotes, like {name}: "{shown}"' if known else "Put it in quotes"


def _unknown_field(model: type[BaseModel], location: Location) -> Problem:
    known = sorted(fields_at(model, location[:-1]))
    near = difflib.get_close_matches(str(location[-1]), known, n=1)
    fix = f"Did you mean {near[0]}?" if near else f"The fields here are {', '.join(known)}"
    return Problem(path_of(location), "is not a field of the document", fix.rstrip("."))


def fields_at(model: type[BaseModel], location: Location) -> list[str]:
    """The names, as written in YAML, of the fields that the part of the document at `location` may have.

    None where names are free, as in a mapping of environment variables.
    """
    for step in location:
        if isinstance(step, str):
            field = next(f for f in model.model_fields.values() if f.alias == step)
            part = _model_in(field.annotation)
            if part is None:
                return []
            model = part
    return [str(field.alias) for field in model.model_fields.values()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def path_of(location: Location) -> str:
    """`("dataPlane", "gateways", 0, "name")` as `dataPlane.gateways[0].name`."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "(document)"
