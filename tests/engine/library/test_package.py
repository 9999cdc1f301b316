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
import yaml

mesh = yaml.safe_load(Path("mesh.yaml").read_text())
outputs = {"namespace": None, "injectionLabels": None}
made = pulumi.ComponentResource("hosted-mesh:index:HostedMesh", "shop", {**mesh, **outputs}, remote=True)
pulumi.export("namespace", made.namespace)
pulumi.export("labels", made.injectionLabels)
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
    (membership,) = document["memberships"]
    membership["crds"] = {"install": False}
    # A document names a kubeconfig's file; arguments have its content, or its file under a name of its own.
    for part in (document["controlPlane"], membership):
        part["cluster"]["kubeconfigFile"] = part["cluster"].pop("kubeconfig")
    (program / "mesh.yaml").write_text(yaml.safe_dump(document))

    stack = Project.make(tmp_path / "project", engine_sandbox, tools, program).stack("shop", {})
    stack.up()
    assert stack.outputs() == {"namespace": "mesh-shop", "labels": {"istio-injection": "enabled"}}
    assert provider.get("deployment", "istiod", "-n", "mesh-shop")["spec"]["replicas"] == 2
    assert stack.up().summary().keys() == {"unchanged"}
    stack.destroy()
