"""The former URNs of a resource: from the program's aliases, and from its parent's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hosted_mesh_plan.model import STACK_TYPE


def make_urn(stack: str, project: str, parent: str, kind: str, name: str) -> str:
    """A resource's URN. parent: its parent's; empty for none."""
    types = parent.split("::")[2] + "$" if parent and STACK_TYPE not in parent else ""
    return f"urn:pulumi:{stack}::{project}::{types}{kind}::{name}"


def aliases(request: Any, urn: str, of_parent: Sequence[str]) -> tuple[str, ...]:
    """The other URNs of a resource, as in the engine. request: its registration. of_parent: its parent's."""
    found = [*request.aliasURNs]
    for alias in request.aliases:
        found += [alias.urn] if alias.WhichOneof("alias") == "urn" else _specified(alias.spec, request, urn, of_parent)
    own = [(urn, request.name), *((one, one.rpartition("::")[2]) for one in found)]
    found += [_below(parent, request, one, name) for parent in of_parent for one, name in own]
    return tuple(dict.fromkeys(one for one in found if one != urn))


def _specified(spec: Any, request: Any, urn: str, of_parent: Sequence[str]) -> Iterator[str]:
    _, _, stack_and = urn.partition("urn:pulumi:")
    stack, project, *_ = stack_and.split("::")
    parents = [""] if spec.noParent else [spec.parentUrn] if spec.parentUrn else [request.parent, *of_parent]
    for parent in parents:
        kind, name = spec.type or request.type, spec.name or request.name
        yield make_urn(spec.stack or stack, spec.project or project, parent, kind, name)


def _below(parent: str, request: Any, one: str, name: str) -> str:
    """A child's URN below another name of its parent: a prefix of the parent's name changes too."""
    stack, project, types, _ = one.removeprefix("urn:pulumi:").split("::", 3)
    now, before = request.parent.rpartition("::")[2], parent.rpartition("::")[2]
    if name.startswith(now):
        name = before + name.removeprefix(now)
    return make_urn(stack, project, parent, types.rpartition("$")[2], name)
