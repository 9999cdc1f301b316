"""A mesh moves from its own load balancer to the shared gateway and back, as docs/components/gateway.md has it.

Requests and webhook calls never stop meanwhile, and none may fail.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.resources.core_v1 import Service

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, client_of, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.live.revisions.steady_traffic import Traffic, called
from tests.support.applied import apply
from tests.support.clusters import started
from tests.support.split import HERE

DEFAULT, SHARED = "default", "shared"
ZONE = "sandbox.test"
HOSTNAME = "external-dns.alpha.kubernetes.io/hostname"
HOST, HOOKS = f"istiod-shared.demo.{ZONE}", f"hooks-shared.demo.{ZONE}"
INJECTED = {"istio-injection": "enabled"}
PAGE = CHECKOUT / "docs/components/gateway.md"
pytestmark = pytest.mark.nightly


@dataclass
class MovingMesh:
    """The sandbox with the gateway's stack and the mesh's. outputs: of the mesh's last update."""

    sandbox: Sandbox
    tools: Tools
    project: Project
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def up(self, *revisions: str, **tags: str) -> None:
        """With these revisions: `default` has a load balancer, `shared` is behind the gateway."""
        committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())
        mesh = copy.deepcopy(committed["config"]["hosted-mesh:mesh"])
        (first,), (membership,) = mesh["revisions"], mesh["memberships"]
        membership["access"]["apiServer"] = self.sandbox.data_plane.wan_server
        first["charts"]["path"] = str(self.tools.charts)
        first["exposure"] |= {"publishName": True}
        ranges = {"sourceRanges": first["exposure"]["sourceRanges"]}
        behind = {"kind": "gateway", **ranges, "webhooks": {"host": HOOKS, **ranges}}
        both = {DEFAULT: first, SHARED: copy.deepcopy(first) | {"name": SHARED, "host": HOST, "exposure": behind}}
        mesh |= {"revisions": [both[one] for one in revisions], "tags": dict(tags)}
        config = {"stack": "all-in-one", "mesh": mesh, "references": {"gateway": f"{HERE}/gateway"}}
        stack = self.project.stack("mesh", config)
        stack.succeed("up", "--yes", "--skip-preview", *stack.program_options())
        self.outputs = stack.outputs()

    @property
    def any_revision(self) -> Deployed:
        (_, one), *_ = self.outputs["endpoints"].items()
        facts = MeshFacts.of({**self.outputs, "endpoints": {"one": one}, "injection_labels": INJECTED})
        return Deployed(self.sandbox, self.tools, facts, engine_states=list, gateways=list)

    def balancers(self) -> set[str]:
        """Services of type LoadBalancer of the mesh on the control plane."""
        found = client_of(self.sandbox.control_plane).list(Service, namespace="mesh-demo")
        return {str(one.metadata.name) for one in found if one.spec and one.spec.type == "LoadBalancer"}


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[MovingMesh]:
    with started(tmp_path_factory.mktemp("moving"), tools, progress) as sandbox:
        project = Project.make(tmp_path_factory.mktemp("project"), sandbox, tools)
        made = MovingMesh(sandbox, tools, project)
        cluster = {"kubeconfig": str(sandbox.kubeconfig), "context": sandbox.control_plane.name}
        settings = {"zones": [ZONE], "openToAll": True, "replicas": 1, "annotations": {HOSTNAME: f"{HOST},{HOOKS}"}}
        settings["resources"] = {"cpuRequest": "50m", "memoryRequest": "64Mi"}
        gateway: Stack = project.stack(
            "gateway", {"stack": "gateway", "gateway": {"cluster": cluster, "gateway": settings}}
        )
        gateway.up()
        made.up(DEFAULT)
        yield made


@pytest.fixture(scope="module")
def served(mesh: MovingMesh) -> MovingMesh:
    """With the called program."""
    deployed = mesh.any_revision
    for manifest in called():
        # The webhooks answer once the host leads to istiod.
        eventually(partial(apply, deployed.data_plane, workloads.parse(manifest)), seconds=60)
    eventually(lambda: workloads.ready_pod(deployed, workloads.CALLED), seconds=90)
    return mesh


@pytest.mark.parametrize(("way", "balancers"), [("to the gateway", set()), ("back", {"istiod-exposed-demo"})])
def test_a_mesh_moves_without_a_lost_request(way: str, balancers: set[str], served: MovingMesh, tmp_path: Path) -> None:
    """By the steps of the page, in this order."""
    with moving(served, tmp_path) as traffic:
        steps = steps_of(way)
        assert len(steps) == 3
        for revisions, tags, afterwards in steps:
            served.up(*revisions, **tags)
            if afterwards:
                assert afterwards == "restart the workloads"
                traffic.restart(workloads.CALLED, workloads.NAMESPACE)
                traffic.move()
        assert served.balancers() == balancers
        answering(traffic)


def steps_of(way: str) -> list[tuple[list[str], dict[str, str], str]]:
    """Revisions, tags and the work afterwards, from the table of the page with this head."""
    _, _, table = PAGE.read_text().partition(f"| {way} | revisions | tags | afterwards |\n|---|---|---|---|\n")
    found = []
    for row in itertools.takewhile(lambda line: line.startswith("|"), table.splitlines()):
        _, revisions, tags, afterwards = (cell.strip() for cell in row.strip("|").split("|"))
        named: dict[str, str] = yaml.safe_load(tags.strip("`")) if tags else {}
        found.append(([one.strip(" `") for one in revisions.split(",")], named, afterwards))
    return found


@contextmanager
def moving(mesh: MovingMesh, directory: Path) -> Iterator[Traffic]:
    """Traffic during a block, of which nothing may fail."""
    traffic = Traffic(mesh, directory)
    try:
        with traffic.running():
            answering(traffic)
            before = traffic.counts()
            yield traffic
            found = traffic.counts().since(before)
    finally:
        # The next traffic has Pods of the same names, with sidecars of its own revision.
        traffic.remove()
    print(found.row("a move"), *found.lost[:20], *found.refused[:20], sep="\n")
    assert (found.lost, found.refused) == ((), ())
    assert min(found.requests, found.calls) > 100


def answering(traffic: Traffic) -> None:
    """Both kinds of calls go on."""
    before = traffic.counts()

    def more() -> None:
        now = traffic.counts()
        if now.requests < before.requests + 20 or now.calls < before.calls + 4:
            raise NotObserved(f"{now.requests} requests and {now.calls} webhook calls")

    eventually(more, seconds=60)
