"""Validation of documents and components' arguments: returns a model, or raises one error with all problems."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pulumi import Output
from pydantic import BaseModel, ValidationError

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Model, models_in
from pulumi_hosted_mesh.spec.setters import of_the_other_side

M = TypeVar("M", bound=Model)
Location = Sequence[str | int]

# Characters: a kubeconfig of a thousand clusters has six million. PyYAML would parse more for minutes, in gigabytes.
LONGEST = 8 * 2**20
# A hostile document has a problem for each of a hundred thousand fields, and the search for a near name is slow.
MOST_PROBLEMS = 100
NOT_TEXT = Problem("(file)", "cannot be read: it is not UTF-8 text", "Save it as UTF-8, or name another file")
# Valid YAML that no document needs, by PyYAML's error. A subclass is before its base.
UNSUPPORTED: Mapping[type[yaml.YAMLError], tuple[str, str]] = {
    yaml_text.RepeatedPartError: (
        "has aliases that contain themselves, or repeat a part a million times",
        "Write the part out in place of the alias",
    ),
    yaml.composer.ComposerError: (
        "has an alias without an anchor of its name before it, or one anchor twice",
        "Correct the names. Put text that begins with * or & in quotes",
    ),
    yaml.constructor.ConstructorError: (
        "has a tag, a merge (<<) or a kind of key that documents do not have",
        "Remove it, and write keys as text. Put text that begins with ! or { in quotes",
    ),
}
# Messages for pydantic's error types about a value's type, in terms of YAML.
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
OTHER_VERSION = "If a newer hosted-mesh made the file, install that version here; else make the file again"
OUTPUT = (
    "is an Output, but names of objects, rules and previews depend on it",
    "Give the value itself, for example from configuration; docs/components/hosted-mesh.md lists the allowed Outputs",
)


def read_document_file(model: type[M], path: Path) -> M:
    """The document in a YAML file. Raises: InvalidInputError."""
    return read_text(model, text_of_file(path), str(path))


def content_of_file(path: Path) -> object:
    """The content of a YAML file, not yet a document. Raises: InvalidInputError."""
    return content_of_text(text_of_file(path), str(path))


def text_of_file(path: Path) -> str:
    """The text of a file, without a byte order mark. Raises: InvalidInputError.

    Text of several lines is no path: a document's own text, perhaps with a secret, which no error repeats.
    """
    if "\n" in str(path):
        rule, fix = "must be the path of a file, not its text", "Write the fields in its place, or save them as a file"
        raise InvalidInputError([Problem("(file)", rule, fix)], "the text in place of a path")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        problem = NOT_TEXT
    except OSError as error:
        problem = Problem("(file)", f"cannot be read: {error.strerror}", "Check the path")
    except ValueError:  # of the operating system's call, for a zero byte
        problem = Problem("(file)", "is a path with an invalid character", "Correct the path")
    raise InvalidInputError([problem], str(path))


def read_text(model: type[M], text: str, source: str) -> M:
    """The document in YAML or JSON text. source: its name in errors. Raises: InvalidInputError."""
    return read_document(model, content_of_text(text, source), source)


def content_of_text(text: str, source: str) -> object:
    """The content of YAML or JSON text without repeated keys. Raises: InvalidInputError."""
    if len(text) > LONGEST:
        rule = f"is longer than {LONGEST // 2**20} MiB, too long for a document"
        raise InvalidInputError([Problem("(file)", rule, "Name another file")], source)
    try:
        return yaml_text.load(text, unique_keys=True)
    except yaml_text.UNPARSABLE as error:
        raise InvalidInputError([unparsable(error)], source) from None


def unparsable(error: Exception) -> Problem:
    """The problem with unparsable YAML. PyYAML's messages are left out, because they quote the content."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}" if mark else "file"
    if isinstance(error, yaml_text.RepeatedKeyError):
        rule, fix = "is given twice in one mapping, so the first would be dropped", "Merge the two"
        return Problem(f"{error.problem} ({where})", rule, fix)
    if isinstance(error, yaml.composer.ComposerError) and "single document" in str(error.context):
        return Problem(f"({where})", "begins a second document, but a file holds one", "Put each into its own file")
    for kind, (rule, fix) in UNSUPPORTED.items():
        if isinstance(error, kind):
            return Problem(f"({where})", rule, fix)
    if isinstance(error, yaml.YAMLError):
        return Problem(f"({where})", "is not valid YAML", "Correct the syntax")
    if isinstance(error, RecursionError):
        return Problem("(file)", "is nested too deeply", "Name another file")
    return Problem(f"({where})", "holds an invalid number or character", "Correct it, or put it in quotes")


def read_document(model: type[M], document: object, source: str = "the document") -> M:
    """The document in parsed YAML. source: its name in errors.

    Raises: InvalidInputError with every problem found, each naming the field, the rule and the fix.
    """
    return _validated(model, document, source, by_name=False)


