"""By which labels Pods of a cluster ask for which mesh, as far as one program knows: two meshes cannot share one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from pulumi.runtime.settings import get_root_resource

from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

_of_programs: WeakKeyDictionary[Any, dict[tuple[str, str], str]] = WeakKeyDictionary()


def claim(server: object, names: Iterable[str], mesh: str) -> None:
    """Notes that a mesh's webhooks are asked about Pods by these names: its revisions, and their tags.

    server: of the data plane's API server; one that is not known yet cannot be compared.
    Raises: InvalidInputError if another mesh's are asked about the same Pods, each of which would be injected twice.
    """
    program = get_root_resource()
    if program is None or not isinstance(server, str):
        return
    owners = _of_programs.setdefault(program, {})
    for name in names:
        owner = owners.setdefault((address.normal(server), name), mesh)
        if owner != mesh:
            rule = f"are `{name}` in the meshes {owner} and {mesh}, which are in one cluster, so both inject its Pods"
            fix = "Give the revisions of one of the two a name, and its tags other names"
            raise InvalidInputError([Problem("revisions and tags", rule, fix)], f"mesh {mesh}")
