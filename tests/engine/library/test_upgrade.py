"""From the revision `default` to another, on real API servers: `istio-injection: enabled` is always answered for."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.operations.discovery.selectors import selects

from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack, name_of
from tests.support.split import split_configs

NEXT = "istiod-next.demo.sandbox.test"
OLD = "istiod.demo.sandbox.test"
REVISION, TAGGED = "demo-istio-sidecar-injector-mesh-demo", "demo-istio-revision-tag-default-mesh-demo"


def of_two(mesh: dict[str, Any], **tags: str) -> dict[str, Any]:
    (old,) = mesh["revisions"]
    return {**mesh, "revisions": [old, {**copy.deepcopy(old), "name": "next", "host": NEXT}], "tags": tags}


@pytest.mark.usefixtures("clean")
def test_pods_are_taken_over_before_they_are_given_up(project: Project, mesh: dict[str, Any]) -> None:
    """In both directions. For a moment both are there, never none: the engine deletes at the end."""

    def operations(document: dict[str, Any]) -> list[tuple[str, str]]:
        stack = project.stack("taken", {"stack": "all-in-one", "mesh": document})
        log = project.directory / f"{len(list(project.directory.iterdir()))}.json"
        stack.succeed("up", "--yes", "--skip-preview", "--event-log", str(log))
        events = [json.loads(line) for line in log.read_text().splitlines()]
        ended = [one["resOutputsEvent"]["metadata"] for one in events if "resOutputsEvent" in one]
        return [(one["op"], name_of(one["urn"])) for one in ended if one["op"] in ("create", "delete", "replace")]

    operations(of_two(mesh))
    there, back = operations(of_two(mesh, default="next")), operations(of_two(mesh))
    assert there == [("create", TAGGED), ("delete", REVISION)]
    assert back == [("create", REVISION), ("delete", TAGGED)]
    project.stack("taken", {"stack": "all-in-one", "mesh": mesh}).destroy()


@pytest.mark.usefixtures("clean")
def test_in_place_nothing_is_replaced(
    project: Project, mesh: dict[str, Any], tmp_path: Path, tools: Tools, provider: Api
) -> None:
    """istiod's Deployment is changed, so its new Pod is ready before the old one goes."""
    charts = tmp_path / "charts"
    shutil.copytree(tools.charts, charts)
    for chart in charts.glob("*/Chart.yaml"):
        chart.write_text(chart.read_text().replace("ersion: 1.0.0", "ersion: 1.31.9"))
    project.stack("in-place", {"stack": "all-in-one", "mesh": mesh}).up()
    newer = copy.deepcopy(mesh)
    newer["revisions"][0]["charts"] = {"path": str(charts), "version": "1.31.9"}
    stack = project.stack("in-place", {"stack": "all-in-one", "mesh": newer})
    assert {step["op"] for step in stack.preview()} == {"same", "update"}
    stack.up()
    istiod = provider.get("deployment", "istiod", "-n", "mesh-demo")
    assert istiod["metadata"]["labels"]["app.kubernetes.io/version"] == "1.31.9"
    stack.destroy()


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_separate_stacks_take_the_same_way(project: Project, mesh: dict[str, Any], user: Api) -> None:
    """As docs/upgrade.md has it: at each step one istiod is asked about Pods of `istio-injection: enabled`."""

    def up(name: str, document: dict[str, Any], **more: Any) -> Stack:
        stack = project.stack(name, {"stack": name, **split_configs(document)[name], **more})
        stack.up()
        return stack

    def asked() -> set[str]:
        hooks = user.get("mutatingwebhookconfigurations", "--selector=hosted-mesh.io/mesh=demo")["items"]
        return {
            str(hook["clientConfig"]["url"]).split("/")[2].partition(":")[0]
            for one in hooks
            for hook in one["webhooks"]
            if selects(hook["namespaceSelector"], {"istio-injection": "enabled"})
            and selects(hook["objectSelector"], {})
        }

    for name in list(split_configs(mesh))[:-2]:
        up(name, mesh)
    moved = of_two(mesh, default="next")
    for document, host in ((mesh, OLD), (of_two(mesh), OLD), (moved, NEXT), (of_two(mesh), OLD), (moved, NEXT)):
        control_plane = up("control-plane", document)
        assert asked() <= {OLD, NEXT}
        assert up("data-plane", document).outputs()["injection_labels"] == {"istio-injection": "enabled"}
        assert asked() == {host}
    facts = control_plane.outputs()["endpoints"]["default/next"]
    # The file of the new one alone, with the reference to `control-plane` beside it, which still has the old one.
    data_plane = up("data-plane", moved, endpoints=[facts])
    assert asked() == {NEXT}
    assert data_plane.outputs()["endpoints"].keys() == {"next"}
    hooks = user.get("mutatingwebhookconfigurations,validatingwebhookconfigurations")["items"]
    called = {hook["clientConfig"]["url"].split("/")[2] for one in hooks for hook in one["webhooks"]}
    assert called == {f"{NEXT}:15017"}
    alone = {**moved, "revisions": moved["revisions"][1:]}
    control_plane = up("control-plane", alone)
    data_plane = up("data-plane", alone)
    assert asked() == {NEXT}
    data_plane.destroy()
    control_plane.destroy()
    for name in list(reversed(split_configs(mesh)))[2:]:
        project.stack(name, {"stack": name, **split_configs(mesh)[name]}).destroy()
