"""The example program on the real engine; two API servers of the sandbox stand for clusters that exist."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library_engine import Api, Project

EXAMPLE = CHECKOUT / "examples/two_clusters"


def test_two_clusters(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> None:
    program = tmp_path / "example"
    shutil.copytree(EXAMPLE, program)
    document = yaml.safe_load((EXAMPLE / "mesh.yaml").read_text())
    document["charts"] = {"path": str(tools.charts)}
    document["controlPlane"]["istiod"] = {"waitUntilReady": False}  # no nodes here
    document["dataPlane"]["crds"] = {"keepOnDestroy": False}
    (program / "mesh.yaml").write_text(yaml.safe_dump(document))
    apis = [Api(cluster, tools) for cluster in engine_sandbox.clusters.values()]
    before = [api.everything().keys() for api in apis]

    stack = Project.make(tmp_path / "project", engine_sandbox, tools, program).stack("shop", {})
    stack.up()
    assert stack.outputs()["label your namespaces with"] == {"istio-injection": "enabled"}
    assert apis[0].get("deployment", "istiod", "-n", "mesh-shop")["spec"]["replicas"] == 1
    assert stack.up().summary().keys() == {"unchanged"}
    stack.destroy()
    assert [api.everything().keys() for api in apis] == before
