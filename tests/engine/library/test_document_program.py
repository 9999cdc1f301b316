"""`cluster.exec` on a real API server: Pulumi's run logs in by the document's program, and istiod by its own token."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from tests.engine.library.engine import Project, Stack
from tests.support.split import split_configs

PROGRAM = """\
#!/bin/sh
echo run >> "$RUNS"
[ "$1" = login ] && cat "$ANSWER"
"""
VERSION = "client.authentication.k8s.io/v1"


@pytest.fixture
def owners(engine_sandbox: Sandbox, tmp_path: Path) -> dict[str, Any]:
    """The owner's kubeconfig without its user, and beside it the program that prints the user's credential."""
    content = yaml.safe_load(engine_sandbox.data_plane.kubeconfig.read_text())
    (user,) = content["users"]
    pem = {key: base64.b64decode(user["user"][f"{key}-data"]).decode() for key in ("client-certificate", "client-key")}
    status = {"clientCertificateData": pem["client-certificate"], "clientKeyData": pem["client-key"]}
    (tmp_path / "answer").write_text(json.dumps({"kind": "ExecCredential", "apiVersion": VERSION, "status": status}))
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    return dict(content)


def access(project: Project, mesh: dict[str, Any], kubeconfig: dict[str, Any], folder: Path, *args: str) -> Stack:
    """The stack `access` with the owner's kubeconfig and the document's program."""
    (folder / "owners").write_text(yaml.safe_dump(kubeconfig))
    config = copy.deepcopy(split_configs(mesh)["access"])
    env = {"ANSWER": str(folder / "answer"), "RUNS": str(folder / "runs")}
    program = {"command": str(folder / "program"), "args": list(args), "env": env}
    cluster = config["dataPlane"]["cluster"]
    cluster |= {"kubeconfig": str(folder / "owners"), "context": kubeconfig["current-context"], "exec": program}
    return project.stack("access", {"stack": "access", **config})


@pytest.mark.usefixtures("clean")
def test_a_run_logs_in_by_the_documents_program_alone(
    project: Project, mesh: dict[str, Any], owners: dict[str, Any], tmp_path: Path
) -> None:
    theirs = {"apiVersion": VERSION, "command": "touch", "args": [str(tmp_path / "theirs")], "interactiveMode": "Never"}
    owners["users"][0]["user"] = {"exec": theirs}
    rejected = access(project, mesh, owners, tmp_path, "login").run("up", "--yes", "--skip-preview")
    assert rejected.code != 0
    assert "dataPlane.cluster.exec: is set, but the kubeconfig's user has exec" in rejected.text, rejected.text
    assert not (tmp_path / "theirs").exists()
    assert not (tmp_path / "runs").exists()

    del owners["users"]
    failed = access(project, mesh, owners, tmp_path, "logout").run("up", "--yes", "--skip-preview")
    assert failed.code != 0, failed.text
    assert (tmp_path / "runs").exists()

    stack = access(project, mesh, owners, tmp_path, "login")
    stack.up()
    (user,) = json.loads(stack.outputs()["kubeconfig"])["users"]
    assert list(user["user"]) == ["token"]
    assert {one["op"] for one in stack.preview()} == {"same"}
    stack.destroy()
