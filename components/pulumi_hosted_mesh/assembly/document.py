"""Makes a component's arguments from a document: kubeconfig files become cluster wrappers, or mappings."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, Final, cast

from pulumi_hosted_mesh._generated.inputs import EndpointArgs
from pulumi_hosted_mesh.applications.application_deployment import ApplicationDeploymentArgs
from pulumi_hosted_mesh.applications.document import with_manifests
from pulumi_hosted_mesh.applications.placement import placed
from pulumi_hosted_mesh.assembly.deployment_plan import planned
from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMeshArgs
from pulumi_hosted_mesh.assembly.mesh_deployment import MeshDeploymentArgs
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.application import Application, ApplicationCluster
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.deployment import Deployment, DeploymentCluster
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document_file
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP

CONTROL_PLANE_FIELD: Final = "controlPlane.cluster"


def read_mesh(path: str | Path) -> HostedMeshArgs:
    """The arguments of a HostedMesh from a mesh document, a YAML file. Raises: InvalidInputError."""
    mesh = read_document_file(Mesh, Path(path))
    return _arguments(
        mesh,
        _from_file(mesh.control_plane.cluster, CONTROL_PLANE_FIELD, str(path)) if mesh.split else None,
        [_from_file(one.cluster, _field(position), str(path)) for position, one in enumerate(mesh.memberships)],
    )


def read_deployment(path: str | Path) -> MeshDeploymentArgs:
    """The arguments of a MeshDeployment from a deployment document, a YAML file. Raises: InvalidInputError.

    It reads only the kubeconfigs of selected clusters.
    """
    deployment = read_document_file(Deployment, Path(path))
    arguments: dict[str, Any] = deployment.model_dump(exclude_unset=True, exclude={"control_plane", "clusters"})
    rest = deployment.control_plane.model_dump(exclude_unset=True, exclude={"cluster"})
    control_plane = _from_file(deployment.control_plane.cluster, CONTROL_PLANE_FIELD, str(path))
    arguments["control_plane"] = {**rest, "cluster": control_plane}
    used = {one.cluster.name for one in planned(deployment)}
    arguments["clusters"] = _clusters(deployment.clusters, used, str(path))
    return cast(MeshDeploymentArgs, arguments)


def read_application(path: str | Path) -> ApplicationDeploymentArgs:
    """The arguments of an ApplicationDeployment from an application document, a YAML file. Raises: InvalidInputError.

    It reads the files of all parts, and the kubeconfigs of clusters with a part.
    """
    application = with_manifests(read_document_file(Application, Path(path)), Path(path).parent)
    arguments: dict[str, Any] = application.model_dump(exclude_unset=True, exclude={"clusters"})
    arguments["clusters"] = _clusters(application.clusters, placed(application), str(path))
    return cast(ApplicationDeploymentArgs, arguments)


def read_endpoint(path: str | Path) -> EndpointArgs:
    """The `endpoint` of a RemoteDataPlane from an endpoint file, in YAML. Raises: InvalidInputError."""
    facts = read_document_file(EndpointDocument, Path(path)).model_dump(exclude_none=True)
    return cast(EndpointArgs, facts)


def hosted_mesh_args(mesh: Mesh, source: str) -> HostedMeshArgs:
    """The arguments of a program's only HostedMesh, with its clusters' providers named by role.

    source: the document in errors. Raises: InvalidInputError.
    """
    if not mesh.split:
        return _arguments(mesh, None, [_from_file(mesh.memberships[0].cluster, _field(0), source)])
    memberships = [
        data_plane_cluster(
            one.cluster, _field(position), source, name=None if one.name == DEFAULT_MEMBERSHIP else one.name
        )
        for position, one in enumerate(mesh.memberships)
    ]
    return _arguments(mesh, control_plane_cluster(mesh.control_plane.cluster, CONTROL_PLANE_FIELD, source), memberships)


def _arguments(mesh: Mesh, control_plane: object, memberships: Sequence[object]) -> HostedMeshArgs:
    """control_plane: None for a mesh of one cluster."""
    arguments: dict[str, Any] = mesh.model_dump(exclude_unset=True, exclude={"control_plane", "memberships"})
    rest = mesh.control_plane.model_dump(exclude_unset=True, exclude={"cluster"})
    if control_plane is not None:
        arguments["control_plane"] = {**rest, "cluster": control_plane}
    elif rest:
        arguments["control_plane"] = rest
    arguments["memberships"] = [
        {**one.model_dump(exclude_unset=True, exclude={"cluster"}), "cluster": cluster}
        for one, cluster in zip(mesh.memberships, memberships, strict=True)
    ]
    return cast(HostedMeshArgs, arguments)


def _clusters(
    clusters: Sequence[DeploymentCluster | ApplicationCluster], used: Container[str], source: str
) -> list[dict[str, Any]]:
    """The arguments of a document's clusters. used: names of those with a kubeconfig to read."""
    found = []
    for position, one in enumerate(clusters):
        given = one.model_dump(exclude_unset=True, exclude={"cluster"})
        if one.name in used:
            given["cluster"] = _from_file(one.cluster, f"clusters[{position}].cluster", source)
        found.append(given)
    return found


def _field(position: int) -> str:
    return f"memberships[{position}].cluster"


def _from_file(reference: ClusterReference | None, field: str, source: str) -> dict[str, Any]:
    """A cluster as a mapping: the component names its provider, so a program may have several meshes."""
    found = _required(reference, field, source)
    config = kubeconfig.read(found, field, source)
    return {"kubeconfig": config.text, "identity": config.identity, "client": found.client_settings}


def control_plane_cluster(reference: ClusterReference | None, field: str, source: str) -> ControlPlaneCluster:
    """The control plane's cluster of a document. field, source: the field and the document in errors.

    Raises: InvalidInputError.
    """
    found = _required(reference, field, source)
    return ControlPlaneCluster.from_config(kubeconfig.read(found, field, source), client=found.client_settings)


def data_plane_cluster(
    reference: ClusterReference | None, field: str, source: str, *, name: str | None = None
) -> DataPlaneCluster:
    """A data plane's cluster of a document. field, source: the field and the document in errors.

    Raises: InvalidInputError.
    """
    found = _required(reference, field, source)
    return DataPlaneCluster.from_config(kubeconfig.read(found, field, source), name=name, client=found.client_settings)


def _required(reference: ClusterReference | None, field: str, source: str) -> ClusterReference:
    if reference is None:
        rule, fix = "is required here", "Name the kubeconfig and the context of the cluster"
        raise InvalidInputError([Problem(field, rule, fix)], source)
    return reference
