"""Converts a component's arguments to a document, without clusters and Outputs.

An Output is checked by the same rule as a plain value, as soon as it resolves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
from pydantic.alias_generators import to_camel

from pulumi_hosted_mesh.boundary.refusals import printed_at_once
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.data_plane import Access
from pulumi_hosted_mesh.spec.fields import api_server, pem_certificate
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.mesh import Mesh

SOURCE = "the mesh"
CLUSTER = "cluster"
OUTPUTS = {"api_server": api_server, "certificate_authority": pem_certificate}
"""Fields of `access` that may be Outputs, with their rules."""


def mesh_of(arguments: Any) -> Mesh:
    """The mesh in arguments, without clusters and Outputs. Raises: InvalidInputError."""
    if isinstance(arguments, Mesh):
        return arguments
    plain = dict(arguments)
    if isinstance(plain.get("control_plane"), Mapping):
        plain["control_plane"] = without_cluster(plain["control_plane"])
    if isinstance(plain.get("memberships"), list | tuple):
        plain["memberships"] = [without_cluster(one) for one in plain["memberships"]]
    return read_arguments(Mesh, plain, SOURCE)


def access_of(arguments: Any) -> Access:
    """istiod's access in arguments, without Outputs. Raises: InvalidInputError."""
    if isinstance(arguments, Access):
        return arguments
    return read_arguments(Access, without_outputs(arguments), "the access")


def outputs_of(arguments: Any, field: str = "access", source: str = SOURCE) -> dict[str, Any]:
    """The Outputs of an `access`, each checked when it resolves. field, source: its place, for errors."""
    given = in_python(arguments)
    return {
        key: checked(given[key], rule, f"{field}.{to_camel(key)}", source)
        for key, rule in OUTPUTS.items()
        if _is_output(given, key)
    }


def in_python(part: Any) -> Any:
    """An `access` with Python's names for the fields of OUTPUTS, also if it comes from YAML."""
    if not isinstance(part, Mapping):
        return part
    result = dict(part)
    for name in OUTPUTS:
        if to_camel(name) in result and result.get(name) is None:
            result[name] = result.pop(to_camel(name))
    return result


def _is_output(arguments: Any, key: str) -> bool:
    return key in OUTPUTS and isinstance(arguments, Mapping) and is_later(arguments.get(key))


def cluster_of(part: Any, field: str, source: str) -> Any:
    """The cluster of a part of a document. field: the part. Raises: InvalidInputError if it has none."""
    cluster = part.get(CLUSTER) if isinstance(part, Mapping) else None
    if cluster is None:
        rule, fix = "is required here", "Add a kubeconfig, and optionally the context in it"
        raise InvalidInputError([Problem(f"{field}.{CLUSTER}", rule, fix)], source)
    return cluster


def without_cluster(part: Any) -> Any:
    """A part of a document without its cluster, and its access without Outputs."""
    if not isinstance(part, Mapping):
        return part
    rest = {key: value for key, value in part.items() if key != CLUSTER}
    if "access" in rest:
        rest["access"] = without_outputs(rest["access"])
    return rest


def without_outputs(part: Any) -> Any:
    """An `access` without Outputs."""
    given = in_python(part)
    if not isinstance(given, Mapping):
        return part
    return {key: value for key, value in given.items() if not _is_output(given, key)}


def checked(value: Any, rule: Callable[[str], str], field: str, source: str) -> Any:
    """Text checked by a rule of `spec.fields`: plain text at once, an Output or an awaitable when it resolves.

    Raises: InvalidInputError with the field's name, never with the value. For an Output the run ends with this error
    before any object with the value is sent.
    """

    def judged(found: object) -> str:
        try:
            if not isinstance(found, str) or not found.strip():
                raise RuleBrokenError("must be text, and not empty", "Set its value")
            return rule(found)
        except RuleBrokenError as broken:
            raise InvalidInputError([Problem(field, broken.rule, broken.fix)], source) from None

    return when_known(value, judged)


def when_known(value: Any, judged: Callable[[Any], Any]) -> Any:
    """Applies a function to a plain value at once, and to an Output or an awaitable when it resolves.

    judged: the function. Its InvalidInputError is printed at once.
    """
    return pulumi.Output.from_input(value).apply(printed_at_once()(judged)) if is_later(value) else judged(value)


def is_later(value: object) -> bool:
    """Whether a value is an Output or an awaitable."""
    return isinstance(value, pulumi.Output) or inspect.isawaitable(value)
