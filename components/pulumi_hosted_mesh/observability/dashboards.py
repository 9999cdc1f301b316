"""Panels of the dashboard for Grafana, over the series of rules.py and of the collector. Pure.

`python -m pulumi_hosted_mesh.observability.dashboard_file` writes the JSON in `_generated/dashboards`, with Grafana's
own library.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "_generated" / "dashboards" / "mesh.json"
LABEL: Final = "grafana_dashboard"
"""The label by which Grafana's sidecar finds ConfigMaps."""
VARIABLE: Final = "mesh"
_OF: Final = f'tenant="${VARIABLE}"'
_BY: Final = f'{_OF}, reporter="destination"'
_BUCKETS: Final = f"istio_request_duration_milliseconds_bucket{{{_BY}}}[5m]"


@dataclass(frozen=True)
class Panel:
    """One graph. unit: of Grafana. queries: an expression and its legend; `$mesh` is the value of `tenant`."""

    title: str
    description: str
    unit: str
    queries: tuple[tuple[str, str], ...]


PANELS: Final = (
    Panel(
        "Requests by edge",
        "Requests per second between workloads, by the reports of the called side.",
        "reqps",
        (
            (
                f"sum by (source_principal, destination_workload) (edge:istio_requests:rate1m{{{_BY}}})",
                "{{source_principal}} to {{destination_workload}}",
            ),
        ),
    ),
    Panel(
        "Answers by code",
        "Requests per second by response code.",
        "reqps",
        ((f"sum by (response_code) (edge:istio_requests:rate1m{{{_BY}}})", "{{response_code}}"),),
    ),
    Panel(
        "Share of errors",
        "Share of 5xx among the answers of a workload within five minutes.",
        "percentunit",
        (
            (
                f"workload:istio_errors:rate5m{{{_OF}}} / workload:istio_requests:rate5m{{{_OF}}}",
                "{{destination_workload}}",
            ),
        ),
    ),
    Panel(
        "Duration",
        "Half of a workload's answers, and 99 %, take at most this time.",
        "ms",
        (
            (
                f"histogram_quantile(0.5, sum by (destination_workload, le) (rate({_BUCKETS})))",
                "{{destination_workload}} p50",
            ),
            (f"workload:istio_request_duration_milliseconds:p99_5m{{{_OF}}}", "{{destination_workload}} p99"),
        ),
    ),
    Panel(
        "Proxies that push",
        "Streams at the collector. A fall to zero means that no proxy reaches it.",
        "short",
        ((f"hosted_mesh_collector_streams{{{_OF}}}", "streams"),),
    ),
    Panel(
        "Rejected series",
        "Series that the collector does not keep, by reason: forged, too many, unknown.",
        "short",
        ((f"sum by (reason) (hosted_mesh_collector_rejected_series_total{{{_OF}}})", "{{reason}}"),),
    ),
)


def dashboard() -> str:
    """The dashboard, JSON."""
    return FILE.read_text()
