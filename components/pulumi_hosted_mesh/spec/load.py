"""Reading a document or a component's arguments: to a model, or to one clear error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pulumi import Output
from pydantic import BaseModel, ValidationError

from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Model

M = TypeVar("M", bound=Model)
MERGE = "tag:yaml.org,2002:merge"
Location = Sequence[str | int]

# What PyYAML raises; the last two for a date or a number that is none (2024-13-01), and for what nests too deep.
UNPARSABLE = (yaml.YAMLError, ValueError, RecursionError)
# Characters: a kubeconfig of a thousand clusters has six million. Of more PyYAML would make gigabytes, for minutes.
LONGEST = 8 * 2**20
NOT_TEXT = Problem("(file)", "cannot be read: it is not UTF-8 text", "Save it as UTF-8, or name another file")
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
OTHER_VERSION = "If a newer hosted-mesh made the file, install that one here; else have it made anew"
OUTPUT = (
    "is an Output, but names of objects, rules and what a preview shows depend on it",
    "Give the value itself, from configuration for one; docs/components/hosted-mesh.md lists what may be an Output",
)


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


def read_file(model: type[M], path: Path) -> M:
    """The document that a YAML file holds. Raises: InvalidInputError."""
    return read_text(model, text_of_file(path), str(path))


def text_of_file(path: Path) -> str:
    """The text of a file, without the mark at its start that some editors put there. Raises: InvalidInputError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        problem = NOT_TEXT
    except OSError as error:
        problem = Problem("(file)", f"cannot be read: {error.strerror}", "Check the path")
    raise InvalidInputError([problem], str(path))


def read_text(model: type[M], text: str, source: str) -> M:
    """The document that YAML or JSON text holds. Raises: InvalidInputError."""
    return read(model, parsed(text, source), source)


def parsed(text: str, source: str) -> object:
    """What YAML or JSON text says, in which no key may be repeated. Raises: InvalidInputError."""
    if len(text) > LONGEST:
        rule = f"is longer than {LONGEST // 2**20} MiB, which no document is"
        raise InvalidInputError([Problem("(file)", rule, "Name the document that is meant")], source)
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a safe loader)
    except UNPARSABLE as error:
        raise InvalidInputError([_unparsable(error)], source) from None


def _unparsable(error: Exception) -> Problem:
    """Why YAML could not be parsed, without its own words, which repeat what stands there."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}" if mark else "file"
    if isinstance(error, RepeatedKeyError):
        rule, fix = "is given twice in one mapping, so the first would be dropped", "Make one of the two"
        return Problem(f"{error.problem} ({where})", rule, fix)
    if isinstance(error, yaml.composer.ComposerError) and "single document" in str(error.context):
        return Problem(f"({where})", "begins a second document, but a file holds one", "Give each a file of its own")
    if isinstance(error, yaml.YAMLError):
        return Problem(f"({where})", "is not valid YAML", "Correct the syntax")
    if isinstance(error, RecursionError):
        return Problem("(file)", "nests too deep to be read", "Give the document that is meant")
    return Problem("(file)", "holds a date or a number that is none", "Correct it, or put it in quotes")


def read(model: type[M], document: object, source: str = "the document") -> M:
    """What parsed YAML describes. source: where it stands, for errors.

    Raises: InvalidInputError with every problem found, each naming the field, the rule and the fix.
    """
    return _validated(model, document, source, by_name=False)


def read_arguments(model: type[M], arguments: object, source: str = "the component's arguments") -> M:
    """What a component's arguments describe: fields in snake_case, without those that are None.

    A model that has been read already is taken as it is. Raises: InvalidInputError.
    """
    if isinstance(arguments, model):
        return arguments
    if found := [Problem(path_of(location), *OUTPUT) for location in outputs_in(arguments)]:
        raise InvalidInputError(found, source)
    return _validated(model, _given(arguments), source, by_name=True)


def outputs_in(arguments: Any) -> Iterator[Location]:
    """Where Outputs are in arguments."""
    if isinstance(arguments, Output):
        yield ()
    inner: Any = ()
    if isinstance(arguments, Mapping):
        inner = arguments.items()
    elif isinstance(arguments, list | tuple):
        inner = enumerate(arguments)
    for step, value in inner:
        yield from ((step, *rest) for rest in outputs_in(value))


def _given(arguments: Any) -> Any:
    """Without what is None: other languages' SDKs send what was left out so."""
    if isinstance(arguments, Mapping):
        return {key: _given(value) for key, value in arguments.items() if value is not None}
    if isinstance(arguments, list | tuple):
        return [_given(value) for value in arguments]
    return whole(arguments)


