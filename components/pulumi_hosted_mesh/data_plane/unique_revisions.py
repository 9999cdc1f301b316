"""Checks that revisions and tags are unique in a cluster, within one program."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from weakref import ref

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.boundary.per_stack_registry import PerStackRegistry
from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

_owners: PerStackRegistry[tuple[object, str], str] = PerStackRegistry()


def require_unique_revisions(cluster: Cluster, names: Iterable[str], mesh: str) -> None:
    """Records the revisions and tags of a mesh in a cluster.

    Raises: InvalidInputError if another mesh has one of them there: both would inject the same Pods.
    """
    owners = _owners.current()
    for name, key in itertools.product(names, _keys(cluster)):
        owner = owners.setdefault((key, name), mesh)
        if owner != mesh:
            rule = f"are `{name}` in the meshes {owner} and {mesh}, which are in one cluster, so both inject its Pods"
            fix = "Name the revisions of one of the two, and rename its tags"
            raise InvalidInputError([Problem("revisions and tags", rule, fix)], f"mesh {mesh}")


def _keys(cluster: Cluster) -> Iterator[object]:
    """The keys that identify a cluster. An address that is an Output is not compared."""
    yield ref(cluster)
    if cluster.identity:
        yield "identity", cluster.identity
    if isinstance(cluster.server, str):
        yield "server", canonical.server(cluster.server)
