"""Stack `cluster`: the part of a data plane's cluster that all its memberships share: Istio's CRDs."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import ClusterBase, DataPlaneCrds, StackSettings, data_plane_cluster

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