def whole(value: Any) -> Any:
    """A value as it was before the engine carried it: every number is a float there, 15012.0."""
    if isinstance(value, Mapping):
        return {key: whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _validated(model: type[M], document: object, source: str, *, by_name: bool) -> M:
    if not isinstance(document, Mapping):
        rule = f"must be a mapping of fields to values{', and is empty' if document is None else ''}"
        raise InvalidInputError([Problem("(document)", rule, "`hosted-mesh schema --kind KIND` says which")], source)
    try:
        return model.model_validate(document, by_alias=True, by_name=by_name)
    except ValidationError as error:
        problems = [
            _problem(model, one["type"], one["loc"], one.get("ctx", {}), one["input"], is_file=not by_name)
            for one in error.errors()
        ]
        raise InvalidInputError(problems, source) from None


def _walk(model: type[BaseModel], location: Location) -> tuple[list[str | int], list[type[BaseModel]]]:
    """The location as it is written, and the models that may stand there; none where names are free.

    Pydantic puts the tag of a tagged union in between, which is no step of a path in the document.
    """
    written, models = list[str | int](), [model]
    for step in location:
        tagged = [one for one in models if step in get_args(getattr(one.model_fields.get("kind"), "annotation", None))]
        if tagged:
            models = tagged
            continue
        written.append(step)
        if isinstance(step, str):
            fields = [field for one in models for field in one.model_fields.values() if step == field.alias]
            models = [found for field in fields for found in models_in(field.annotation)]
    return written, models


def _problem(
    model: type[Model], kind: str, location: Location, context: Mapping[str, object], value: object, *, is_file: bool
) -> Problem:
    """The problem without the value, which may be a secret."""
    another = model.handed_over and is_file
    if location and location[-1] == "[key]":  # pydantic's mark for the name of an entry, not its value
        location = location[:-1]
    field = path_of(_walk(model, location)[0])
    broken = context.get("error")
    if isinstance(broken, RuleBrokenError):
        return Problem(field, broken.rule, broken.fix)
    if kind == "missing":
        return Problem(field, "is required", "Add it")
    if kind == "extra_forbidden":
        return Problem(field, "is not a field of the document", OTHER_VERSION if another else _known(model, location))
    if kind == "literal_error":
        return Problem(field, f"must be {context.get('expected')}", OTHER_VERSION if another else "Change its value")
    if kind == "string_type" and isinstance(value, bool | int | float | date):
        return Problem(field, TYPES[kind], _in_quotes(model, location, value))
    if kind in TYPES:
        return Problem(field, TYPES[kind], "Change its value")
    if kind == "union_tag_invalid":
        return Problem(f"{field}.kind", f"must be one of {context.get('expected_tags')}", "Choose one of these")
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


def _known(model: type[BaseModel], location: Location) -> str:
    return nearest(str(location[-1]), fields_at(model, location[:-1]), "The fields here are")


def nearest(name: str, known: Iterable[str], these: str) -> str:
    """What somebody may have meant by an unknown name, for a fix; else all names, after the words in `these`."""
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {near[0]}?" if near else f"{these} {', '.join(sorted(known))}"


def fields_at(model: type[BaseModel], location: Location) -> list[str]:
    """The names, as written in YAML, of the fields that the part of the document at `location` may have.

    None where names are free, as in a mapping of environment variables.
    """
    models = _walk(model, location)[1]
    return list(dict.fromkeys(str(field.alias) for one in models for field in one.model_fields.values()))


def models_in(annotation: object) -> list[type[BaseModel]]:
    """The models in the annotation of a field, those of a union among them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in models_in(part)]


def path_of(location: Location) -> str:
    """`("dataPlane", "gateways", 0, "name")` as `dataPlane.gateways[0].name`."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "(document)"
