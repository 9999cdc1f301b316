"""Istio 1.30 to 1.31, back and forward again: not one request and not one webhook call is lost. Restarts: no request.

Requests go every 50 ms through two sidecars, by a kept connection and by new ones, and through a gateway; webhooks are
called by dry runs. Each action's counts are a row of the table in docs/bench.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from lightkube import ApiError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Node, Pod, PodEviction

from sandbox import toolchain
from sandbox.clusters.topology import Topology
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.toolchain.catalogue import FOR_UPGRADES
from tests.live.revisions.counting import EDGE, nothing_lost, serve, settled
from tests.live.revisions.mesh_of_versions import DEFAULT, Mesh, SplitMesh, charts_of
from tests.live.revisions.steady_traffic import Traffic
from tests.support.clusters import started

OLD, NEW, NEXT = "1.30.8", "1.31.1", "1-31"
TAGS = {OLD: "1.30-dev", NEW: "1.31-dev"}
SPLIT = "separate stacks"
BOTH = {DEFAULT: OLD, NEXT: NEW}
later = pytest.mark.parametrize(
    "mesh",
    [pytest.param(name, marks=pytest.mark.nightly(part)) for name, part in (("one stack", "removal"), (SPLIT, SPLIT))],
    indirect=True,
)
"""For tests that follow the canary, and run nightly: they begin with `default` alone, or as the test before ends."""


def two_nodes() -> Topology:
    """The control plane's cluster has two nodes, so one of them can be drained."""
    control_plane, *others = Topology.of().clusters
    return Topology(clusters=(control_plane.model_copy(update={"zones": ("a", "b")}), *others))


@pytest.fixture(scope="module", params=["one stack", pytest.param(SPLIT, marks=pytest.mark.nightly(SPLIT))])
def mesh(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, progress: Progress
) -> Iterator[Mesh]:
    """With two Pods of each istiod, and a gateway that leads to the called program."""
    tools = toolchain.ensure(also=FOR_UPGRADES, progress=progress)
    sources = {OLD: tools["pilot-discovery-1.30"].parent.parent / "charts", NEW: tools.charts}
    charts = {
        version: charts_of(source, tmp_path_factory.mktemp("charts"), version) for version, source in sources.items()
    }
    with started(tmp_path_factory.mktemp("versions"), tools, progress, topology=two_nodes()) as sandbox:
        directory = tmp_path_factory.mktemp("stack")
        of_all = {"gateways": [EDGE], "image_tags": TAGS, "replicas": 2}
        made = Mesh(sandbox, tools, directory, charts, **of_all)
        if request.param == SPLIT:
            newest = {"path": str(charts[NEW]), "version": NEW}
            made = SplitMesh(sandbox, tools, directory, charts, **of_all, charts_of_data_plane=newest)
        made.up({DEFAULT: OLD})
        made.told(DEFAULT)
        serve(made)
        yield made


def revisions(mesh: Mesh) -> dict[str, set[str]]:
    """The revision of each proxy, by the name of its program without a number."""
    found: dict[str, set[str]] = {}
    for namespace in (workloads.NAMESPACE, "mesh-demo"):
        for pod in mesh.any_revision.data_plane.list(Pod, namespace=namespace):
            if workloads.has_proxy(pod) and pod.metadata.deletionTimestamp is None:
                name = (pod.metadata.labels or {})["app"].rstrip("-0123456789")
                found.setdefault(name, set()).add((pod.metadata.annotations or {})["istio.io/rev"])
    return found


def all_on(mesh: Mesh, revision: str, gateway: str) -> None:
    of = {workloads.CALLED: {revision}, "client-kept": {revision}, "client-new": {revision}, "edge": {gateway}}
    assert revisions(mesh) == of


def move(traffic: Traffic) -> None:
    """All workloads, as a person restarts them."""
    traffic.restart(workloads.CALLED, workloads.NAMESPACE)
    traffic.move()


def test_a_canary_and_back_lose_nothing(mesh: Mesh, traffic: Traffic) -> None:
    all_on(mesh, DEFAULT, DEFAULT)
    with nothing_lost(traffic, "1.31 comes beside 1.30"):
        mesh.up(BOTH)
        for name in BOTH:
            mesh.told(name)
    with nothing_lost(traffic, "the tag and the workloads move to 1.31"):
        mesh.up(BOTH, default=NEXT)
        move(traffic)
    all_on(mesh, NEXT, DEFAULT)
    with nothing_lost(traffic, "a removal of 1.30 is refused"):
        is_refused(mesh, "mesh-demo")
    with nothing_lost(traffic, "back to 1.30"):
        mesh.up(BOTH)
        move(traffic)
    all_on(mesh, DEFAULT, DEFAULT)


