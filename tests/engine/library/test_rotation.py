"""`hosted-mesh rotate`, and a renewed intermediate, over separate stacks on real API servers."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.engine.deployment import POLICY_PACK
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack, differences, versions
from tests.support.split import split_configs
from tests.support.waiting import eventually

NAMESPACE = "mesh-demo"
ISTIOD = f"Deployment.apps {NAMESPACE}/istiod"


@pytest.fixture
def project(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Project:
    """With a program's directory as `hosted-mesh rotate` is run in: the stacks' files are there, and are written to."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "Pulumi.yaml").write_text("name: hosted-mesh\nruntime: python\n")
    for name in ("__main__.py", "stacks"):
        (program / name).symlink_to(CHECKOUT / name)
    return Project.make(tmp_path / "backend", engine_sandbox, tools, program)


def stacks_of(project: Project, mesh: dict[str, Any]) -> dict[str, Stack]:
    return {name: project.stack(name, {"stack": name, **one}) for name, one in split_configs(mesh).items()}


def in_program(stack: Stack) -> Stack:
    """The stack with its configuration where the CLI looks for it."""
    return dataclasses.replace(stack, file=stack.file.rename(stack.project.program / f"Pulumi.{stack.name}.yaml"))


def rotate(project: Project, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("hosted-mesh")), "rotate", "--yes", f"--policy-pack={POLICY_PACK}"],
        cwd=project.program,
        env={**project.environment, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def dying(project: Project, directory: Path, before: str) -> dict[str, str]:
    """PATH with a pulumi that kills who called it, instead of the `up` of this stack."""
    directory.mkdir()
    program = directory / "pulumi"
    real = project.tools["pulumi"]
    program.write_text(
        f'#!/bin/sh\ncase "$*" in "up --stack {before} "*) kill -KILL $PPID; exit 1;; esac\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{directory}{os.pathsep}{project.environment['PATH']}"}


def credential(provider: Api, user: Api, path: Path) -> Path:
    """istiod's kubeconfig as its Secret has it now, with the address that this machine reaches."""
    data = provider.get("secret", "istio-kubeconfig", "-n", NAMESPACE)["data"]["config"]
    kubeconfig = json.loads(base64.b64decode(data))
    kubeconfig["clusters"][0]["cluster"]["server"] = user.cluster.server
    path.write_text(json.dumps(kubeconfig))
    return path


def works(user: Api, kubeconfig: Path) -> bool:
    done = user.kubectl("get", "nodes", kubeconfig=kubeconfig)
    assert done.code == 0 or "Unauthorized" in done.text or "must be logged in" in done.text, done.text
    return done.code == 0


@pytest.mark.usefixtures("clean")
def test_a_rotation_over_stacks(
    project: Project, mesh: dict[str, Any], provider: Api, user: Api, tmp_path: Path
) -> None:
    stacks = {name: in_program(stack) for name, stack in stacks_of(project, mesh).items()}
    for stack in stacks.values():
        stack.up()
    before, old = versions(provider, user), credential(provider, user, tmp_path / "old")
    assert works(user, old)

    # Killed between two stacks: the next token is there, and istiod goes on with the one that it has.
    died = rotate(project, **dying(project, tmp_path / "dying", "control-plane"))
    assert died.returncode == -signal.SIGKILL, died.stdout + died.stderr
    between = differences(before, versions(provider, user))
    assert between == {f"data-plane: Secret.core {NAMESPACE}/istiod-token-2": "made"}
    assert works(user, credential(provider, user, tmp_path / "between"))

    done = rotate(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "continues with token 2, after an interruption" in done.stdout
    # Each of the three with its preview, and the policies at each preview and update.
    assert [done.stdout.count(words) for words in ("Previewing update", "Policies:")] == [3, 6], done.stdout
    after = versions(provider, user)
    assert differences(before, after) == {
        f"control-plane: Secret.core {NAMESPACE}/istio-kubeconfig": "changed",
        f"control-plane: {ISTIOD}": "changed",
        f"data-plane: Secret.core {NAMESPACE}/istiod-token-1": "deleted",
        f"data-plane: Secret.core {NAMESPACE}/istiod-token-2": "made",
    }
    new = credential(provider, user, tmp_path / "new")
    # An API server knows a token that it has seen for ten seconds more, without looking for its Secret.
    eventually(lambda: not works(user, old), "the deleted token is refused")
    assert works(user, new)
    token = json.loads(new.read_text())["users"][0]["user"]["token"]
    assert token not in done.stdout + done.stderr + died.stdout + died.stderr
    assert not any(token in file.read_text() for file in project.program.glob("*.yaml"))
    for name in ("access", "control-plane"):
        assert stacks[name].up().summary().keys() == {"unchanged"}, name

    _renewed(project, mesh, stacks, provider, after, user)
    for stack in reversed(stacks.values()):
        stack.destroy()


def status(stacks: Mapping[str, Stack], directory: Path, *names: str) -> tuple[int, str]:
    """Exit code and words of `hosted-mesh status`, of exports without secrets in plain text."""
    files = []
    for name in names:
        files.append(directory / f"{name}.json")
        files[-1].write_text(json.dumps(stacks[name]._told("export")))
    done = CliRunner().invoke(app, ["status", *map(str, files)])
    return done.exit_code, done.output


def _renewed(
    project: Project,
    mesh: dict[str, Any],
    stacks: Mapping[str, Stack],
    provider: Api,
    before: Mapping[str, tuple[str, str]],
    user: Api,
) -> None:
    """An intermediate that the root signs anew: `root`, then `control-plane`, and no other stack."""

    def files() -> dict[str, bytes]:
        data = provider.get("secret", "cacerts", "-n", NAMESPACE)["data"]
        return {name: base64.b64decode(value) for name, value in data.items()}

    authority = ("root", "trust", "control-plane")
    code, said = status(stacks, project.directory, *authority)
    assert (code, "it is the one that root signed" in said) == (0, True), said
    old = files()
    renewing = copy.deepcopy(mesh)
    renewing["trust"]["intermediate"] = {"lifetimeDays": 300}
    in_program(stacks_of(project, renewing)["root"]).up()
    assert differences(before, versions(provider, user)) == {}
    code, said = status(stacks, project.directory, *authority)
    assert (code, "istiod of demo: its authority's certificate ends" in said, "SIGNED ANOTHER" in said) == (
        3,
        True,
        True,
    )
    for alone in authority:
        code, said = status(stacks, project.directory, alone)
        assert (code, "NOT JUDGED: " in said) == (4, True), said
    stacks["control-plane"].up()
    assert status(stacks, project.directory, *authority)[0] == 0
    # istiod reads it without a restart, so its Pods stay.
    assert differences(before, versions(provider, user)) == {
        f"control-plane: Secret.core {NAMESPACE}/cacerts": "changed"
    }
    new = files()
    assert {name for name in old if old[name] != new[name]} == {"ca-cert.pem", "cert-chain.pem"}
    root, certificate = (x509.load_pem_x509_certificate(new[name]) for name in ("root-cert.pem", "ca-cert.pem"))
    certificate.verify_directly_issued_by(root)
    assert (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days == 300
    assert stacks["data-plane"].up().summary().keys() == {"unchanged"}
