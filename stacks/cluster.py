"""Stack `cluster`: what a data plane's cluster has once, however many meshes it is a member of: Istio's CRDs."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import DataPlaneCrds
from pulumi_hosted_mesh.assembly.document import data_plane_cluster
from pulumi_hosted_mesh.spec.cluster import ClusterBase
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs: `version` of the charts."""
    document = configuration.document(ClusterBase, "cluster")
    DataPlaneCrds(
        "istio",
        {
            "cluster": data_plane_cluster(document.cluster, "cluster.cluster", configuration.SOURCE),
            "charts": document.charts.arguments(),
            "keep_on_destroy": document.keep_on_destroy,
        },
    )
    return {"version": document.charts.version}
