"""Istio's custom resource definitions in the data plane's cluster.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import NotRequired, TypedDict

import pulumi

from pulumi_hosted_mesh._generated.inputs import ChartsArgs
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.charts.chart import crds_chart
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.data_plane.values import crds_values
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_DATA_PLANE_CRDS


class DataPlaneCrdsArgs(TypedDict):
    """The arguments of the definitions that all meshes of a cluster share."""

    cluster: DataPlaneCluster
    """The data plane's cluster."""
    charts: NotRequired[ChartsArgs]
    """The source of Istio's charts, and their version."""
    keep_on_destroy: NotRequired[bool]
    """False: the definitions are removed with the stack, and with them every Istio object. Default: true."""


class DataPlaneCrds(pulumi.ComponentResource):
    """The base chart with the remote profile. A component of its own, because it is slow to diff and rarely changes.

    Raises: InvalidInputError if the cluster is not a data plane, or the charts are missing or too old.
    """

    def __init__(self, name: str, args: DataPlaneCrdsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"DataPlaneCrds {name}"
        args = typed_arguments(DataPlaneCrdsArgs, args, called)
        refuse_providers(opts, called)
        charts = read_arguments(Charts, args.get("charts") or {})
        super().__init__(TYPE_DATA_PLANE_CRDS, name, {}, opts)
        crds_chart(
            f"{name}-base",
            charts=charts,
            cluster=DataPlaneCluster.of(args["cluster"], name=name, parent=self),
            values=crds_values(),
            parent=self,
            keep=args.get("keep_on_destroy", True) is not False,
        )
        self.register_outputs({})
