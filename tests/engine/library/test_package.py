"""HostedMesh as programs in other languages use it: a component in a process of its own, on the real engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, example_document

# What an SDK that Pulumi generates does, without one.
PROGRAM = """
from pathlib import Path
import pulumi

properties = {"document": Path("mesh.yaml").read_text(), "host": None, "injectionLabels": None}
mesh = pulumi.ComponentResource("hosted-mesh:index:HostedMesh", "shop", properties, remote=True)
pulumi.export("host", mesh.host)
pulumi.export("labels", mesh.injectionLabels)
"""


@pytest.mark.usefixtures("clean")
def test_a_mesh_from_another_language(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, provider: Api) -> None:
    package, program = tmp_path / "package", tmp_path / "program"
    for directory in (package, program):
        directory.mkdir()
    # Not the folder: the language host that can be built here (v3.68) starts a package wrongly.
    executable = package / "pulumi-resource-hosted-mesh"
    executable.write_text(f'#!/bin/sh\nexec {sys.executable} {CHECKOUT / "components" / "__main__.py"} "$@"\n')
    executable.chmod(0o755)
    plugins = {"providers": [{"name": "hosted-mesh", "path": str(package)}]}
    (program / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "package", "runtime": "python", "plugins": plugins}))
    (program / "__main__.py").write_text(PROGRAM)
    document = example_document(tools)
    document["dataPlane"]["crds"] = {"install": False}
    (program / "mesh.yaml").write_text(yaml.safe_dump(document))

    stack = Project.make(tmp_path / "project", engine_sandbox, tools, program).stack("shop", {})
    stack.up()
    assert stack.outputs() == {"host": "istiod.shop.example.com", "labels": {"istio-injection": "enabled"}}
    assert provider.get("deployment", "istiod", "-n", "mesh-shop")["spec"]["replicas"] == 2
    assert stack.up().summary().keys() == {"unchanged"}
    stack.destroy()
