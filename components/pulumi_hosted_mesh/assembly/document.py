"""From a document to a component's arguments: the clusters that it names by file become wrappers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMeshArgs
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.load import read_file
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP


def read_mesh(path: str | Path) -> HostedMeshArgs:
    """The arguments of a HostedMesh from a mesh document, a YAML file. Raises: InvalidInputError."""
    return arguments_of(read_file(Mesh, Path(path)))


def arguments_of(mesh: Mesh) -> HostedMeshArgs:
    """The arguments of a HostedMesh from a document that has been read. Raises: InvalidInputError."""
    arguments: dict[str, Any] = mesh.model_dump(exclude_unset=True, exclude={"control_plane", "memberships"})
    control_plane = mesh.control_plane.model_dump(exclude_unset=True, exclude={"cluster"})
    arguments["control_plane"] = {**control_plane, "cluster": control_plane_cluster(mesh.control_plane.cluster)}
    arguments["memberships"] = [
        {
            **one.model_dump(exclude_unset=True, exclude={"cluster"}),
            "cluster": data_plane_cluster(
                one.cluster,
                f"memberships[{position}].cluster",
                name=None if one.name == DEFAULT_MEMBERSHIP else one.name,
            ),
        }
        for position, one in enumerate(mesh.memberships)
    ]
    return cast(HostedMeshArgs, arguments)


def control_plane_cluster(reference: ClusterReference | None) -> ControlPlaneCluster:
    """The control plane's cluster that a mesh document names. Raises: InvalidInputError."""
    field = "controlPlane.cluster"
    found = _required(reference, field)
    return ControlPlaneCluster.from_config(kubeconfig.read(found, field), client=found.client_settings)


def data_plane_cluster(
    reference: ClusterReference | None, field: str = "cluster", *, name: str | None = None
) -> DataPlaneCluster:
    """A data plane's cluster that a document names. Raises: InvalidInputError."""
    found = _required(reference, field)
    return DataPlaneCluster.from_config(kubeconfig.read(found, field), name=name, client=found.client_settings)


def _required(reference: ClusterReference | None, field: str) -> ClusterReference:
    if reference is None:
        rule, fix = "is required by this stack", "Name the kubeconfig and the context of the cluster"
        raise InvalidInputError([Problem(field, rule, fix)])
    return reference
