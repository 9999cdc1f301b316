"""The dashboard: current, over series that exist. tests/live/mesh/test_pushed_metrics.py asks Prometheus for them."""

from __future__ import annotations

import json
import re

import pytest
from pulumi_hosted_mesh.observability import dashboard_file, dashboards, rules

from agents.metrics_collector import series

RECORDED = {one["record"] for one in rules.groups("demo")["groups"][0]["rules"]}


def test_the_file_is_current() -> None:
    assert dashboards.FILE.read_text() == dashboard_file.text(), (
        "write it: python -m pulumi_hosted_mesh.observability.dashboard_file"
    )


def test_grafana_gets_each_query_for_the_chosen_mesh() -> None:
    made = json.loads(dashboards.dashboard())
    found = [target["expr"] for panel in made["panels"] for target in panel["targets"]]
    assert found == [expression for panel in dashboards.PANELS for expression, _ in panel.queries]
    assert all('tenant="$mesh"' in expression for expression in found)
    assert {one["name"] for one in made["templating"]["list"]} == {"source", "mesh"}


@pytest.mark.parametrize("expression", [query for panel in dashboards.PANELS for query, _ in panel.queries])
def test_queries_are_of_series_that_exist(expression: str) -> None:
    names = set(re.findall(r"([a-z_]+(?::[a-z_0-9]+)*)\{", expression))
    assert names
    for name in names - RECORDED:
        assert (
            name.startswith("hosted_mesh_collector_")
            or name.removesuffix("_bucket") in series.COUNTERS | series.HISTOGRAMS
        ), name
