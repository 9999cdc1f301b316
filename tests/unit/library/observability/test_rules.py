"""Rules and alerts, evaluated by promtool over series of minutes and hours."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.observability import rules
from pulumi_hosted_mesh.observability.control_objects import prometheus_files

from sandbox import toolchain
from sandbox.progress import Progress
from tests.unit.library.observability.documents import read

MESH = "demo"
EDGE = (
    'tenant="demo", reporter="destination", source_workload="frontend", source_workload_namespace="bookshop", '
    'source_principal="f", destination_workload="backend", destination_workload_namespace="bookshop", '
    'destination_principal="b", destination_service="backend.bookshop"'
)
SERVICE = 'tenant="demo", destination_workload="backend", destination_workload_namespace="bookshop"'
ITS_LABELS = {
    "tenant": MESH,
    "destination_workload": "backend",
    "destination_workload_namespace": "bookshop",
    "destination_principal": "b",
}


def requests(values: str, code: str = "200", pod: str = "backend-1", **changed: str) -> tuple[str, str]:
    """A series of a proxy's total. changed: other values of labels."""
    edge = EDGE
    for name, value in changed.items():
        before = edge.partition(f'{name}="')[2].partition('"')[0]
        edge = edge.replace(f'{name}="{before}"', f'{name}="{value}"')
    return f'istio_requests_total{{{edge}, response_code="{code}", pod="{pod}"}}', values


def durations(bound: str, values: str) -> tuple[str, str]:
    return f'istio_request_duration_milliseconds_bucket{{{EDGE}, le="{bound}", pod="backend-1"}}', values


def own(metric: str, values: str, tenant: str = MESH, **labels: str) -> tuple[str, str]:
    """A series of the collector's own metrics."""
    more = "".join(f', {name}="{value}"' for name, value in labels.items())
    return f'hosted_mesh_collector_{metric}{{tenant="{tenant}"{more}}}', values


Series = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Alert:
    """Series of one sample per minute. fires: a minute with the alert. silent: minutes without."""

    name: str
    series: Series
    fires: int | None
    silent: Sequence[int]
    labels: Mapping[str, str]
    summary: str = ""


MISSING = "The metrics collector of mesh demo does not answer."
STOPPED = "No proxy of mesh demo pushes any more. Check exposure and certificates of the collector."
LOST = "Spans of mesh demo are lost: queue. Check the receiver in traces.to."
FLOOD = "Proxies of mesh demo send more than collector.limits.bytesPerSecond."
CRITICAL, WARNING = {"severity": "critical"}, {"severity": "warning"}
ALERTS: Mapping[str, Alert] = {
    "no collector": Alert("MeshMetricsMissing", [], 5, [4], {**CRITICAL, "job": "proxies"}, MISSING),
    "collector down": Alert(
        "MeshMetricsMissing", [('up{job="proxies"}', "1x9 0x20")], 15, [14], {**CRITICAL, "job": "proxies"}, MISSING
    ),
    "collector up": Alert("MeshMetricsMissing", [('up{job="proxies"}', "1x30")], None, [30], {}),
    # The collector forgets proxies after five minutes.
    "no stream any more": Alert(
        "MeshMetricsStopped",
        [own("streams", "3x9 0x40"), own("proxies", "3x14 0x35")],
        16,
        [14],
        {**CRITICAL, "tenant": MESH},
        STOPPED,
    ),
    "no stream for hours": Alert("MeshMetricsStopped", [own("streams", "3x9 0x200")], None, [80], {}),
    "no stream yet": Alert("MeshMetricsStopped", [own("streams", "0x60")], None, [30, 60], {}),
    "no stream of another mesh": Alert("MeshMetricsStopped", [own("streams", "3x9 0x40", "other")], None, [20], {}),
    "one series rejected once": Alert(
        "MeshMetricsRejected",
        [own("rejected_series_total", "0x9 1x60", reason="forged")],
        20,
        [9, 12, 60],
        {**WARNING, "tenant": MESH, "reason": "forged"},
        "The collector rejects series of mesh demo: forged.",
    ),
    "none rejected": Alert(
        "MeshMetricsRejected", [own("rejected_series_total", "0x60", reason="forged")], None, [20, 60], {}
    ),
    "a flood": Alert(
        "MeshMetricsFlood",
        [own("discarded_messages_total", "0x5 1+5x30")],
        20,
        [12],
        {**WARNING, "tenant": MESH},
        FLOOD,
    ),
    "a short flood": Alert(
        "MeshMetricsFlood", [own("discarded_messages_total", "0x5 1+5x2 11x30")], None, [10, 15, 20], {}
    ),
    "lost spans": Alert(
        "MeshTracesLost",
        [own("lost_spans_total", "0x5 9x60", reason="queue")],
        15,
        [3, 8],
        {**WARNING, "tenant": MESH, "reason": "queue"},
        LOST,
    ),
    "no lost spans": Alert("MeshTracesLost", [own("lost_spans_total", "9x60", reason="queue")], None, [20, 60], {}),
    "one in ten fails": Alert(
        "MeshWorkloadErrors",
        [requests("0+90x40"), requests("0+10x40", "503")],
        30,
        [5],
        {**WARNING, **ITS_LABELS},
        "10% of requests to backend fail.",
    ),
    "one in fifty fails": Alert(
        "MeshWorkloadErrors", [requests("0+98x40"), requests("0+2x40", "503")], None, [30, 40], {}
    ),
    "a client's mistakes": Alert(
        "MeshWorkloadErrors", [requests("0+10x40"), requests("0+90x40", "404")], None, [30, 40], {}
    ),
    # A caller may report anything about its destination.
    "a caller's word": Alert(
        "MeshWorkloadErrors",
        [requests("0+90x40"), requests("0+90x40", "503", reporter="source")],
        None,
        [30, 40],
        {},
    ),
    "another mesh's errors": Alert(
        "MeshWorkloadErrors", [requests("0+90x40", "503", tenant="other")], None, [30, 40], {}
    ),
    "slow": Alert(
        "MeshWorkloadSlow",
        [durations("1000", "0+90x40"), durations("2000", "0+100x40"), durations("+Inf", "0+100x40")],
        30,
        [5],
        {**WARNING, **ITS_LABELS},
        "1 % of requests to backend take longer than 1900 ms.",
    ),
    "fast": Alert(
        "MeshWorkloadSlow",
        [durations("1000", "0+100x40"), durations("2000", "0+100x40"), durations("+Inf", "0+100x40")],
        None,
        [30, 40],
        {},
    ),
    "no requests": Alert("MeshWorkloadSlow", [durations("1000", "5x40"), durations("+Inf", "5x40")], None, [30], {}),
}


