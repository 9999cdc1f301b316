"""Ways to break a mesh's part of a federation on real clusters; each puts back what it changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tests.live.federation.meshes.federated import HOST, Meshes
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

ENTRY = f"shops-{HOST}"
Breaking = Callable[[Meshes], AbstractContextManager[None]]


def kubectl(meshes: Meshes, mesh: str | None, *words: str, given: Any = None) -> str:
    """mesh: whose data plane; None: the control plane's cluster."""
    cluster = meshes.sandbox.control_plane if mesh is None else meshes.cluster(mesh)
    return Kubectl.of(cluster, meshes.tools)(*words, text="" if given is None else json.dumps(given))


def stored(meshes: Meshes, mesh: str | None, kind: str, name: str, namespace: str) -> dict[str, Any]:
    """An object without what the API server adds, so that it can be made again."""
    found: dict[str, Any] = json.loads(kubectl(meshes, mesh, "get", kind, name, f"-n={namespace}", "-o=json"))
    for added in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
        found["metadata"].pop(added, None)
    return found


@contextmanager
def _deleted(meshes: Meshes, mesh: str | None, kind: str, name: str) -> Iterator[None]:
    before = stored(meshes, mesh, kind, name, "mesh-east")
    kubectl(meshes, mesh, "delete", kind, name, "-n=mesh-east")
    try:
        yield
    finally:
        kubectl(meshes, mesh, "create", "--filename=-", given=before)


def without(kind: str, name: str) -> Breaking:
    """An object of east's federation is deleted."""
    return lambda meshes: _deleted(meshes, "east", kind, name)


def no_cacerts(meshes: Meshes) -> AbstractContextManager[None]:
    """The Secret of east's authority is gone."""
    return _deleted(meshes, None, "secret", "cacerts")


def no_kubeconfig(meshes: Meshes) -> AbstractContextManager[None]:
    """The Secret of istiod's access is gone. istiod goes on: it has read it."""
    return _deleted(meshes, None, "secret", "istio-kubeconfig")


@contextmanager
def left_behind(meshes: Meshes) -> Iterator[None]:
    """A ServiceEntry of something that nobody exports any more."""
    old = stored(meshes, "east", "serviceentry", ENTRY, "mesh-east")
    old["metadata"]["name"] = "shops-old.example.com"
    old["spec"]["hosts"] = ["old.example.com"]
    kubectl(meshes, "east", "create", "--filename=-", given=old)
    try:
        yield
    finally:
        kubectl(meshes, "east", "delete", "serviceentry", "shops-old.example.com", "-n=mesh-east")


def patched(kind: str, name: str, change: Any, back: Any, mesh: str = "east") -> Breaking:
    """An object of a mesh merged with a change, and with another one afterwards."""

    @contextmanager
    def breaking(meshes: Meshes) -> Iterator[None]:
        def patch(what: Any) -> None:
            options = ["--type=merge", f"--patch={json.dumps(what)}"]
            kubectl(meshes, mesh, "patch", kind, name, f"-n=mesh-{mesh}", *options)

        patch(change)
        try:
            yield
        finally:
            patch(back)

    return breaking


@contextmanager
def no_address(meshes: Meshes) -> Iterator[None]:
    """East's gateway without a load balancer."""

    def addressed() -> bool:
        path = "-o=jsonpath={.status.loadBalancer.ingress[0].ip}"
        return bool(kubectl(meshes, "east", "get", "service", "eastwest", "-n=mesh-east", path))

    change = {"spec": {"type": "ClusterIP"}}
    with patched("service", "eastwest", change, {"spec": {"type": "LoadBalancer"}})(meshes):
        eventually(lambda: not addressed(), "the address is taken away")
        yield
    eventually(addressed, "it has an address again")
