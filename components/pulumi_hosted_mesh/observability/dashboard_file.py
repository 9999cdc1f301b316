"""Writes the dashboard of MeshObservability: `python -m pulumi_hosted_mesh.observability.dashboard_file`.

Grafana's foundation SDK makes the JSON. It is a package of development alone: users get the file.
"""

from __future__ import annotations

import json

from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, QueryVariable
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.timeseries import Panel
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

from pulumi_hosted_mesh.observability import dashboards

SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
HEIGHT, WIDTH = 8, 12


def text() -> str:
    """The dashboard, JSON."""
    made = (
        Dashboard("Mesh from outside")
        .uid("hosted-mesh")
        .description("Metrics that a mesh's proxies push to its control plane.")
        .tags(["hosted-mesh", "istio"])
        .refresh("30s")
        .time("now-1h", "now")
        .readonly()
        .with_variable(DatasourceVariable("source").label("Prometheus").type("prometheus"))
        .with_variable(
            QueryVariable(dashboards.VARIABLE)
            .label("Mesh")
            .datasource(SOURCE)
            .query("label_values(hosted_mesh_collector_streams, tenant)")
            .refresh(VariableRefresh.ON_DASHBOARD_LOAD)
        )
    )
    for one in dashboards.PANELS:
        panel = Panel().title(one.title).description(one.description).unit(one.unit).datasource(SOURCE).min(0)
        panel = panel.height(HEIGHT).span(WIDTH).legend(VizLegendOptions().show_legend(True))
        for number, (expression, legend) in enumerate(one.queries):
            panel = panel.with_target(
                Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + number)).range()
            )
        made = made.with_panel(panel)
    return json.dumps(json.loads(JSONEncoder(sort_keys=True).encode(made.build())), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    dashboards.FILE.parent.mkdir(exist_ok=True)
    dashboards.FILE.write_text(text())
