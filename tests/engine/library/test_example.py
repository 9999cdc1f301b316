"""The example program on the real engine; two API servers of the sandbox stand for clusters that exist."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import EXAMPLE, Api, Project, Stack, example_document


def example(directory: Path, sandbox: Sandbox, tools: Tools, change: Callable[[dict[str, Any]], object]) -> Stack:
    """A stack of the example with its document changed for this test: `change` gets the mesh."""
    program = directory / "example"
    shutil.copytree(EXAMPLE, program)
    document = example_document(tools)
    change(document)
    (program / "mesh.yaml").write_text(yaml.safe_dump(document))
    return Project.make(directory / "project", sandbox, tools, program).stack("shop", {})


@pytest.mark.usefixtures("clean")
def test_two_clusters(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, provider: Api) -> None:
    def change(mesh: dict[str, Any]) -> None:
        mesh["controlPlane"]["networkPolicy"] = {"apiServerRanges": ["198.51.100.0/24", "2001:db8::/64"]}
        mesh["memberships"][0]["crds"] = {"keepOnDestroy": False}

    stack = example(tmp_path, engine_sandbox, tools, change)
    stack.up()
    assert stack.outputs()["label your namespaces with"] == {"istio-injection": "enabled"}
    istiod = provider.get("deployment", "istiod", "-n", "mesh-shop")["spec"]
    assert istiod["replicas"] == 2
    (spread,) = istiod["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"].items() <= istiod["template"]["metadata"]["labels"].items()
    budget = provider.get("poddisruptionbudget", "istiod", "-n", "mesh-shop")["spec"]
    assert budget["minAvailable"] == 1
    assert budget["selector"]["matchLabels"].items() <= istiod["template"]["metadata"]["labels"].items()
    assert istiod["template"]["spec"]["automountServiceAccountToken"] is False
    assert "serviceAccountToken" not in json.dumps(istiod["template"]["spec"]["volumes"])
    egress = provider.get("networkpolicy", "mesh", "-n", "mesh-shop")["spec"]["egress"]
    assert [one["ipBlock"]["cidr"] for one in egress[1]["to"]] == ["198.51.100.0/24", "2001:db8::/64"]
    assert stack.up().summary().keys() == {"unchanged"}
    stack.destroy()


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_clusters_from_outputs(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, provider: Api) -> None:
    """Their kubeconfigs are known only while the program runs, and are encrypted wherever the engine keeps them."""
    kubeconfig = engine_sandbox.kubeconfig.read_text()
    revision = {"charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}}
    config = {
        "controlPlane": kubeconfig,
        "dataPlane": kubeconfig,
        "revision": revision,
        "membership": {"crds": {"keepOnDestroy": False}},
        "trust": {"root": {"protect": False}},
    }
    program = EXAMPLE.with_name("clusters_from_outputs")
    stack = Project.make(tmp_path / "project", engine_sandbox, tools, program).stack("shop", config)
    stack.up()
    assert stack.outputs()["label your namespaces with"] == {"istio-injection": "enabled"}
    assert provider.get("deployment", "istiod", "-n", "mesh-shop")["spec"]["replicas"] == 2
    assert "client-key-data" not in json.dumps(stack.resources())
    assert stack.up().summary().keys() == {"unchanged"}
    stack.destroy()


def test_crds_of_somebody_else_s(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> None:
    stack = example(
        tmp_path, engine_sandbox, tools, lambda mesh: mesh["memberships"][0].update(crds={"install": False})
    )
    types = {step["newState"]["type"] for step in stack.preview()}
    assert "kubernetes:apps/v1:Deployment" in types
    assert not {one for one in types if "CustomResourceDefinition" in one or "DataPlaneCrds" in one}


def test_federation(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> None:
    """Both meshes are in the sandbox's one data plane; the engine previews each part, with the gateways' charts."""
    program = tmp_path / "example"
    shutil.copytree(EXAMPLE.with_name("federation"), program)
    for name in ("east", "west"):
        document = yaml.safe_load((program / f"{name}.yaml").read_text())
        (revision,), (membership,) = document["revisions"], document["memberships"]
        # Two meshes of one cluster have revisions of different names.
        revision |= {"name": name, "charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}}
        membership["cluster"]["context"] = engine_sandbox.data_plane.name
        membership["crds"] = {"install": False}
        (program / f"{name}.yaml").write_text(yaml.safe_dump(document))
    stack = Project.make(tmp_path / "project", engine_sandbox, tools, program).stack("federation", {})
    steps = [step["newState"] for step in stack.preview()]
    types = {step["type"] for step in steps}
    assert {"kubernetes:networking.istio.io/v1:ServiceEntry", "kubernetes:networking.istio.io/v1:Gateway"} <= types
    deployments = {step["inputs"]["metadata"]["name"] for step in steps if step["type"].endswith(":Deployment")}
    assert deployments == {"istiod-east", "istiod-west", "eastwest"}


BAD: dict[str, tuple[Callable[[dict[str, Any]], object], list[str]]] = {
    "two fields": (
        lambda mesh: mesh["revisions"][0].update(host="192.0.2.1", hots="x"),
        ["revisions[0].host: is an IP address", "revisions[0].hots: is not a field"],
    ),
    "charts": (lambda mesh: mesh["revisions"][0].update(charts={"path": "/"}), ["charts.path: has no chart"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_message(case: str, tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> None:
    spoil, words = BAD[case]
    done = example(tmp_path, engine_sandbox, tools, spoil).run("preview")
    assert done.code != 0
    # The engine shows each message while it runs, and again at the end.
    said = done.text.partition("\nDiagnostics:\n")[2]
    assert [said.count(word) for word in ["cannot be used", *words]] == [1, *[1] * len(words)]
    assert "Traceback" not in done.text
    assert "unhandled exception" not in done.text
