"""Istio's custom resource definitions in the user's cluster."""

from __future__ import annotations

import pulumi

from pulumi_hosted_mesh.charts.chart import crds_chart
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, require_data_plane
from pulumi_hosted_mesh.data_plane.values import crds_values
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import TYPE_DATA_PLANE_CRDS


class DataPlaneCrds(pulumi.ComponentResource):
    """The base chart with the remote profile. Apart from the rest, for these are slow to diff and change seldom.

    mesh: the document; `dataPlane.crds` says whether they outlive the stack.
    cluster: the user's cluster.
    Raises: InvalidInputError if the cluster is not a data plane, or the charts cannot be used.
    """

    def __init__(
        self, name: str, *, mesh: Mesh, cluster: DataPlaneCluster, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        require_data_plane(cluster)
        super().__init__(TYPE_DATA_PLANE_CRDS, name, {}, opts)
        crds_chart(
            f"{name}-base",
            mesh=mesh,
            cluster=cluster,
            values=crds_values(mesh),
            parent=self,
            keep=mesh.data_plane.crds.keep_on_destroy,
        )
        self.register_outputs({})
