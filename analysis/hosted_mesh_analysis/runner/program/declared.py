"""Declarations of outputs and function results in the program's classes, in a form for messages."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from pulumi import Resource, _types

from ..secrets.made_up import Form

MOST_NESTED: Final = 4
"""Most levels of nested classes: those of some clouds repeat themselves without end."""
_SIMPLE: Final = frozenset({"int", "float", "bool"})


@lru_cache(maxsize=4096)
def form_of(kind: Any, inside: int = 0) -> Form:
    """The form of a type's values; None for a resource, which cannot be made up."""
    kind = _types.unwrap_type(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {typing.Union, types.UnionType}:
        return form_of(next(one for one in arguments if one is not type(None)), inside)
    if origin is typing.Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        allowed = arguments[0] if arguments else next(iter(kind)).value
        return f"={allowed}" if isinstance(allowed, str) else type(allowed).__name__
    if kind is list or (isinstance(origin, type) and issubclass(origin, Sequence)):
        element = form_of(arguments[0], inside) if arguments else None
        return [] if element is None else [element]
    if kind is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {}
    if isinstance(kind, type) and issubclass(kind, Resource):
        return None
    if isinstance(kind, type) and _types.is_output_type(kind):
        return forms_of(_types.output_type_types(kind), inside + 1) if inside < MOST_NESTED else {}
    return name if (name := getattr(kind, "__name__", "")) in _SIMPLE else "str"


def forms_of(kinds: Mapping[str, Any], inside: int = 0) -> dict[str, Form]:
    """The forms of several values by their names."""
    forms = {name: form_of(kind, inside) for name, kind in kinds.items()}
    return {name: form for name, form in forms.items() if form is not None}


def outputs_of(resource: Resource, given: Mapping[str, Any]) -> dict[str, Form]:
    """The forms of a resource's outputs by Pulumi's names. given: its properties; one that is None is an output too, of
    a class without declarations. A cluster returns a Kubernetes object's inputs unchanged."""
    declared = _types.resource_types(type(resource))
    names = _types.resource_py_to_pulumi_names(type(resource))
    own = {names.get(name) or resource.translate_input_property(name): one is None for name, one in given.items()}
    if resource.pulumi_resource_type.startswith("kubernetes:"):
        declared = {name: kind for name, kind in declared.items() if own.get(name)}
    return forms_of({**dict.fromkeys(filter(own.get, own), str), **declared})
