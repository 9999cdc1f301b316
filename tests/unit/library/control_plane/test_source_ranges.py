"""A change of source ranges is a warning, before it locks out new Pods behind open connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2_grpc
from pulumi_hosted_mesh.boundary import per_stack_registry
from pulumi_hosted_mesh.charts.chart import MeshCharts
from pulumi_hosted_mesh.control_plane import istiod, removal_guard
from pulumi_hosted_mesh.control_plane.manifests import exposed_services
from pulumi_hosted_mesh.control_plane.removal_guard import RemovalGuard
from pulumi_hosted_mesh.control_plane.source_ranges import HOOK, warn_of_changes
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.documents import document
from tests.unit.library.program import run

OFFICE, CLOUD = "192.0.2.0/24", "198.51.100.0/24"
SERVICE = ("urn", "mesh-demo/istiod-exposed-demo", "istiod-exposed-demo", "kubernetes:core/v1:Service")


def service(exposure: dict[str, Any]) -> dict[str, Any]:
    """Inputs of istiod's Service for a document."""
    mesh = read_document(Mesh, document({"revisions.0.exposure": {"kind": "load-balancer", **exposure}}))
    (one,) = exposed_services(mesh, mesh.revisions[0])
    return {"metadata": {"annotations": one.annotations}, "spec": one.spec}


def warnings(monkeypatch: pytest.MonkeyPatch, before: Any, after: Any) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", found.append)
    asyncio.run(warn_of_changes(pulumi.ResourceHookArgs(*SERVICE, old_inputs=before, new_inputs=after)))
    return found


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({"sourceRanges": [OFFICE, CLOUD]}, {"sourceRanges": [CLOUD]}, f"without {OFFICE}"),
        ({"sourceRanges": [CLOUD]}, {"sourceRanges": [OFFICE, CLOUD]}, f"with {OFFICE}"),
        ({"sourceRanges": [CLOUD]}, {"sourceRanges": [OFFICE]}, f"without {CLOUD} and with {OFFICE}"),
        ({"openToAll": True}, {"sourceRanges": [OFFICE]}, f"without all addresses and with {OFFICE}"),
        ({"sourceRanges": [OFFICE]}, {"openToAll": True}, f"without {OFFICE} and with all addresses"),
    ],
)
def test_a_change_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, Any], after: dict[str, Any], change: str
) -> None:
    (one,) = warnings(monkeypatch, service(before), service(after))
    assert one.startswith(f"Service mesh-demo/istiod-exposed-demo: its source ranges change, {change}. ")
    assert "new Pods do not start" in one
    assert "Open connections stay, so check-webhooks can report ok" in one


def test_another_change_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    before = service({"sourceRanges": [OFFICE, CLOUD]})
    assert warnings(monkeypatch, before, service({"sourceRanges": [CLOUD, OFFICE], "publishName": False})) == []


def test_inputs_may_be_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", found.append)
    before, after = service({"sourceRanges": [OFFICE]}), service({"sourceRanges": [CLOUD]})

    async def update() -> None:
        hidden = {"spec": pulumi.Output.secret(before["spec"])}
        await warn_of_changes(pulumi.ResourceHookArgs(*SERVICE, old_inputs=hidden, new_inputs=after))

    asyncio.run(update())
    assert len(found) == 1


class Hook:
    """Takes the place of a ResourceHook, which an engine registers."""

    def __init__(self, name: str, callback: Any, options: Any = None) -> None:
        self.name, self.callback, self.options = name, callback, options


def guard_of_a_program(monkeypatch: pytest.MonkeyPatch) -> Callable[[], RemovalGuard]:
    """The guard as a program before an engine gets it."""
    mesh, root = read_document(Mesh, document()), Hook("root", None)
    engine = object.__new__(resource_pb2_grpc.ResourceMonitorStub)
    monkeypatch.setattr(pulumi, "ResourceHook", Hook)
    monkeypatch.setattr(settings.SETTINGS, "monitor", engine, raising=False)
    for module in (settings, per_stack_registry):
        monkeypatch.setattr(module, "get_root_resource", lambda: root)
    cluster = hosted_mesh.ControlPlaneCluster("cp", kubeconfig=content())
    return lambda: removal_guard.removal_guard(mesh, cluster, own_webhooks=False)


def test_a_run_that_calls_no_hooks_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """`prove` and `diff` would note it, and their report would be incomplete."""
    monkeypatch.setenv("HOSTED_MESH_ANALYSIS", "1")
    found = guard_of_a_program(monkeypatch)()
    assert (found.ranges, found.service_binding()) == (None, None)


def test_a_program_has_one_hook_that_previews_call_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = guard_of_a_program(monkeypatch)
    first = made()
    hook: Any = first.ranges
    assert (hook.name, hook.callback, hook.options.on_dry_run) == (HOOK, warn_of_changes, True)
    assert made().ranges is hook
    of_service, of_deployment = first.service_binding(), first.binding()
    assert of_service and of_deployment
    assert (of_service.before_update, of_service.before_delete) == ([hook], [first.hook])
    assert of_deployment.before_update is None
    assert RemovalGuard().service_binding() is None


def test_istiods_services_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, guard, hooks = read_document(Mesh, document()), RemovalGuard(), []
    binding = pulumi.ResourceHookBinding()
    monkeypatch.setattr(RemovalGuard, "service_binding", lambda _: binding)
    monkeypatch.setattr(MeshCharts, "make", lambda *_, **__: None)  # charts need an engine
    monkeypatch.setattr(istiod, "service_addresses", lambda _: None)
    monkeypatch.setattr(istiod.core.v1, "Service", lambda *_, opts, **__: hooks.append(opts.hooks))

    def program() -> None:
        cluster = hosted_mesh.ControlPlaneCluster("cp", kubeconfig=content())
        istiod.IstiodRevision(
            "demo",
            mesh=mesh,
            revision=mesh.revisions[0],
            cluster=cluster,
            namespace_dependencies=[],
            startup_dependencies=[],
            guard=guard,
            rollout_triggers={},
        )

    run(program)
    assert hooks == [binding]
