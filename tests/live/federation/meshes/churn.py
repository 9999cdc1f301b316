"""Two hundred services of one mesh that come and go, as their importer's stack would write them, and who is told."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lightkube.generic_resource import create_namespaced_resource
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document

from sandbox.proof import workloads
from sandbox.proof.deployed import NotObserved, eventually
from tests.live.federation.meshes.federated import DOMAIN, NAMESPACE, PORT, Meshes
from tests.live.federation.meshes.three_meshes import PLACES, bookinfo, of_proxy

SERVICES, WRITERS = 200, 16
QUIET = 3
"""Seconds without an update. istiod waits 0.1 s for more changes, and each of these tests ends its changes before."""
STOCK, ASIDE = "stock", "warehouse"
"""A program of east, and its namespace: of all that east imports it calls what north exports to it."""
LATE = f"late.{ASIDE}.{DOMAIN}"
Proxy = tuple[str, str, str]
"""Mesh, label app and namespace of a Pod."""
KINDS = {
    kind: create_namespaced_resource("networking.istio.io", "v1", kind, plural)
    for kind, plural in (("ServiceEntry", "serviceentries"), ("DestinationRule", "destinationrules"))
}
# Of what istiod sends: a service that a proxy is told of, or not any more, is a cluster of it.
UPDATES = re.compile(r"^(?:cluster_manager\.cds|listener_manager\.lds)\.update_success: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Added:
    """East's objects for more imports than bookinfo's, as the product computes them."""

    many: list[dict[str, Any]]
    """Only for the import of 200 services of west, which one namespace calls."""
    late: list[dict[str, Any]]
    """Only for the import of one service of north, which the other namespace calls."""
    common: list[dict[str, Any]]
    """For both imports. With `objects: shared` they have one DestinationRule, which stays until both are gone."""


def added(sharing: str) -> Added:
    """sharing: `objects` of the federation's document."""
    names = [f"many-{number:03}" for number in range(SERVICES)]
    before, many, late = _made(sharing, [], []), _made(sharing, names, []), _made(sharing, [], ["late"])
    of_many, of_late = many.keys() - before.keys(), late.keys() - before.keys()
    return Added(
        many=[many[key] for key in sorted(of_many - of_late)],
        late=[late[key] for key in sorted(of_late - of_many)],
        common=[many[key] for key in sorted(of_many & of_late)],
    )


def _made(sharing: str, of_west: Iterable[str], of_north: Iterable[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """East's objects, by kind and name, for bookinfo's document with these services more."""
    given = {**bookinfo(*PLACES), "objects": sharing}
    east, *others = given["peers"]
    to = [{"mesh": "east", "identities": [f"{NAMESPACE}/*", f"{ASIDE}/*"]}]
    for peer, names, callers in zip(others, (of_west, of_north), (NAMESPACE, ASIDE), strict=True):
        more = [{"namespace": ASIDE, "service": name, "port": PORT, "to": to} for name in names]
        peer["exports"] = [*peer["exports"], *more]
        if more:
            east["imports"].append({"meshes": [peer["mesh"]], "namespace": ASIDE, "namespaces": [callers]})
    federation = read_document(Federation, given, "the federation")
    found = objects(federation, "east", with_declared(federation, []))
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def write(meshes: Meshes, manifests: Iterable[dict[str, Any]]) -> None:
    """In east. Side by side, because istiod's webhook validates each. Fails for an object that the mesh has already:
    its removal would change more than these imports."""
    client = meshes.client("east")
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda one: client.create(workloads.parse(one)), manifests))


def remove(meshes: Meshes, manifests: Iterable[dict[str, Any]]) -> None:
    """In east."""
    client = meshes.client("east")

    def delete(one: dict[str, Any]) -> None:
        client.delete(KINDS[one["kind"]], one["metadata"]["name"], namespace=one["metadata"]["namespace"])

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(delete, manifests))


@contextmanager
def coming_and_going(meshes: Meshes, manifests: list[dict[str, Any]]) -> Iterator[Callable[[], bool]]:
    """They come and go in east meanwhile, without an end and without a pause. Yields whether they still do."""
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            write(meshes, manifests)
            remove(meshes, manifests)

    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(churn)
        try:
            yield going.running
        finally:
            over.set()
            going.result()


def settled(meshes: Meshes, *proxies: Proxy) -> list[int]:
    """The counts of updates of these proxies, as soon as they have stayed the same for some seconds."""

    def same() -> list[int]:
        before = [_updates(meshes, *one) for one in proxies]
        time.sleep(QUIET)
        if (after := [_updates(meshes, *one) for one in proxies]) != before:
            raise NotObserved(f"updates still arrive: {before}, then {after}")
        return after

    return eventually(same, seconds=120)


def _updates(meshes: Meshes, mesh: str, name: str, namespace: str) -> int:
    """The updates of clusters and of listeners that the proxy of a Pod has received. name: its label app."""
    found = UPDATES.findall(of_proxy(meshes, mesh, name, namespace, "/stats"))
    assert len(found) == 2
    return sum(map(int, found))


def hosts(meshes: Meshes, mesh: str, name: str, namespace: str, pattern: str) -> set[str]:
    """Hosts to which the proxy of a Pod has a route. Istio may leave a cluster that no route leads to: see the limits
    in docs/components/federation.md."""
    routes = of_proxy(meshes, mesh, name, namespace, "/config_dump?resource=dynamic_route_configs")
    return set(re.findall(rf'"({pattern})"', routes))