def read_arguments(model: type[M], arguments: object, source: str = "the component's arguments") -> M:
    """The document in a component's arguments: fields in snake_case; None counts as absent.

    A validated model is returned unchanged. Raises: InvalidInputError.
    """
    if isinstance(arguments, model):
        return arguments
    if found := [Problem(field_path(location), *OUTPUT) for location in outputs_in(arguments)]:
        raise InvalidInputError(found, source)
    return _validated(model, _without_none(arguments), source, by_name=True)


def outputs_in(arguments: Any) -> Iterator[Location]:
    """The locations of Outputs in arguments."""
    if isinstance(arguments, Output):
        yield ()
    inner: Any = ()
    if isinstance(arguments, Mapping):
        inner = arguments.items()
    elif isinstance(arguments, list | tuple):
        inner = enumerate(arguments)
    for step, value in inner:
        yield from ((step, *rest) for rest in outputs_in(value))


def _without_none(arguments: Any) -> Any:
    """Arguments without None: other languages' SDKs send it for absent values."""
    if isinstance(arguments, Mapping):
        return {key: _without_none(value) for key, value in arguments.items() if value is not None}
    if isinstance(arguments, list | tuple):
        return [_without_none(value) for value in arguments]
    return whole_numbers(arguments)


def whole_numbers(value: Any) -> Any:
    """A value with whole numbers as int. The engine transports every number as a float, such as 15012.0."""
    if isinstance(value, Mapping):
        return {key: whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _validated(model: type[M], document: object, source: str, *, by_name: bool) -> M:
    if not isinstance(document, Mapping):
        rule = f"must be a mapping of fields to values{', and is empty' if document is None else ''}"
        fix = "Run `hosted-mesh schema --kind KIND` for the fields"
        raise InvalidInputError([Problem("(document)", rule, fix)], source)
    try:
        return model.model_validate(document, by_alias=True, by_name=by_name)
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = [
            _problem(model, one["type"], one["loc"], one.get("ctx", {}), one["input"], is_file=not by_name)
            for one in found[:MOST_PROBLEMS]
        ]
        if more := len(found) - len(problems):
            problems.append(Problem("(document)", f"has {more} problems more", "Correct these first"))
        raise InvalidInputError(problems, source) from None


def _walk(model: type[BaseModel], location: Location) -> tuple[list[str | int], list[type[BaseModel]]]:
    """The location in the document, and the models allowed there; none where names are free.

    Pydantic's location also has the tag of a tagged union, which is no step of the document's path.
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
    """The problem, without the value, because it may be a secret."""
    another = model.handed_over and is_file
    if location and location[-1] == "[key]":  # pydantic's mark for the name of an entry, not its value
        location = location[:-1]
    field = field_path(_walk(model, location)[0])
    broken = context.get("error")
    if isinstance(broken, RuleBrokenError):
        return Problem(field, broken.rule, broken.fix)
    if kind == "missing":
        return Problem(field, "is required", "Add it")
    if kind == "extra_forbidden" and len(location) == 1 and (found := of_the_other_side(model, str(location[0]))):
        return Problem(field, *found)
    if kind == "extra_forbidden":
        return Problem(field, "is not a field of the document", OTHER_VERSION if another else _fields(model, location))
    if kind == "literal_error":
        return Problem(field, f"must be {context.get('expected')}", OTHER_VERSION if another else "Change its value")
    if kind == "string_type" and isinstance(value, bool | int | float):
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
    """The fix for text that YAML reads as a number or true.

    The fix repeats a number as written in a field of the document, because such a field holds no secret.
    """
    name = location[-1]
    is_field = isinstance(name, str) and name in fields_at(model, location[:-1])
    shown = value if type(value) is int or isinstance(value, yaml_text.WrittenInt | yaml_text.WrittenFloat) else "..."
    return f'Put it in quotes, like {name}: "{shown}"' if is_field else "Put it in quotes"


def _fields(model: type[BaseModel], location: Location) -> str:
    return nearest(str(location[-1]), fields_at(model, location[:-1]), "The fields here are")


def nearest(name: str, names: Iterable[str], these: str) -> str:
    """A fix for an unknown name: the closest of `names`, else all names after the words in `these`."""
    near = difflib.get_close_matches(name, sorted(names), n=1)
    return f"Did you mean {near[0]}?" if near else f"{these} {', '.join(sorted(names))}"


def fields_at(model: type[BaseModel], location: Location) -> list[str]:
    """The names in YAML of the fields allowed at `location`.

    Empty where names are free, as in a mapping of environment variables.
    """
    models = _walk(model, location)[1]
    return list(dict.fromkeys(str(field.alias) for one in models for field in one.model_fields.values()))


def field_path(location: Location) -> str:
    """`("dataPlane", "gateways", 0, "name")` as `dataPlane.gateways[0].name`."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "(document)"
