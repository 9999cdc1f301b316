"""A mesh with `split: false`: a real istiod beside its proxies, with the chart's webhooks, and nothing elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube.resources.core_v1 import Namespace, Pod

from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.proof import identity, traffic, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack
from tests.live.tenants.one_cluster import document, facts
from tests.support.clusters import started
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def lab(
    tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress
) -> Iterator[tuple[Sandbox, Stack, Tools]]:
    with started(tmp_path_factory.mktemp("single"), tools, progress) as sandbox:
        project = Project.make(tmp_path_factory.mktemp("project"), sandbox, tools)
        yield sandbox, project.stack("single", {"stack": "all-in-one", "mesh": document(tools)}), tools


def test_proxies_beside_their_istiod_are_served_and_a_destroy_leaves_nothing(lab: Any) -> None:
    sandbox, stack, tools = lab
    user, provider = Api(sandbox.data_plane, tools), Api(sandbox.control_plane, tools)
    before, elsewhere = user.stored(), provider.stored()
    stack.up()
    deployed = Deployed(sandbox, tools, facts(sandbox, tools, stack), engine_states=list, gateways=list)
    pods = workloads.deploy(deployed)
    caller = deployed.program_of(pods[workloads.CALLER], identity.AGENT)
    spiffe = f"spiffe://{deployed.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{workloads.CALLER}"
    dump = json.loads(deployed.of_proxy(caller, "/config_dump"))
    assert identity.seen_in(dump, spiffe, deployed.mesh.root_certificate) > 0
    traffic.arrived_from(eventually(lambda: traffic.answered(deployed, caller, 200), seconds=60), spiffe)
    refused = Kubectl.of(sandbox.data_plane, tools).run("create", "--dry-run=server", "--filename=-", text=INVALID)
    assert refused.returncode != 0
    assert "denied the request" in refused.stderr, refused.stderr

    assert stack.up().summary().keys() == {"unchanged"}, "istiod's own changes of its webhooks stay"
    assert provider.stored() == elsewhere

    deployed.data_plane.delete(Namespace, workloads.NAMESPACE)

    def gone() -> None:
        if list(deployed.data_plane.list(Pod, namespace=workloads.NAMESPACE)):
            raise NotObserved("Pods are still there")

    eventually(gone, seconds=90)
    eventually(lambda: removed(stack), seconds=60, every=5)

    def clean() -> None:
        if left := sorted(user.stored() - before):
            raise NotObserved(f"left in the cluster: {left}")

    eventually(clean, seconds=60)


def removed(stack: Stack) -> None:
    """Proxies of ended Pods count for some seconds more."""
    done = stack.run("destroy", "--yes", "--skip-preview", "--run-program")
    if done.code != 0:
        assert "is in use by" in done.text, done.text
        raise NotObserved(done.text)


INVALID = """
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: invalid, namespace: default}
spec: {hosts: [x.example.com], http: [{route: [{destination: {host: x}, weight: -5}]}]}
"""
