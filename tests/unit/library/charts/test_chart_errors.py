"""A chart that cannot be fetched is one message: the engine prints the cause, and no trace follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi.runtime import resource, settings
from pulumi.runtime.proto import callback_pb2
from pulumi_hosted_mesh.charts.chart import MeshCharts, crds_chart
from pulumi_hosted_mesh.charts.chart_errors import CHART, report_plainly
from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.load import read_document

from tests.support.without_engine import perform
from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.program import Monitor

CHARTS = read_document(Charts, {"version": "1.31.1", "repository": "https://charts.invalid"})
SHUT_DOWN = "resource monitor shut down"


class Refused(grpc.RpcError):
    """As gRPC raises it, with the methods of a call."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details


class Engine(Monitor):
    """Refuses resources of a type."""

    def __init__(self, type_: str, error: grpc.RpcError) -> None:
        super().__init__({}, [])
        self.type, self.error = type_, error

    def registered(self, urn: str, request: Any) -> Any:
        if request.type == self.type:
            raise self.error
        return super().registered(urn, request)


def mesh_chart() -> None:
    cluster = hosted_mesh.ControlPlaneCluster("cp", kubeconfig=content())
    parent = pulumi.ComponentResource("a:b:C", "parent")
    MeshCharts("demo", CHARTS, cluster, parent).make("demo-istiod", "istiod", release="istiod", values={})


def definitions() -> None:
    cluster = hosted_mesh.DataPlaneCluster("dp", kubeconfig=content())
    parent = pulumi.ComponentResource("a:b:C", "parent")
    crds_chart("demo-istiod", charts=CHARTS, cluster=cluster, values={}, parent=parent, keep=True)


class Callbacks:
    """Takes the transforms of a chart, as the SDK's server for the engine."""

    def register_transform(self, _: Any) -> callback_pb2.Callback:
        return callback_pb2.Callback(token="t", target="unused")


@pytest.fixture(autouse=True)
def callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def made() -> Callbacks:
        return Callbacks()

    monkeypatch.setattr(resource, "_get_callbacks", made)


def failure(program: Callable[[], None], code: grpc.StatusCode, details: str, type_: str = CHART) -> Exception:
    with pytest.raises(Exception) as raised:
        perform(program, Engine(type_, Refused(code, details)))
    return raised.value


@pytest.mark.parametrize("program", [mesh_chart, definitions])
def test_a_chart_that_cannot_be_fetched_is_one_message(program: Callable[[], None]) -> None:
    """Pulumi prints a RunError without a trace, and every other exception with one."""
    found = failure(program, grpc.StatusCode.UNKNOWN, SHUT_DOWN)
    assert isinstance(found, pulumi.RunError)
    assert str(found).startswith("the chart demo-istiod cannot be made: another message of this run has the cause. ")
    assert "charts.repository" in str(found)
    assert "charts.path" in str(found)
    assert "\n" not in str(found)


def test_a_cause_that_the_engine_answers_is_in_the_message() -> None:
    found = failure(mesh_chart, grpc.StatusCode.UNKNOWN, 'looks like "https://charts.invalid" is\nnot valid')
    assert 'cannot be made: looks like "https://charts.invalid" is not valid. If it' in str(found)
    assert isinstance(found, pulumi.RunError)


def test_a_run_that_ends_for_another_cause_keeps_pulumis_message() -> None:
    found = failure(mesh_chart, grpc.StatusCode.UNAVAILABLE, SHUT_DOWN)
    assert str(found) == "Resource monitor has terminated, shutting down"
    other = failure(mesh_chart, grpc.StatusCode.UNKNOWN, "no", "pulumi:providers:kubernetes")
    assert (type(other), str(other)) == (Exception, "no")


def test_the_monitor_is_changed_once() -> None:
    seen = list[Any]()

    def program() -> None:
        monitor: Any = settings.get_monitor()
        for _ in range(2):
            report_plainly()
            seen.append(monitor.RegisterResource)

    perform(program, Engine("", Refused(grpc.StatusCode.UNKNOWN, "")))
    assert seen[0] is seen[1]
