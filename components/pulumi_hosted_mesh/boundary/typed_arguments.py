"""Checks a component's arguments against its TypedDict: Python itself checks neither names nor types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, TypeVar, Union, cast, get_args, get_origin, is_typeddict

from pulumi_hosted_mesh.boundary.arguments import is_later
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import OUTPUT, TYPES, nearest

A = TypeVar("A")
MAPPINGS = (dict, Mapping)
PLAIN = {str: "string_type", bool: "bool_type", int: "int_type"}


def typed_arguments(kind: type[A], given: object, called: str) -> A:
    """The arguments without None, checked against the names and types of `kind`, a TypedDict.

    Documents and clusters are checked only for being mappings: their readers check the content. called: the component,
    for errors. Raises: InvalidInputError with every problem found.
    """
    if not isinstance(given, Mapping):
        fix = f"Give a dictionary, {kind.__name__}"
        raise InvalidInputError([Problem("args", "must be a mapping of arguments to values", fix)], called)
    found = {str(name): value for name, value in given.items() if value is not None}
    forms: dict[str, Any] = kind.__annotations__
    required = [name for name, form in forms.items() if get_origin(form) is not NotRequired]
    problems = [
        Problem(name, "is not an argument", nearest(name, forms, "The arguments are")) for name in found.keys() - forms
    ]
    problems += [Problem(name, "is required", "Add it") for name in required if name not in found]
    for name, value in found.items():
        problems += _wrong(name, value, forms.get(name, Any))
    if problems:
        raise InvalidInputError(problems, called)
    return cast(A, found)


def _wrong(path: str, value: Any, form: Any, *, later: bool = False) -> Iterator[Problem]:
    """The problems of a value. later: whether it may be an Output, as part of an Input."""
    if get_origin(form) is NotRequired:
        (form,) = get_args(form)
    if get_origin(form) is Union:  # pulumi.Input, the only union in arguments
        form, later = get_args(form)[0], True
    if is_later(value):
        if not later and form is not Any:
            yield Problem(path, *OUTPUT)
    elif get_origin(form) in MAPPINGS or is_typeddict(form):
        if not isinstance(value, Mapping | Model):
            yield Problem(path, TYPES["dict_type"], "Change its value")
        elif get_origin(form) in MAPPINGS:
            for key, inner in dict(value).items():
                yield from _wrong(f"{path}.{key}", inner, get_args(form)[1], later=later)
    elif get_origin(form) is list:
        if not isinstance(value, list | tuple):
            yield Problem(path, TYPES["list_type"], "Change its value")
        else:
            for position, inner in enumerate(value):
                yield from _wrong(f"{path}[{position}]", inner, get_args(form)[0], later=later)
    elif form in PLAIN and not _is(form, value):
        yield Problem(path, TYPES[PLAIN[form]], "Change its value")


def _is(form: type, value: object) -> bool:
    """Whether a value is of a plain type. A component host passes whole numbers as 2.0."""
    if form is int:
        whole = value.is_integer() if isinstance(value, float) else isinstance(value, int)
        return whole and not isinstance(value, bool)
    return isinstance(value, form)
