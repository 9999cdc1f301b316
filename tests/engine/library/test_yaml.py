"""The components in a YAML program on the real engine, and `pulumi package add` of the package's folder."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack
from tests.engine.library.package import checkout_of_package, configured, executable, yaml_project

EXAMPLE = CHECKOUT / "examples/yaml"
pytestmark = pytest.mark.xdist_group("yaml")
# By a shell, because the language host that can be built here (v3.68) does not read these of PulumiPlugin.yaml.
WITH_OPTIONS = '#!/bin/sh\nexec {host} -root {package} -virtualenv {virtualenv} "$@"\n'


@pytest.fixture
def project(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, progress: Progress) -> Project:
    """The example's, for clusters without nodes. It names no package yet."""
    made = yaml_project(tmp_path, EXAMPLE, engine_sandbox, tools, progress)
    document = description(made)
    del document["packages"]
    properties = document["resources"]["shop"]["properties"]
    properties["trust"] = {"root": {"protect": False}}
    properties["revisions"][0] |= {"charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}}
    properties["memberships"][0]["crds"] = {"install": False}
    describe(made, document)
    return made


def description(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((project.program / "Pulumi.yaml").read_text())
    return found


def describe(project: Project, document: dict[str, Any]) -> None:
    (project.program / "Pulumi.yaml").write_text(yaml.safe_dump(document))


def stack_of(project: Project, sandbox: Sandbox) -> Stack:
    return configured(project, "shop", {"kubeconfig": str(sandbox.kubeconfig)})


@pytest.mark.usefixtures("clean")
def test_a_mesh_from_yaml(project: Project, tmp_path: Path, engine_sandbox: Sandbox, provider: Api, user: Api) -> None:
    plugins = {"providers": [{"name": "hosted-mesh", "path": str(executable(tmp_path).parent)}]}
    document = description(project)
    describe(project, {**document, "plugins": plugins})
    stack = stack_of(project, engine_sandbox)
    foreseen = Counter(step["op"] for step in stack.preview())
    assert stack.up().summary() == {"created": foreseen["create"]}
    outputs = stack.outputs()
    assert outputs["injectionLabels"] == {"istio-injection": "enabled"}
    assert outputs["endpoints"]["default/default"]["host"] == "istiod.shop.example.com"
    assert provider.get("deployment", "istiod", "-n", "mesh-shop")["spec"]["replicas"] == 2
    (webhook, *_) = user.get("mutatingwebhookconfiguration", "istio-sidecar-injector-mesh-shop")["webhooks"]
    assert webhook["clientConfig"]["url"].startswith("https://istiod.shop.example.com:15017/inject")
    assert stack.up().summary() == {"unchanged": foreseen["create"]}
    stack.destroy()

    # A mistake is one message, with the place in the program.
    revision = document["resources"]["shop"]["properties"]["revisions"][0]
    revision["host"] = "192.0.2.1"
    describe(project, {**document, "plugins": plugins})
    done = stack.run("preview")
    assert done.code != 0
    assert "revisions[0].host: is an IP address" in done.text
    assert "Traceback" not in done.text


@pytest.mark.nightly
def test_package_add_keeps_to_a_folder_of_its_own(
    project: Project, tmp_path: Path, engine_sandbox: Sandbox, tools: Tools
) -> None:
    """The command installs the package, with its dependencies from the index, starts it, and writes its description.

    Its last step, the link into the program, needs a newer YAML host than the tests can build. The Python host is too
    old as well: it takes the virtual environment on its command line, and starts `__main__.py` of the program's folder.
    """
    package = checkout_of_package(tmp_path)
    before = {path.name for path in package.iterdir()}
    runtime = yaml.safe_load((package / "PulumiPlugin.yaml").read_text())["runtime"]
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    facts = {"host": tools["pulumi-language-python"], "package": package, **runtime["options"]}
    host = hosts / "pulumi-language-python"
    host.write_text(WITH_OPTIONS.format(**facts))
    host.chmod(0o755)
    (project.program / "__main__.py").symlink_to(package / "__main__.py")
    environment = {**project.environment, "PATH": f"{hosts}:{project.environment['PATH']}"}
    for name in ("PULUMI_PYTHON_CMD", "VIRTUAL_ENV"):
        environment.pop(name, None)
    project = replace(project, environment=environment)

    added = project._call(["package", "add", str(package)], project.program)
    assert "Successfully installed" in added.text, added.text
    assert added.text.rstrip().endswith("error: linking package: method Link not implemented"), added.text
    written = {path.name for path in package.iterdir()} - before
    assert written <= {"venv", "build", "pulumi_hosted_mesh.egg-info"}
    assert "venv" in written

    # The installed package describes itself, and makes a mesh of the program that names its folder.
    described = project._call(["package", "get-schema", str(package)], project.program)
    assert described.code == 0, described.text
    assert "hosted-mesh:index:HostedMesh" in json.loads(described.output)["resources"]
    describe(project, {**description(project), "packages": {"hosted-mesh": str(package)}})
    assert {step["op"] for step in stack_of(project, engine_sandbox).preview()} == {"create"}
    assert {path.name for path in package.iterdir()} - before - {"__pycache__"} == written
