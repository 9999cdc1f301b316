"""A called program behind a gateway, and a check that an action loses nothing of what is sent to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lightkube.generic_resource import create_namespaced_resource

from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from tests.live.revisions.mesh_of_versions import Mesh
from tests.live.revisions.steady_traffic import HOST, Counts, Traffic, called
from tests.support.gateways import PROBE

EDGE = {"name": "edge", "replicas": 2, "chartValues": {"readinessProbe": PROBE}}
GATEWAY = "mesh-demo/edge"
CUT = re.compile(r"failed calling webhook.*(connection (reset|refused|lost)|broken pipe|EOF|GOAWAY)")
"""Texts of Go's HTTP client for a connection that the other end closed."""
Gateway = create_namespaced_resource("networking.istio.io", "v1", "Gateway", "gateways")
VirtualService = create_namespaced_resource("networking.istio.io", "v1", "VirtualService", "virtualservices")


def serve(mesh: Mesh) -> None:
    """Starts the called program, and leads the gateway `edge` to it."""
    client = mesh.any_revision.data_plane
    for manifest in called():
        client.apply(workloads.parse(manifest), force=True)
    server = {"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]}
    target = {"destination": {"host": HOST, "port": {"number": workloads.PORT}}}
    for kind, spec in (
        (Gateway, {"selector": {"istio": "edge"}, "servers": [server]}),
        (VirtualService, {"hosts": ["*"], "gateways": ["edge"], "http": [{"route": [target]}]}),
    ):
        metadata = {"name": "edge", "namespace": "mesh-demo"}
        client.apply(kind.from_dict({"metadata": metadata, "spec": spec}), force=True)
    eventually(lambda: workloads.ready_pod(mesh.any_revision, workloads.CALLED), seconds=120)


@contextmanager
def nothing_lost(traffic: Traffic, action: str, *, ending: int = 0) -> Iterator[None]:
    """During the action, and in the second after it.

    ending: Pods of istiod that end. A Pod that ends closes the API servers' kept connections. A webhook call that was
    sent at that moment fails: Kubernetes repeats no POST, and no setting of istiod announces the end.
    """
    before = traffic.counts()
    yield
    settled(traffic)
    found = traffic.counts().since(before)
    print(found.row(action), flush=True)
    assert found.requests > 100, found
    assert found.calls > 10, found
    cut = [one for one in found.refused if CUT.search(one)]
    assert (found.lost, found.refused) == ((), tuple(cut)), (found.row(action), found.lost, found.refused)
    assert len(cut) <= ending, (found.row(action), cut)


def flowing(traffic: Traffic) -> None:
    """All clients have asked for a second, and lost nothing: before, the gateway may not have its route."""

    def look() -> None:
        before = traffic.counts()
        settled(traffic)
        found = traffic.counts().since(before)
        if found.lost or found.refused:
            raise NotObserved(f"{found.lost} {found.refused}")

    eventually(look, seconds=120)


def settled(traffic: Traffic) -> None:
    """All clients have asked for a second more."""
    seen: Counts = traffic.counts()

    def more() -> None:
        if traffic.counts().requests < seen.requests + 60:
            raise NotObserved("too few requests")

    eventually(more, seconds=120)
