"""The parts of compositions whose names are made of several. Pure: no resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pulumi_hosted_mesh.assembly.given_clusters import Place
from pulumi_hosted_mesh.boundary.claimed_names import OWN_NAME, Part, istiods
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import (
    TYPE_DATA_PLANE_ACCESS,
    TYPE_EXTERNAL_CONTROL_PLANE,
    TYPE_HOSTED_MESH,
    TYPE_REMOTE_DATA_PLANE,
    suffixed,
)


def parts_of_mesh(name: str, mesh: Mesh) -> Iterator[Part]:
    """A HostedMesh's. name: of the component. What is in a part of its own name has one, too."""
    for place, membership in enumerate(mesh.memberships):
        prefix = suffixed(name, membership.name)
        field = f"memberships[{place}].name" if prefix != name else OWN_NAME
        yield Part((TYPE_DATA_PLANE_ACCESS,), prefix, field)
        for position, revision in enumerate(mesh.revisions):
            part = suffixed(prefix, revision.name)
            of_revision = field == OWN_NAME and part != prefix
            yield Part((TYPE_REMOTE_DATA_PLANE,), part, f"revisions[{position}].name" if of_revision else field)
    yield from istiods(name, mesh, TYPE_EXTERNAL_CONTROL_PLANE)


def parts_of_deployment(places: Iterable[Place]) -> Iterator[Part]:
    """A MeshDeployment's: a HostedMesh in each place."""
    for place in places:
        yield Part((TYPE_HOSTED_MESH,), place.name, f"{place.field}.name")
