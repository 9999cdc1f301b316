"""Prometheus' rules and alerts of a mesh, tested by promtool (tests/unit/library/observability/test_rules.py). Pure."""

from __future__ import annotations

from typing import Any, Final

JOB: Final = "proxies"
_EDGE: Final = (
    "reporter, source_workload, source_workload_namespace, source_principal, "
    "destination_workload, destination_workload_namespace, destination_principal, destination_service"
)
_SERVICE: Final = "destination_workload, destination_workload_namespace, destination_principal"
_REQUESTS: Final = "istio_requests_total"
_DURATION: Final = "istio_request_duration_milliseconds_bucket"
ERROR_SHARE: Final = 0.05
SLOW_MILLISECONDS: Final = 1000


def groups(mesh: str) -> dict[str, Any]:
    """The rules file. mesh: the value of `tenant`.

    Recorded series are sums over Pods: `pod` exists so that a proxy's total continues when the collector restarts.
    """
    return {"groups": [_recorded(mesh), _alerts(mesh)]}


def _recorded(mesh: str) -> dict[str, Any]:
    at = f'tenant="{mesh}"'
    own = f'{at}, reporter="destination"'
    bad = f'{own}, response_code=~"5.*"'
    rules = {
        "edge:istio_requests:rate1m": f"sum by (tenant, {_EDGE}, response_code) (rate({_REQUESTS}{{{at}}}[1m]))",
        "workload:istio_requests:rate5m": f"sum by (tenant, {_SERVICE}) (rate({_REQUESTS}{{{own}}}[5m]))",
        "workload:istio_errors:rate5m": f"sum by (tenant, {_SERVICE}) (rate({_REQUESTS}{{{bad}}}[5m]))",
        "workload:istio_request_duration_milliseconds:p99_5m": (
            f"histogram_quantile(0.99, sum by (tenant, {_SERVICE}, le) (rate({_DURATION}{{{own}}}[5m])))"
        ),
    }
    return {"name": "requests", "rules": [{"record": name, "expr": expression} for name, expression in rules.items()]}


def _alerts(mesh: str) -> dict[str, Any]:
    at = f'tenant="{mesh}"'
    return {
        "name": "alerts",
        "rules": [
            _alert(
                "MeshMetricsMissing",
                f'absent(up{{job="{JOB}"}}) or up{{job="{JOB}"}} == 0',
                "5m",
                "critical",
                f"The metrics collector of mesh {mesh} does not answer.",
            ),
            _alert(
                "MeshMetricsStopped",
                # Not by the number of proxies: the collector forgets silent ones before five minutes are over.
                f"hosted_mesh_collector_streams{{{at}}} == 0 "
                f"and max_over_time(hosted_mesh_collector_streams{{{at}}}[1h]) > 0",
                "5m",
                "critical",
                f"No proxy of mesh {mesh} pushes any more. Check exposure and certificates of the collector.",
            ),
            _alert(
                "MeshMetricsRejected",
                # A series is counted once, however often it is sent: the window is longer than the wait.
                f"sum by (tenant, reason) (increase(hosted_mesh_collector_rejected_series_total{{{at}}}[30m])) > 0",
                "5m",
                "warning",
                f"The collector rejects series of mesh {mesh}: {{{{ $labels.reason }}}}.",
            ),
            _alert(
                "MeshMetricsFlood",
                f"rate(hosted_mesh_collector_discarded_messages_total{{{at}}}[5m]) > 0",
                "10m",
                "warning",
                f"Proxies of mesh {mesh} send more than collector.limits.bytesPerSecond.",
            ),
            _alert(
                "MeshTracesLost",
                # Once lost, spans do not come again: the window is longer than the wait.
                f"sum by (tenant, reason) (increase(hosted_mesh_collector_lost_spans_total{{{at}}}[30m])) > 0",
                "5m",
                "warning",
                f"Spans of mesh {mesh} are lost: {{{{ $labels.reason }}}}. Check the receiver in traces.to.",
            ),
            _alert(
                "MeshWorkloadErrors",
                f"workload:istio_errors:rate5m{{{at}}} / workload:istio_requests:rate5m{{{at}}} > {ERROR_SHARE}",
                "10m",
                "warning",
                "{{ $value | humanizePercentage }} of requests to {{ $labels.destination_workload }} fail.",
            ),
            _alert(
                "MeshWorkloadSlow",
                f"workload:istio_request_duration_milliseconds:p99_5m{{{at}}} > {SLOW_MILLISECONDS}",
                "10m",
                "warning",
                "1 % of requests to {{ $labels.destination_workload }} take longer than "
                "{{ $value | printf `%.0f` }} ms.",
            ),
        ],
    }


def _alert(name: str, expression: str, hold: str, severity: str, summary: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expression,
        "for": hold,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }
