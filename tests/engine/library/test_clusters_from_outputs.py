"""Clusters whose kubeconfig is an Output, on the real engine: written to, changed in place, guarded, told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project

PROGRAM = Path(__file__).parent / "clusters_from_outputs"


@pytest.mark.usefixtures("clean")
def test_two_clusters_from_outputs(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, user: Api) -> None:
    project = Project.make(tmp_path / "project", engine_sandbox, tools, PROGRAM)
    stack = project.stack("shop", {"value": "one"})
    stack.up()
    assert stack.outputs()["server"] == engine_sandbox.data_plane.server
    # The credential is encrypted wherever the engine keeps it.
    assert b"client-key-data" not in stack.state()
    uid = user.get("secret", "there")["metadata"]["uid"]

    # A Secret that is rotated stays the same object: it is missing at no time.
    assert project.stack("shop", {"value": "two"}).up().summary() == {"updated": 3, "unchanged": 4}
    assert user.get("secret", "there")["metadata"]["uid"] == uid

    leaky = project.stack("shop", {"value": "two", "leak": "typed"}).run("up", "--yes", "--skip-preview")
    assert leaky.code != 0
    assert "leak.metadata.annotations.value: is a control-plane secret, from token" in leaky.text
    assert "Traceback" not in leaky.text

    project.stack("shop", {"value": "two", "leak": "own"}).up()
    assert user.get("secret", "own")["data"] == user.get("secret", "there")["data"]
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_one_cluster_given_twice_is_not_written_to(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> None:
    project = Project.make(tmp_path / "project", engine_sandbox, tools, PROGRAM)
    done = project.stack("twice", {"value": "one", "second": "control-plane"}).run("up", "--yes", "--skip-preview")
    assert done.code != 0
    assert "has the same API server as DataPlaneCluster shop" in done.text
    assert "Traceback" not in done.text
    assert "ConfigMap" not in done.text
