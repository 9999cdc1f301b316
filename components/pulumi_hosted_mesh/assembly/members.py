"""The members of a mesh in one program, and the arguments of their components. Pure: no resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh._generated.inputs import ChartSourceArgs
from pulumi_hosted_mesh.assembly.cluster_arguments import ClusterArgument
from pulumi_hosted_mesh.boundary.arguments import SOURCE, in_python, outputs_of
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.directory import newest
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccessArgs
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrdsArgs
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlaneArgs
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Member, Membership, TokenKind
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP, suffixed


@dataclass(frozen=True)
class MeshMember:
    """One data plane of a mesh. prefix: of the names of its components.

    access: arguments of istiod's access; they may be Outputs.
    """

    prefix: str
    mesh: Mesh
    membership: Membership
    cluster: DataPlaneCluster
    access: Any

    def access_args(self) -> DataPlaneAccessArgs:
        """Arguments of its DataPlaneAccess."""
        return {
            "mesh": self.mesh.name,
            "cluster": self.cluster,
            "access": self.access,
            "cluster_id": self.mesh.cluster_id(self.membership),
            "network": self.mesh.network(self.membership),
        }

    def crds_args(self) -> DataPlaneCrdsArgs:
        """Arguments of its DataPlaneCrds: one set for all revisions."""
        return {
            "cluster": self.cluster,
            "charts": newest(one.charts for one in self.mesh.revisions).arguments(),
            "keep_on_destroy": self.membership.crds.keep_on_destroy,
        }

    def remote_data_plane_args(self, revision: Revision, endpoint: ControlPlaneEndpoint) -> RemoteDataPlaneArgs:
        """Arguments of its RemoteDataPlane for one revision. endpoint: the revision's."""
        charts: Any = {key: value for key, value in revision.charts.arguments().items() if key != "version"}
        arguments = remote_data_plane_args(
            self.membership, self.cluster, endpoint, charts, is_first=revision == self.mesh.revisions[0]
        )
        return {**arguments, "wait_for_gateways": revision.istiod.wait_until_ready}


def remote_data_plane_args(
    member: Member,
    cluster: DataPlaneCluster,
    endpoint: ControlPlaneEndpoint,
    charts: ChartSourceArgs,
    *,
    is_first: bool,
) -> RemoteDataPlaneArgs:
    """The arguments of a member's RemoteDataPlane for one revision.

    charts: their source, without the version. is_first: whether it is the first of the mesh's revisions.
    """
    return {
        "cluster": cluster,
        "endpoint": endpoint.as_arguments(),
        "webhooks": member.webhooks.arguments(),
        # Gateways belong to the data plane, not to a revision: the first revision serves them.
        "gateways": [one.arguments() for one in member.gateways] if is_first else [],
        "charts": charts,
        "chart_values": member.chart_values,
    }


def cluster_arguments(name: str, memberships: Sequence[Mapping[str, Any]]) -> list[ClusterArgument]:
    """The data planes' clusters in the arguments of a mesh. name: the component's."""
    return [
        ClusterArgument(_field(position), one, suffixed(name, str(one.get("name") or DEFAULT_MEMBERSHIP)))
        for position, one in enumerate(memberships)
    ]


def with_servers(
    memberships: Sequence[Mapping[str, Any]], clusters: Sequence[DataPlaneCluster]
) -> list[dict[str, Any]]:
    """The memberships with the clusters' API servers as `access.apiServer`, if they are plain and it is not set."""
    result = []
    for membership, cluster in zip(memberships, clusters, strict=True):
        access = in_python(membership.get("access") or {})
        if isinstance(access, Mapping) and access.get("api_server") is None and isinstance(cluster.server, str):
            access = {**access, "api_server": cluster.server}
        result.append({**membership, "access": access})
    return result


def members_of(
    name: str, mesh: Mesh, memberships: Sequence[Mapping[str, Any]], clusters: Sequence[DataPlaneCluster]
) -> list[MeshMember]:
    """A mesh's members, in the document's order. name: of the component. memberships: its arguments.

    Raises: InvalidInputError for a bounded token, because one program cannot renew it.
    """
    bounded = [
        Problem(
            f"{_field(position)}.access.token",
            "is `bounded`, but HostedMesh does not renew tokens",
            "Use the stacks access and control-plane, or leave it out",
        )
        for position, one in enumerate(mesh.memberships)
        if one.access.token is TokenKind.BOUNDED
    ]
    if bounded:
        raise InvalidInputError(bounded, SOURCE)
    return [
        MeshMember(
            suffixed(name, membership.name),
            mesh,
            membership,
            cluster,
            {**membership.access.arguments(), **outputs_of(given.get("access"), f"{_field(position)}.access")},
        )
        for position, (membership, given, cluster) in enumerate(
            zip(mesh.memberships, memberships, clusters, strict=True)
        )
    ]


def _field(position: int) -> str:
    return f"memberships[{position}]"
