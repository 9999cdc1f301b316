"""The kubeconfigs that a document names: reads each with its context, without a request to a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.cluster import ClusterReference


def references_in(document: BaseModel, source: str, ignored: tuple[str, ...] = ()) -> tuple[list[str], list[Problem]]:
    """Descriptions of the kubeconfigs that can be read here, and the problems of the others.

    ignored: beginnings of fields whose kubeconfigs the program does not read.
    """
    read, unread = list[str](), list[Problem]()
    for field, reference in _references(document, ""):
        if field.startswith(ignored):
            continue
        try:
            found = kubeconfig.read(reference, field, source)
        except InvalidInputError as error:
            unread += error.problems
        else:
            read.append(f"{reference.kubeconfig} with context {found.context} ({field})")
    return read, unread


def _references(value: object, path: str) -> Iterator[tuple[str, ClusterReference]]:
    if isinstance(value, ClusterReference):
        yield path, value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from _references(getattr(value, name), f"{path}.{field.alias}" if path else str(field.alias))
    elif isinstance(value, tuple | list):
        for at, one in enumerate(value):
            yield from _references(one, f"{path}[{at}]")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _references(one, f"{path}.{key}")