@pytest.fixture(scope="module")
def promtool() -> Path:
    return toolchain.ensure(["promtool"], progress=Progress())["promtool"]


def judge(promtool: Path, folder: Path, **test: Any) -> None:
    """Runs one test of promtool over this mesh's rules."""
    (folder / "rules.yaml").write_text(prometheus_files(read())["rules.yaml"])
    series = [{"series": name, "values": values} for name, values in test.pop("series")]
    group = {"interval": "1m", "input_series": series, **test}
    found = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [group]}
    (folder / "test.yaml").write_text(yaml.safe_dump(found))
    done = subprocess.run(
        [promtool, "test", "rules", folder / "test.yaml"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", ALERTS)
def test_an_alert_fires_in_its_case_alone(case: str, promtool: Path, tmp_path: Path) -> None:
    alert = ALERTS[case]
    tests: list[dict[str, Any]] = [
        {"alertname": alert.name, "eval_time": f"{minute}m", "exp_alerts": []} for minute in alert.silent
    ]
    if alert.fires is not None:
        expected = {"exp_labels": dict(alert.labels), "exp_annotations": {"summary": alert.summary}}
        tests.append({"alertname": alert.name, "eval_time": f"{alert.fires}m", "exp_alerts": [expected]})
    judge(promtool, tmp_path, series=alert.series, alert_rule_test=tests)


def test_each_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    names = {one["alert"] for group in rules.groups(MESH)["groups"] for one in group["rules"] if "alert" in one}
    assert {one.name for one in ALERTS.values() if one.fires is not None} == names
    assert {one.name for one in ALERTS.values() if one.fires is None} == names


def test_recorded_series_are_sums_over_pods_of_one_mesh(promtool: Path, tmp_path: Path) -> None:
    """A Pod that restarts, and begins at zero again, is no negative rate."""
    series = [
        requests("0+60x10"),
        requests("0+120x5 0+120x5", pod="backend-2"),
        requests("0+600x10", tenant="other"),
        requests("0+30x10", "500"),
        durations("10", "0+60x10"),
        durations("20", "0+120x10"),
        durations("+Inf", "0+120x10"),
    ]
    expected = {
        "edge:istio_requests:rate1m": [
            (f'{{{EDGE}, response_code="200"}}', 3),
            (f'{{{EDGE}, response_code="500"}}', 0.5),
        ],
        "workload:istio_requests:rate5m": [(f'{{{SERVICE}, destination_principal="b"}}', 3.5)],
        "workload:istio_errors:rate5m": [(f'{{{SERVICE}, destination_principal="b"}}', 0.5)],
        "workload:istio_request_duration_milliseconds:p99_5m": [(f'{{{SERVICE}, destination_principal="b"}}', 19.8)],
    }
    tests = [
        {
            "expr": name,
            "eval_time": "5m",
            "exp_samples": [{"labels": f"{name}{labels}", "value": value} for labels, value in samples],
        }
        for name, samples in expected.items()
    ]
    judge(promtool, tmp_path, series=series, promql_expr_test=tests)


def test_prometheus_accepts_its_configuration(promtool: Path, tmp_path: Path) -> None:
    for name, text in prometheus_files(read()).items():
        (tmp_path / name).write_text(text.replace("/etc/prometheus", str(tmp_path)))
    done = subprocess.run(
        [promtool, "check", "config", tmp_path / "prometheus.yaml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 rules found" in done.stdout
