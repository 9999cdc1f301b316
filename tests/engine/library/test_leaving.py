"""docs/leaving.md and the order of removal (docs/components/stacks.md) on the real engine."""

from __future__ import annotations

import base64
import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack, bash_in, differences, name_of, versions
from tests.support.split import HERE, split_configs

Config = dict[str, Any]
NAMESPACE = "mesh-demo"
AUTHORITY, WEBHOOKS, STATES = bash_in("leaving.md")


@pytest.fixture
def project(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Project:
    return Project.make(tmp_path / "project", engine_sandbox, tools)


def stacks_of(project: Project, configs: Config) -> dict[str, Stack]:
    return {name: project.stack(name, {"stack": name, **one}) for name, one in configs.items()}


@pytest.mark.usefixtures("clean")
def test_removal_in_order(project: Project, mesh: Config, user: Api) -> None:
    """The shared root outlives the mesh, and goes on signing for others."""
    mesh = copy.deepcopy(mesh)
    (membership,) = mesh["memberships"]
    membership["access"]["rootCertificateOwner"] = False
    configs = split_configs(mesh)
    cluster = {"cluster": membership["cluster"], "charts": mesh["revisions"][0]["charts"], "keepOnDestroy": False}
    stacks = stacks_of(project, {"cluster": {"cluster": cluster}, **configs})
    for stack in stacks.values():
        stack.up()
    assert user.get("mutatingadmissionpolicies")["items"] == []
    for name in ("data-plane", "control-plane", "access"):
        stacks[name].destroy()
    without = {"stack": "root", "root": {**configs["root"]["root"], "stacks": {}}}
    root = project.stack("root", without)
    kept = root.outputs()["certificate"]
    root.up()
    stacks["trust"].destroy()
    root.up()
    assert (root.outputs()["certificate"], bool(root.outputs()["certificates"])) == (kept, False)
    stacks["cluster"].destroy()
    # With the mesh still in its document, root finds nothing to sign, warns, and serves all others.
    warned = project.stack("root", {"stack": "root", **configs["root"]}).succeed("up", "--yes", "--skip-preview")
    assert "root.stacks.demo: the stack organization/hosted-mesh/trust has no outputs" in warned.text
    project.stack("root", without).destroy()


@pytest.mark.usefixtures("clean")
def test_a_mesh_is_handed_over(project: Project, mesh: Config, provider: Api, user: Api) -> None:
    """Its authority first, then its webhooks, then all the rest; no object changes."""
    configs = split_configs(mesh)
    stacks = stacks_of(project, configs)
    for stack in stacks.values():
        stack.up()
    before = versions(provider, user)

    project.as_written(AUTHORITY, provider)
    files = yaml.safe_load((project.directory / "Pulumi.control-plane.yaml").read_text())["config"][
        "hosted-mesh:cacerts"
    ]
    assert all(file.keys() == {"secure"} for file in files.values())
    data = provider.get("secret", "cacerts", "-n", NAMESPACE)["data"]
    assert files.keys() == data.keys()
    brought = {**configs["control-plane"]["mesh"], "trust": {"management": "brought"}}
    settings = {"stack": "control-plane", "mesh": brought, "cacerts": files, "references": {"access": f"{HERE}/access"}}
    root = base64.b64decode(data["root-cert.pem"]).decode()
    given = {"stack": "control-plane", "rootCertificate": root, "references": settings["references"]}
    unmanaged = {**given, "mesh": {**brought, "trust": {"management": "unmanaged"}}}
    deleted = [step["urn"] for step in project.stack("control-plane", unmanaged).preview() if step["op"] == "delete"]
    assert "demo-cacerts" in map(name_of, deleted), "not a way to leave"
    control_plane = project.stack("control-plane", settings)
    control_plane.up()
    assert differences(before, versions(provider, user)) == {}
    for name in ("root", "trust"):
        stacks[name].destroy()
    assert control_plane.up().summary().keys() == {"unchanged"}

    data_plane = stacks["data-plane"]
    assert len(webhooks_of(data_plane)) == 2
    project.as_written(WEBHOOKS, user)
    assert webhooks_of(data_plane) == []
    unmanaged = {**configs["data-plane"]["dataPlane"], "webhooks": {"management": "unmanaged"}}
    references = configs["data-plane"]["references"]
    data_plane = project.stack("data-plane", {"stack": "data-plane", "dataPlane": unmanaged, "references": references})
    data_plane.up()
    assert differences(before, versions(provider, user)) == {}

    kept = {name: stacks[name].back_up() for name in ("data-plane", "control-plane", "access")}
    project.as_written(STATES, user)
    assert {file.stem for file in (project.directory / ".pulumi/stacks/hosted-mesh").glob("*.json")} == {
        "root",
        "trust",
    }
    assert differences(before, versions(provider, user)) == {}
    ours = {
        f"hosted-mesh.io/{name}"
        for name in ("mesh", "role", "managed-by", "token-expires", "stack", "endpoint-generation", "webhook-settings")
    }
    assert _marks(provider, user) == ours | {"pulumi.com/skipAwait"}

    # And back.
    for name, file in kept.items():
        stacks[name].begin()
        stacks[name].restore(file)
    assert control_plane.up().summary().keys() == {"unchanged"}
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    assert user.kubectl("delete", kinds, "--selector=hosted-mesh.io/mesh=demo").code == 0
    for stack in (data_plane, control_plane, stacks["access"]):
        stack.destroy()


def webhooks_of(stack: Stack) -> list[str]:
    return [one["urn"] for one in stack.resources() if "WebhookConfiguration" in one["type"]]


def _marks(*apis: Api) -> set[str]:
    """Labels and annotations of the mesh's objects, of this program's own name."""
    named = [item["metadata"] for api in apis for key, item in api.everything().items() if "demo" in key]
    marks = {mark for one in named for part in ("labels", "annotations") for mark in one.get(part) or {}}
    return {mark for mark in marks if "hosted-mesh" in mark or "pulumi" in mark}
