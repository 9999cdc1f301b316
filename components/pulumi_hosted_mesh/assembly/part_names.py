"""The parts of compositions with composed names. Pure: no resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pulumi_hosted_mesh.assembly.cluster_arguments import ClusterArgument
from pulumi_hosted_mesh.boundary.unique_names import OWN_NAME, Part, istiods
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import (
    TYPE_DATA_PLANE_ACCESS,
    TYPE_EXTERNAL_CONTROL_PLANE,
    TYPE_HOSTED_MESH,
    TYPE_REMOTE_DATA_PLANE,
    suffixed,
)


def parts_of_mesh(name: str, mesh: Mesh) -> Iterator[Part]:
    """The parts of a HostedMesh. name: of the component. Children of a part with its own name also have their own."""
    for place, membership in enumerate(mesh.memberships):
        prefix = suffixed(name, membership.name)
        field = f"memberships[{place}].name" if prefix != name else OWN_NAME
        yield Part((TYPE_DATA_PLANE_ACCESS,), prefix, field)
        for position, revision in enumerate(mesh.revisions):
            part = suffixed(prefix, revision.name)
            of_revision = field == OWN_NAME and part != prefix
            yield Part((TYPE_REMOTE_DATA_PLANE,), part, f"revisions[{position}].name" if of_revision else field)
    yield from istiods(name, mesh, TYPE_EXTERNAL_CONTROL_PLANE)


def parts_of_deployment(cluster_arguments: Iterable[ClusterArgument]) -> Iterator[Part]:
    """The parts of a MeshDeployment: a HostedMesh for each cluster."""
    for argument in cluster_arguments:
        yield Part((TYPE_HOSTED_MESH,), argument.name, f"{argument.field}.name")
