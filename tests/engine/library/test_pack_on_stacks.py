"""The stacks with the policy pack on: an API server with two addresses is one cluster, at preview and in the update."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.clusters import Sandbox
from sandbox.engine.deployment import POLICY_PACK
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Run, Stack
from tests.support.split import split_configs

PACK = ("--policy-pack", str(POLICY_PACK))


@pytest.fixture
def project(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Project:
    return Project.make(tmp_path, engine_sandbox, tools)


def stacks_of(project: Project, mesh: dict[str, Any]) -> dict[str, Stack]:
    return {name: project.stack(name, {"stack": name, **one}) for name, one in split_configs(mesh).items()}


def judged(stack: Stack, *operation: str) -> Run:
    """A run in which the pack was asked."""
    done = stack.run(*operation, *PACK)
    assert "hosted-mesh@" in done.text, done.text
    return done


@pytest.mark.usefixtures("clean")
def test_an_api_server_with_two_addresses_passes(
    project: Project, mesh: dict[str, Any], engine_sandbox: Sandbox
) -> None:
    stacks = stacks_of(project, mesh)
    access, control_plane = stacks["access"], stacks["control-plane"]
    for operation in (("preview",), ("up", "--yes")):
        done = judged(access, *operation)
        assert (done.code, "mandatory" in done.text) == (0, False), done.text
    # It is the address of the document that crosses, and not the kubeconfig's.
    server = json.loads(access.outputs()["kubeconfig"])["clusters"][0]["cluster"]["server"]
    assert server == mesh["memberships"][0]["access"]["apiServer"]
    assert server != engine_sandbox.data_plane.server

    for name in ("trust", "root"):
        stacks[name].up()
    done = judged(control_plane, "up", "--yes")
    assert (done.code, "mandatory" in done.text) == (0, False), done.text
    for name in ("control-plane", "access", "root", "trust"):
        stacks[name].destroy()
