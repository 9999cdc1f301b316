"""By which labels Pods of a cluster ask for which mesh, as far as one program knows: two meshes cannot share one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from weakref import ref

from pulumi_hosted_mesh.boundary.program_memory import ProgramMemory
from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

_owners: ProgramMemory[tuple[object, str], str] = ProgramMemory()


def claim(cluster: DataPlaneCluster, names: Iterable[str], mesh: str) -> None:
    """Notes that a mesh's webhooks are asked about Pods by these names: its revisions, and their tags.

    Raises: InvalidInputError if another mesh's are asked about the same Pods, each of which would be injected twice.
    """
    owners = _owners.noted()
    for name, key in itertools.product(names, _known_by(cluster)):
        owner = owners.setdefault((key, name), mesh)
        if owner != mesh:
            rule = f"are `{name}` in the meshes {owner} and {mesh}, which are in one cluster, so both inject its Pods"
            fix = "Give the revisions of one of the two a name, and its tags other names"
            raise InvalidInputError([Problem("revisions and tags", rule, fix)], f"mesh {mesh}")


def _known_by(cluster: DataPlaneCluster) -> Iterator[object]:
    """What is one for one cluster. Its address may be an Output, and is not compared then."""
    yield ref(cluster)
    if cluster.identity:
        yield "identity", cluster.identity
    if isinstance(cluster.server, str):
        yield "server", address.normal(cluster.server)
