"""A hosted cluster with two pools of nodes: the network between admits one of them, and operators start there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import toolchain
from sandbox.clusters import ClusterSpec, Topology
from sandbox.clusters.network.addresses import WAN_SUBNET
from sandbox.engine.operators import POOL
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import FOR_OPERATORS
from tests.engine.library.engine import Project
from tests.live.operators.hosting import HOST, Hosting, document_of
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly
OTHERS, OPERATORS = "data-plane-node", "data-plane-node-2"
"""Nodes. Only Pods of the second one reach the control plane."""
RULES = """
table inet pools {{
    chain to_control_plane {{
        type filter hook forward priority filter; policy accept;
        ip saddr {pods} ip daddr {wan} drop
    }}
}}
"""
REACHES = f"import socket; socket.create_connection(({HOST!r}, 443), 5)"


@pytest.fixture(scope="module")
def hosting(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Hosting]:
    tools = toolchain.ensure(also=FOR_OPERATORS, progress=progress)
    directory = tmp_path_factory.mktemp("pools")
    topology = Topology(clusters=(Topology.of(2).clusters[0], ClusterSpec(name="data-plane", zones=("a", "b"))))
    with started(directory / "state", tools, progress, topology=topology) as sandbox:
        hosted = sandbox.data_plane
        (closed,) = [node.pods for node in hosted.addresses.nodes if node.name == OTHERS]
        rules = RULES.format(pods=closed, wan=WAN_SUBNET)
        sandbox.run("data-plane", [tools["nft"], "-f", "-"], input=rules, text=True, check=True)
        project = Project.make(directory / "project", sandbox, tools)
        found = Hosting(sandbox, tools, project, hosted, document_of(hosted))
        kubectl = Kubectl.of(hosted, tools)
        kubectl("label", "node", OPERATORS, *(f"{key}={value}" for key, value in POOL.items()))
        # Without a placement the scheduler chooses the other node.
        kubectl("taint", "node", OPERATORS, "example.com/pool=operators:PreferNoSchedule")
        found.stack().succeed("up", "--yes")
        yield found


def reaches(hosting: Hosting, pod: str, namespace: str) -> bool:
    """Whether the Pod's program can connect to the control plane."""
    done = hosting.user.run("exec", pod, "-n", namespace, "--", "python3", "-c", REACHES)
    assert done.returncode == 0 or "Error" in done.stderr, done.stderr  # of the connection
    return done.returncode == 0


def test_a_pod_without_the_placement_does_not_reach_the_control_plane(hosting: Hosting) -> None:
    """The network's rule works, and the scheduler alone does not lead to the pool."""
    kubectl = hosting.user
    kubectl("run", "plain", "--image=sandbox/sample:1", "-n", "default")
    kubectl("wait", "--for=condition=Ready", "pod/plain", "-n", "default", "--timeout=60s")
    assert kubectl.get("pod", "plain", "-n", "default")["spec"]["nodeName"] == OTHERS
    assert not reaches(hosting, "plain", "default")


def test_an_operator_starts_on_the_pool_and_reaches_the_control_plane(hosting: Hosting) -> None:
    hosting.subscribe("stable")
    hosting.eventually(lambda: hosting.has("demo.v1.0.0"), "demo.v1.0.0 is installed")
    (pod,) = hosting.user.get("pods", "-n", "operators")["items"]
    assert pod["spec"]["nodeName"] == OPERATORS
    assert reaches(hosting, pod["metadata"]["name"], "operators")
    events = hosting.user.get("events", "-n", "operators")["items"]
    started_on = {one["source"].get("host") for one in events if one["reason"] == "Started"}
    assert started_on == {OPERATORS}  # no earlier Pod started elsewhere


def test_an_upgrade_starts_there_too(hosting: Hosting) -> None:
    hosting.subscribe("fast")
    hosting.eventually(lambda: hosting.has("demo.v1.1.0"), "demo.v1.1.0 is installed")

    def nodes() -> set[str]:
        return {one["spec"].get("nodeName", "") for one in hosting.user.get("pods", "-n", "operators")["items"]}

    eventually(lambda: nodes() == {OPERATORS}, "its Pods run on the pool")
    hosting.remove()
