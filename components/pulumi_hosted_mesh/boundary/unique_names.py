"""Checks that names of components' parts are unique in a program.

Pulumi identifies a resource by its type, the types of its parents, and its own name (the URN), without the names of its
parents. So the member `eu` of a HostedMesh `shop` has the same URN as the part of a HostedMesh `shop-eu`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary, ref

import pulumi
from pulumi.runtime.settings import get_root_resource

from pulumi_hosted_mesh.boundary.per_stack_registry import PerStackRegistry
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import TYPE_ISTIOD, suffixed

OWN_NAME: Final = "own name"
FIX: Final = "Rename the one that is not deployed yet: a new name replaces deployed resources"


@dataclass(frozen=True)
class Part:
    """A resource in a component. types: from the component's child down to it. field: the field that sets its name."""

    types: tuple[str, ...]
    name: str
    field: str


@dataclass(frozen=True)
class _Owner:
    name: str
    called: str
    field: str


_owners: PerStackRegistry[tuple[object, ...], _Owner] = PerStackRegistry()
_types: WeakKeyDictionary[pulumi.Resource, tuple[object, ...]] = WeakKeyDictionary()


def require_unique_names(
    component: pulumi.Resource,
    type_: str,
    name: str,
    parts: Iterable[Part],
    opts: pulumi.ResourceOptions | None,
) -> None:
    """Records the parts of a component. Call it before the first part. type_, name, opts: the component's.

    Components in two parents of another package's type are not compared, nor are components outside of a Python
    program. The engine rejects their duplicates one by one, after it has created other resources.
    Raises: InvalidInputError if another component makes one of the parts.
    """
    within = (*_above(opts.parent if opts else None), type_)
    _types[component] = within
    called = f"{_class(type_)} {name}"
    owners, claimed = _owners.current(), {}
    for part in parts:
        key = (*within, *part.types, part.name)
        owner = owners.get(key)
        if owner and owner.name != name:
            rule = f"makes the {_class(part.types[-1])} {part.name}, as {owner.called} does by its {owner.field}"
            raise InvalidInputError([Problem(part.field, rule, FIX)], called)
        claimed[key] = _Owner(name, called, part.field)
    for key, owner in claimed.items():
        owners.setdefault(key, owner)


def istiods(name: str, mesh: Mesh, *types: str) -> Iterator[Part]:
    """The parts of a mesh's control plane with names of revisions. types: its parents' types."""
    for position, revision in enumerate(mesh.revisions):
        part = suffixed(name, revision.name)
        yield Part((*types, TYPE_ISTIOD), part, f"revisions[{position}].name" if part != name else OWN_NAME)


def _above(parent: pulumi.Resource | None) -> tuple[object, ...]:
    """The key of a parent; equal for two components in one parent, or in parents of the same types."""
    if parent is None or parent is get_root_resource():
        return ()
    return _types.get(parent) or (ref(parent),)


def _class(type_: str) -> str:
    return type_.rpartition(":")[2]
