"""The setter of each field of a document: the control plane's operator, the data plane's owner, or both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.fields import Model, SetBy, Setter, models_in
from pulumi_hosted_mesh.spec.mesh import Mesh

OTHER_SIDE: Final[dict[type[BaseModel], tuple[type[Model], str, str]]] = {
    DataPlane: (Mesh, "mesh document", "Remove it"),
    Mesh: (DataPlane, "data plane's document", "Move it there, or into memberships if one program deploys both sides"),
}
"""For each document the other side's, its name, and the fix for a field of it."""


def fields_with_setters(document: type[Model]) -> Iterator[tuple[type[BaseModel], str, Setter]]:
    """Each field of a document and of its parts: the model with the field, the name in YAML, and the setter.

    A field has the setter of its mark, else of its model, else of the field that holds the model.
    """
    yield from _fields(document, None, ())


def _fields(
    model: type[BaseModel], outer: Setter | None, above: tuple[type[BaseModel], ...]
) -> Iterator[tuple[type[BaseModel], str, Setter]]:
    own = getattr(model, "setter", None) or outer
    for field in model.model_fields.values():
        setter = _mark(field) or own
        if setter is None:
            raise TypeError(f"{above[0].__name__ if above else model.__name__} is a document without a setter")
        yield model, str(field.alias), setter
        for part in models_in(field.annotation):
            if part not in above:
                yield from _fields(part, setter, (*above, model))


def _mark(field: FieldInfo) -> Setter | None:
    found = [one.setter for one in field.metadata if isinstance(one, SetBy)]
    return found[-1] if found else None


def of_the_other_side(document: type[BaseModel], name: str) -> tuple[str, str] | None:
    """The rule and the fix for a field that only the other side's document has; None for other names."""
    if document not in OTHER_SIDE:
        return None
    other, title, fix = OTHER_SIDE[document]
    setters = {alias: setter for model, alias, setter in fields_with_setters(other) if model is other}
    if name not in setters:
        return None
    return f"is not a field of this document: the {setters[name]} sets it, in the {title}", fix
