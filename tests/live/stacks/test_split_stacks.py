"""One mesh over separate stacks on live clusters, each run under an identity of its own; then the whole proof.

A stack's runner has a kubeconfig with one account of one cluster, or none at all. What the runners share is the
engine's passphrase, without which a stack reference cannot read a secret of another stack.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.resources.core_v1 import Secret, Service
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.engine import name_server
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.proof.deployed import Deployed, MeshFacts, client_of
from sandbox.proof.table import CHECKS, observe
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.support.clusters import started
from tests.support.runners import run_by_accounts
from tests.support.split import HERE, split_configs

# With each change tests/engine/library/test_stacks.py makes a mesh over separate stacks, and compares its objects.
pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("deployed")]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path_factory.mktemp("split"), tools, progress) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def stacks(sandbox: Sandbox, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stack]:
    """In their order, each with a project of its own, whose environment names no other kubeconfig."""
    folder = tmp_path_factory.mktemp("stacks")
    committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())
    mesh: dict[str, Any] = committed["config"]["hosted-mesh:mesh"]
    mesh["revisions"][0]["charts"] = {**mesh["revisions"][0]["charts"], "path": str(tools.charts)}
    mesh["memberships"][0]["crds"] = {"install": False}
    configs = {
        "cluster": {"cluster": {"cluster": {}, "charts": mesh["revisions"][0]["charts"]}},
        **split_configs(mesh),
        # istiod's address is the stack control-plane's output.
        "dns": {
            "dns": committed["config"]["hosted-mesh:dns"],
            "references": {"controlPlanes": {mesh["name"]: f"{HERE}/control-plane"}},
        },
    }
    return run_by_accounts(sandbox, Project.make(folder, sandbox, tools), configs, folder)


@pytest.fixture(scope="module")
def deployed(sandbox: Sandbox, stacks: dict[str, Stack]) -> None:
    """Each with its preview and the policies, as its runner would."""
    name_server.serve(sandbox)
    for stack in stacks.values():
        stack.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    name_server.wait(sandbox, stacks["control-plane"].outputs()["addresses"], print)


def test_every_claim_holds_of_a_mesh_over_separate_stacks(
    sandbox: Sandbox, tools: Tools, stacks: dict[str, Stack]
) -> None:
    mesh = MeshFacts.of(stacks["data-plane"].outputs())
    deployed = Deployed(
        sandbox,
        tools,
        mesh,
        engine_states=lambda: [one.export() for one in stacks.values()],
        gateways=lambda: (),
    )
    rows = [observe(check, deployed) for check in CHECKS]
    assert {row.name: row.evidence for row in rows if not row.holds} == {}


def test_istiods_address_is_an_output(sandbox: Sandbox, stacks: dict[str, Stack]) -> None:
    """By which the stack `dns` publishes its host."""
    exposed = client_of(sandbox.control_plane).get(Service, "istiod-exposed-demo", namespace="mesh-demo")
    assert exposed.status and exposed.status.loadBalancer and exposed.status.loadBalancer.ingress
    (endpoint,) = stacks["control-plane"].outputs()["endpoints"].values()
    address = exposed.status.loadBalancer.ingress[0].ip
    assert address
    assert stacks["control-plane"].outputs()["addresses"] == {endpoint["host"]: [address]}


def test_the_data_planes_runner_holds_nothing_of_the_control_planes(sandbox: Sandbox, stacks: dict[str, Stack]) -> None:
    """Neither the authority's key nor istiod's token is in its state, although it refers to the control plane's."""
    client = client_of(sandbox.control_plane)
    held = {key: value for one in client.list(Secret, namespace="mesh-demo") for key, value in (one.data or {}).items()}
    key = base64.b64decode(held["ca-key.pem"]).decode().splitlines()[1]
    token = json.loads(base64.b64decode(held["config"]))["users"][0]["user"]["token"]
    for name, holds in (("control-plane", True), ("data-plane", False)):
        state = json.dumps(stacks[name].export())
        assert (key in state, token in state) == (holds, holds), name


def test_doctor_looks_at_a_mesh_over_separate_stacks(
    sandbox: Sandbox, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    """With the endpoint that the data plane was handed, and no federation's document."""
    (endpoint,) = stacks["control-plane"].outputs()["endpoints"].values()
    file = tmp_path / "endpoint.json"
    file.write_text(json.dumps(endpoint))
    clusters = [f"--kubeconfig={sandbox.kubeconfig}", "--context=data-plane"]
    clusters += [f"--control-plane-kubeconfig={sandbox.kubeconfig}", "--control-plane-context=control-plane"]
    done = CliRunner().invoke(app, ["doctor", "--mesh=demo", f"--endpoint={file}", *clusters])
    assert (done.exit_code, "FAILED" in done.output) == (0, False), done.output
    assert "access of istiod of demo to its data plane" in done.output
