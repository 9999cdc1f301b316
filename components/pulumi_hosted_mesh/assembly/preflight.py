"""What is checked before the first resource: everything that can be known to be wrong without touching a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_hosted_mesh.charts.chart import source
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.distinct import Facts, refuse_same_cluster
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.mesh import Mesh

CONTROL_PLANE_FIELD = "controlPlane.cluster"
DATA_PLANE_FIELD = "dataPlane.cluster"


@dataclass(frozen=True)
class Kubeconfigs:
    """The credentials that a stack works with, one per role."""

    control_plane: Kubeconfig
    data_plane: Kubeconfig


def control_plane(mesh: Mesh) -> Kubeconfig:
    """The provider's cluster for a stack that works there. Raises: InvalidInputError."""
    _charts(mesh, "istiod")
    return _read(mesh.control_plane.cluster, CONTROL_PLANE_FIELD)


def data_plane(mesh: Mesh) -> Kubeconfig:
    """The user's cluster for a stack that works there. Raises: InvalidInputError."""
    _charts(mesh, "base", "istiod", *(["gateway"] if mesh.data_plane.gateways else []))
    return _read(mesh.data_plane.cluster, DATA_PLANE_FIELD)


def both(mesh: Mesh) -> Kubeconfigs:
    """Both clusters, which must be two. Raises: InvalidInputError."""
    found = Kubeconfigs(control_plane(mesh), data_plane(mesh))
    refuse_same_cluster(
        Facts.of(found.data_plane, DATA_PLANE_FIELD), Facts.of(found.control_plane, CONTROL_PLANE_FIELD)
    )
    return found


def _read(reference: ClusterReference | None, field: str) -> Kubeconfig:
    if reference is None:
        rule, fix = "is required by this stack", "Name the kubeconfig and the context of the cluster"
        raise InvalidInputError([Problem(field, rule, fix)])
    return kubeconfig.read(reference, field)


def _charts(mesh: Mesh, *names: str) -> None:
    for name in names:
        source(mesh.charts, name)
