"""Stacks of version 0.2.0 under this version's program, on the real engine and real API servers.

The earlier version's own program makes them, from the release in the history, with its own documents.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.earlier_version import release
from tests.engine.library.engine import Api, Project, Stack, differences, name_of, versions
from tests.support.split import split_configs

Config = dict[str, Any]
# The engine's operations that leave the object with its uid, or add one.
HARMLESS = {"same", "update", "create", "refresh", "read"}
# Objects that an update changes ("changed") or adds ("made"), `STACK: KIND NAMESPACE/NAME`. docs/versions.md has them.
OF_A_MESH: dict[str, str] = {}
OF_A_BRIDGE: dict[str, str] = {
    "control-plane: ConfigMap.core hosted-mesh-dns/dns-edge-north-sidecar": "changed",
    "control-plane: ConfigMap.core hosted-mesh-dns/dns-sidecar": "changed",
    "control-plane: Deployment.apps hosted-mesh-dns/dns-publisher-north-office": "changed",
    "control-plane: Deployment.apps hosted-mesh-dns/dns-reader-north": "changed",
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("earlier") / "checkout")


@pytest.fixture
def document(earlier: Path, mesh: Config) -> Config:
    """The earlier version's committed document, with the clusters, charts and readiness of these tests."""
    stack = yaml.safe_load((earlier / "stacks/Pulumi.all-in-one.yaml").read_text())
    committed: dict[str, Any] = stack["config"]["hosted-mesh:mesh"]
    committed["controlPlane"]["cluster"] = mesh["controlPlane"]["cluster"]
    (revision,), (membership,) = committed["revisions"], committed["memberships"]
    revision["istiod"]["waitUntilReady"] = False
    revision["charts"] = mesh["revisions"][0]["charts"]
    membership |= {"cluster": mesh["memberships"][0]["cluster"], "crds": {"install": False}}
    committed["trust"] = {"root": {"protect": False}}
    return committed


def under(stack: Stack, program: Path) -> Stack:
    """The same stack, run by the program of another checkout with the library beside it."""
    path = os.pathsep.join([str(program / "components"), str(program)])
    environment = {**stack.project.environment, "PYTHONPATH": path}
    return replace(stack, project=replace(stack.project, program=program, environment=environment))


def upgraded(stacks: Mapping[str, Stack], earlier: Path, *apis: Api) -> dict[str, str]:
    """Makes the stacks by the earlier version, then previews and updates each by this one. Returns changes by object.

    Of the steps none may replace or remove a resource, and the second run of this version changes nothing.
    """
    for stack in stacks.values():
        under(stack, earlier).up()
    before = versions(*apis)
    for name, stack in stacks.items():
        steps = stack.preview()
        harmful = {f"{step['op']} {name_of(step['urn'])}" for step in steps if step["op"] not in HARMLESS}
        assert harmful == set(), name
        done = stack.up()
        assert done.summary().keys() <= {"unchanged", "updated", "created"}, done.text
    found = differences(before, versions(*apis))
    for name, stack in stacks.items():
        assert stack.up().summary().keys() == {"unchanged"}, name
    return found


@pytest.mark.usefixtures("clean")
def test_a_mesh_in_one_stack(
    tmp_path: Path, earlier: Path, document: Config, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    stack = Project.make(tmp_path, engine_sandbox, tools).stack("all", {"stack": "all-in-one", "mesh": document})
    fates = upgraded({"all-in-one": stack}, earlier, provider, user)
    assert fates == OF_A_MESH
    stack.destroy()


@pytest.mark.nightly("separate stacks")
@pytest.mark.usefixtures("clean")
def test_a_mesh_in_separate_stacks(
    tmp_path: Path, earlier: Path, document: Config, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    project = Project.make(tmp_path, engine_sandbox, tools)
    stacks = {name: project.stack(name, {"stack": name, **one}) for name, one in split_configs(document).items()}
    fates = upgraded(stacks, earlier, provider, user)
    assert fates == OF_A_MESH
    for stack in reversed(stacks.values()):
        stack.destroy()


@pytest.mark.nightly("separate stacks")
@pytest.mark.usefixtures("clean")
def test_a_bridge_in_two_stacks(
    tmp_path: Path, earlier: Path, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    def committed(stack: str) -> Config:
        keys = yaml.safe_load((earlier / f"stacks/Pulumi.{stack}.yaml").read_text())["config"]
        return {key.removeprefix("hosted-mesh:"): value for key, value in keys.items()}

    edge, centre = committed("dns-edge"), committed("dns")
    edge["dnsEdge"] |= {"keepCrd": False}
    centre["dns"]["bridge"]["waitUntilReady"] = False
    centre["dnsCredentials"] = {"office": {"tsig-secret": "dHNpZy1vZi10aGUtdGVzdA=="}}
    project = Project.make(tmp_path, engine_sandbox, tools)
    stacks = {"dns-edge": project.stack("dns-edge", edge), "dns": project.stack("dns", centre)}
    fates = upgraded(stacks, earlier, provider, user)
    assert fates == OF_A_BRIDGE
    for stack in reversed(stacks.values()):
        stack.destroy()


def test_the_page_lists_each_object() -> None:
    """An update from 0.2.0 changes no object that its reader does not find there."""
    page = (CHECKOUT / "docs/versions.md").read_text().partition("\n### From 0.2.0\n")[2].partition("\n## ")[0]
    for name in OF_A_MESH | OF_A_BRIDGE:
        found = name.rpartition("/")[2]
        if "webhook" in name.lower():
            assert "both webhook configurations" in page
        else:
            for own, written in {"north-office": "EDGE-PROVIDER", "north": "EDGE", "mesh-demo": "mesh-NAME"}.items():
                found = found.replace(own, written)
            assert f"`{found}`" in page
    # Neither says more than the other.
    assert ("So far no object changes" in page) == (not OF_A_MESH and not OF_A_BRIDGE)
