"""Checks before the first resource that every chart of a document exists."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_hosted_mesh.charts.directory import local_chart
from pulumi_hosted_mesh.spec.charts import ChartSource
from pulumi_hosted_mesh.spec.cluster import ClusterBase
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.mesh import Mesh


def check_charts(mesh: Mesh) -> None:
    """Raises InvalidInputError if a local directory lacks a chart, or has one that is too old."""
    for _, charts, name in charts_of(mesh):
        local_chart(charts, name)


def charts_of(document: Model) -> Iterator[tuple[str, ChartSource, str]]:
    """The charts of a document's resources: the document's section, such as `revisions[0].charts`, its content, and the
    chart's name."""
    match document:
        case Mesh():
            gateways = any(one.gateways for one in document.memberships)
            for at, revision in enumerate(document.revisions):
                for name in ("base", "istiod", *(["gateway"] if gateways else [])):
                    yield f"revisions[{at}].charts", revision.charts, name
        case DataPlane():
            for name in ("istiod", *(["gateway"] if document.gateways else [])):
                yield "charts", document.charts, name
        case ClusterBase():
            yield "charts", document.charts, "base"
