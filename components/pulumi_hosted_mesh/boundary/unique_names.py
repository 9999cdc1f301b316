"""What components call their parts, as far as one program knows: no two of them may make a part of one name.

Pulumi tells resources apart by their type, the types of what they are in, and their own name, and not by the names of
what they are in (the URN). So the member `eu` of a HostedMesh `shop` is, to the engine, that of a HostedMesh `shop-eu`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary, ref

import pulumi
from pulumi.runtime.settings import get_root_resource

from pulumi_hosted_mesh.boundary.program_memory import ProgramMemory
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import TYPE_ISTIOD, suffixed

OWN_NAME: Final = "own name"
FIX: Final = "Rename the one of the two that is not deployed yet, for another name replaces what is"


@dataclass(frozen=True)
class Part:
    """A resource in a component. types: those from the component down to it. field: what its name is made by."""

    types: tuple[str, ...]
    name: str
    field: str


@dataclass(frozen=True)
class _Owner:
    name: str
    called: str
    field: str


_owners: ProgramMemory[tuple[object, ...], _Owner] = ProgramMemory()
_types: WeakKeyDictionary[pulumi.Resource, tuple[object, ...]] = WeakKeyDictionary()


def claim(
    component: pulumi.Resource,
    type_: str,
    name: str,
    parts: Iterable[Part],
    opts: pulumi.ResourceOptions | None,
) -> None:
    """Notes that a component makes these parts; call it before the first. type_, name, opts: the component's.

    Components in two parents of somebody else's type are not compared, since nobody knows yet what those are in, and
    nothing is outside of a Python program. The engine refuses those, one by one, when it has made others.
    Raises: InvalidInputError if another component makes one of the parts.
    """
    within = (*_above(opts.parent if opts else None), type_)
    _types[component] = within
    called = f"{_class(type_)} {name}"
    owners, claimed = _owners.noted(), {}
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
    """The parts of a mesh's control plane that have the names of revisions. types: what that is in."""
    for position, revision in enumerate(mesh.revisions):
        part = suffixed(name, revision.name)
        yield Part((*types, TYPE_ISTIOD), part, f"revisions[{position}].name" if part != name else OWN_NAME)


def _above(parent: pulumi.Resource | None) -> tuple[object, ...]:
    """What is the same for two components that are in one parent, or in parents of the same types."""
    if parent is None or parent is get_root_resource():
        return ()
    return _types.get(parent) or (ref(parent),)


def _class(type_: str) -> str:
    return type_.rpartition(":")[2]
