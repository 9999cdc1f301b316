"""`make up ARGS=--controller`: meshes by curl and by kubectl, as its closing text prints them. Then the whole proof."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.client import Client

from sandbox.clusters import Sandbox
from sandbox.engine import controller
from sandbox.engine.controller import TENANT, Controller
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.progress import Progress
from sandbox.proof.deployed import Deployed, MeshFacts
from sandbox.proof.table import CHECKS, observe
from sandbox.toolchain import Tools
from tests.support.clusters import started
from tests.support.waiting import eventually

# The sandbox's load balancers publish istiod's host here: no bridge was ordered.
BRIDGES = "names"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path_factory.mktemp("ordered"), tools, progress) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def service(sandbox: Sandbox, tools: Tools, progress: Progress) -> Iterator[Controller]:
    yield controller.start(sandbox, tools, progress)
    controller.remove(sandbox.state)


@pytest.fixture(scope="module")
def commands(service: Controller, sandbox: Sandbox) -> list[str]:
    """Of the closing text."""
    text = controller.instructions(service, sandbox.state, sandbox.kubeconfig)
    return [line.strip() for line in text.splitlines() if line.strip().startswith(("curl ", "kubectl "))]


def run(command: str, tools: Tools) -> str:
    environment = {"PATH": f"{tools.bin_dir}:/usr/bin:/bin", "HOME": str(Path.home())}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=330)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def client(service: Controller) -> Client:
    return Client(service.address, service.token.read_text().strip(), TENANT)


def deployed(service: Controller, sandbox: Sandbox, tools: Tools, name: str) -> Deployed:
    outputs = client(service).show("meshes", name).outputs
    folder = service.token.parent / "data"
    stack = f"{TENANT}.meshes.{name}"
    secrets = {"PULUMI_CONFIG_PASSPHRASE_FILE": str(service.token.parent / "passphrase")}
    cli = PulumiCli.of(tools, {"PULUMI_BACKEND_URL": f"file://{folder / 'states'}", **secrets})

    def states() -> list[dict[str, Any]]:
        command = ("stack", "export", "--show-secrets", "--stack", stack)
        return [json.loads(cli.run(*command, cwd=folder / "stacks" / stack).stdout)]

    return Deployed(sandbox, tools, MeshFacts.of(outputs), engine_states=states, gateways=lambda: ())


def log(service: Controller) -> str:
    return Path(service.token.parent / "log").read_text()[-4000:]


def test_a_mesh_by_curl(service: Controller, sandbox: Sandbox, tools: Tools, commands: list[str]) -> None:
    (curl,) = [one for one in commands if one.startswith("curl ")]
    made = json.loads(run(curl, tools))
    ended = client(service).wait(made["id"])
    assert ended.state == "succeeded", f"{ended.error} {log(service)}"
    facts = deployed(service, sandbox, tools, "books")
    (row,) = [observe(check, facts) for check in CHECKS if check.name == "istiod"]
    assert row.holds, row.evidence
    token, path = f"Authorization: Bearer $(cat {service.token})", f"/v1/tenants/{TENANT}/meshes/books"
    removed = json.loads(run(f"""curl -X DELETE -H "{token}" -H 'If-Match: "1"' {service.address}{path}""", tools))
    gone = client(service).wait(removed["id"])
    assert gone.state == "succeeded", f"{gone.error} {log(service)}"


def test_a_mesh_by_kubectl(service: Controller, sandbox: Sandbox, tools: Tools, commands: list[str]) -> None:
    """Every claim of the proof, and the words of `make up` at its second run."""
    for one in commands:
        if one.startswith("kubectl "):
            run(one, tools)
    facts = deployed(service, sandbox, tools, "shop")
    rows = [observe(check, facts) for check in CHECKS if check.name != BRIDGES]
    assert {row.name: row.evidence for row in rows if not row.holds} == {}
    assert len(rows) == len(CHECKS) - 1
    again = controller.start(sandbox, tools, Progress(live=False))
    assert again == service
    assert [one.action for one in client(service).operations() if one.name == "shop"] == ["up"]


def test_down_ends_the_controller(service: Controller, sandbox: Sandbox) -> None:
    """With its files. Last of this file."""
    eventually(lambda: client(service).show("meshes", "shop").state == "ready", "the mesh is ready")
    controller.remove(sandbox.state)
    assert not service.token.parent.exists()
    assert subprocess.run(["curl", "--silent", f"{service.address}/healthz"], capture_output=True).returncode == 7
