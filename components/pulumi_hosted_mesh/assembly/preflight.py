"""What is checked before the first resource: everything that can be known to be wrong without touching a cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pulumi_hosted_mesh.charts.chart import source
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import kube_system_uid
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
    refuse_same_cluster(found.control_plane, found.data_plane)
    return found


def refuse_same_cluster(control_plane: Kubeconfig, data_plane: Kubeconfig) -> None:
    """Raises InvalidInputError if both are one cluster.

    Told by the API server's address and by the document's identities; by the uid of kube-system where both clusters
    answer; else by their authority: clusters whose authority is the same count as one, unless they were seen to be two
    or the document gives each an identity of its own.
    """
    if control_plane.server == data_plane.server:
        raise _same("has the same API server as controlPlane.cluster")
    named = control_plane.identity and data_plane.identity
    if named and control_plane.identity == data_plane.identity:
        raise _same("has the same identity as controlPlane.cluster")
    with ThreadPoolExecutor(2) as pool:
        uids = set(pool.map(kube_system_uid, (control_plane, data_plane)))
    if None not in uids:
        if len(uids) == 1:
            raise _same("is controlPlane.cluster under another address: both have the same kube-system namespace")
    elif not named and _have_one_authority(control_plane, data_plane):
        raise _same("is controlPlane.cluster under another address: both have the same certificate authority")


def _have_one_authority(one: Kubeconfig, other: Kubeconfig) -> bool:
    first, second = one.certificate_authority, other.certificate_authority
    return bool(first and second) and str(first).strip() == str(second).strip()


def _same(rule: str) -> InvalidInputError:
    fix = "Name the provider's cluster and the user's cluster"
    return InvalidInputError([Problem(DATA_PLANE_FIELD, rule, fix)])


def _read(reference: ClusterReference | None, field: str) -> Kubeconfig:
    if reference is None:
        rule, fix = "is required by this stack", "Name the kubeconfig and the context of the cluster"
        raise InvalidInputError([Problem(field, rule, fix)])
    return kubeconfig.read(reference, field)


def _charts(mesh: Mesh, *names: str) -> None:
    for name in names:
        source(mesh.charts, name)