@later
def test_the_old_version_goes_when_nothing_uses_it(mesh: Mesh, traffic: Traffic) -> None:
    with nothing_lost(traffic, "forward to 1.31"):
        mesh.up(BOTH, default=NEXT)
        move(traffic)
    with nothing_lost(traffic, "gateways move to 1.31"):
        mesh.up({NEXT: NEW, DEFAULT: OLD}, default=NEXT)
    all_on(mesh, NEXT, NEXT)
    with nothing_lost(traffic, "1.30 goes"):
        eventually(lambda: is_allowed(mesh), seconds=120)
        mesh.remove({NEXT: NEW}, default=NEXT)
    assert len(mesh.istiods()) == 2
    assert set(mesh.istiods().values()) == {NEW}


def is_refused(mesh: Mesh, namespace: str) -> None:
    def look() -> None:
        """istiod counts proxies of ended Pods for some seconds more."""
        text = mesh.refusal({NEXT: NEW}, default=NEXT)
        assert f"revision {DEFAULT} in namespace mesh-demo is in use by" in text, text
        if "is in use by 2 proxies" not in text or f"namespaces of the data plane: {namespace}." not in text:
            raise NotObserved(text)

    eventually(look, seconds=120)


def is_allowed(mesh: Mesh) -> None:
    if text := mesh.refusal({NEXT: NEW}, default=NEXT):
        raise NotObserved(text)


@later
def test_drained_nodes_leave_one_istiod(mesh: Mesh, traffic: Traffic) -> None:
    """By the eviction API, as `kubectl drain`: first a node with one of the two Pods, then the node with both."""
    control_plane = mesh.any_revision.control_plane

    def ready() -> dict[str, str]:
        """Nodes of the ready Pods, by name."""
        pods = control_plane.list(Pod, namespace="mesh-demo", labels={"app": "istiod"})
        there = [one for one in pods if not one.metadata.deletionTimestamp and workloads.is_ready(one)]
        return {str(one.metadata.name): str(one.spec.nodeName) for one in there}

    def two() -> dict[str, str]:
        if len(found := ready()) != 2:
            raise NotObserved(f"istiod's ready Pods are {found}")
        return found

    def evicted(name: str) -> bool:
        """False if the PodDisruptionBudget forbids it."""
        eviction = PodEviction(metadata=ObjectMeta(name=name, namespace="mesh-demo"))
        try:
            control_plane.create(eviction, name, namespace="mesh-demo")
        except ApiError as error:
            assert error.status.code == 429, error.status.message
            assert "disruption budget" in str(error.status.message), error.status.message
            return False
        return True

    def gone(name: str) -> None:
        assert len(ready()) >= 1, "no istiod is ready"
        if not evicted(name):
            raise NotObserved(f"{name} is not evicted yet")

    nodes = sorted(str(one.metadata.name) for one in control_plane.list(Node))
    assert set(eventually(two, seconds=60).values()) == set(nodes), "the two Pods are on one node"
    with nothing_lost(traffic, "two nodes of the control plane drained, one after the other", ending=3):
        for node, pods in zip(nodes, (1, 2), strict=True):
            before = eventually(two, seconds=60)
            control_plane.patch(Node, node, {"spec": {"unschedulable": True}})
            names = [name for name, where in before.items() if where == node]
            assert len(names) == pods, before
            assert evicted(names[0])
            # At once, like a drain: while its successor is not ready the other one stays.
            assert not evicted(next(name for name in before if name != names[0]))
            for name in names[1:]:
                eventually(partial(gone, name), seconds=60)
            assert node not in eventually(two, seconds=60).values()
            control_plane.patch(Node, node, {"spec": {"unschedulable": False}})


@later
def test_restarts_of_istiod_lose_no_request(mesh: Mesh, traffic: Traffic) -> None:
    """One Pod at a time, as a drained node does, and all by a rollout."""
    control_plane = mesh.any_revision.control_plane

    def istiods() -> list[str]:
        found = control_plane.list(Pod, namespace="mesh-demo", labels={"app": "istiod"})
        names = [
            str(one.metadata.name) for one in found if not one.metadata.deletionTimestamp and workloads.is_ready(one)
        ]
        if len(names) < 2:
            raise NotObserved(f"istiod's Pods are {names}")
        return names

    with nothing_lost(traffic, "4 Pods of istiod deleted, one by one", ending=4):
        for _ in range(4):
            name = eventually(istiods, seconds=60)[0]
            control_plane.delete(Pod, name, namespace="mesh-demo")
            eventually(istiods, seconds=60)
            settled(traffic)
    with nothing_lost(traffic, "istiod restarted by a rollout, twice", ending=4):
        (istiod,) = {str(one.metadata.name) for one in control_plane.list(Deployment, namespace="mesh-demo")}
        for _ in range(2):
            traffic.restart(istiod, "mesh-demo", "istiod", of=control_plane)
