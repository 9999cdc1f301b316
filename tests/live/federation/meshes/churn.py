"""Two hundred services of one mesh that come and go, as their importer's stack would write them, and who is told."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from lightkube.generic_resource import create_namespaced_resource
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document

from sandbox.proof import workloads
from tests.live.federation.meshes.federated import DOMAIN, NAMESPACE, PORT, Meshes
from tests.live.federation.meshes.three_meshes import PLACES, bookinfo, of_proxy

SERVICES, WRITERS = 200, 16
STOCK, ASIDE = "stock", "warehouse"
"""A program of east, and its namespace: of all that east imports it calls what north exports to it."""
LATE = f"late.{ASIDE}.{DOMAIN}"
KINDS = {
    kind: create_namespaced_resource("networking.istio.io", "v1", kind, plural)
    for kind, plural in (("ServiceEntry", "serviceentries"), ("DestinationRule", "destinationrules"))
}
# Of what istiod sends: a service that a proxy is told of, or not any more, is a cluster of it.
UPDATES = re.compile(r"^(?:cluster_manager\.cds|listener_manager\.lds)\.update_success: (\d+)$", re.MULTILINE)


def _document(of_west: Iterable[str], of_north: Iterable[str]) -> dict[str, Any]:
    """Bookinfo's, with these services more."""
    given = bookinfo(*PLACES)
    east, *others = given["peers"]
    to = [{"mesh": "east", "identities": [f"{NAMESPACE}/*", f"{ASIDE}/*"]}]
    for peer, names, callers in zip(others, (of_west, of_north), (NAMESPACE, ASIDE), strict=True):
        more = [{"namespace": ASIDE, "service": name, "port": PORT, "to": to} for name in names]
        peer["exports"] = [*peer["exports"], *more]
        if more:
            east["imports"].append({"meshes": [peer["mesh"]], "namespace": ASIDE, "namespaces": [callers]})
    return given


def many_of_west() -> list[dict[str, Any]]:
    """What the product makes in east for its import of 200 services of west, which one namespace calls."""
    return _added([f"many-{number:03}" for number in range(SERVICES)], [])


def late_of_north() -> list[dict[str, Any]]:
    """What it makes there for one of north's, which the other namespace calls."""
    return _added([], ["late"])


def _added(of_west: Iterable[str], of_north: Iterable[str]) -> list[dict[str, Any]]:
    def made(document: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
        federation = read_document(Federation, document, "the federation")
        found = objects(federation, "east", with_declared(federation, []))
        return {(one["kind"], one["metadata"]["name"]): one for one in found}

    before, after = made(_document([], [])), made(_document(of_west, of_north))
    return [after[key] for key in sorted(after.keys() - before)]


def write(meshes: Meshes, manifests: Iterable[dict[str, Any]]) -> None:
    """In east. Side by side, for istiod's webhook looks at each."""
    client = meshes.client("east")
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda one: client.apply(workloads.parse(one), force=True), manifests))


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


def updates(meshes: Meshes, mesh: str, name: str, namespace: str) -> int:
    """How often istiod has sent clusters or listeners to the proxy of a Pod since it runs. name: its label app."""
    found = UPDATES.findall(of_proxy(meshes, mesh, name, namespace, "/stats"))
    assert len(found) == 2
    return sum(map(int, found))


def hosts(meshes: Meshes, mesh: str, name: str, namespace: str, pattern: str) -> set[str]:
    """Hosts to which the proxy of a Pod has a route. Istio may leave a cluster that no route leads to: see the limits
    in docs/components/federation.md."""
    routes = of_proxy(meshes, mesh, name, namespace, "/config_dump?resource=dynamic_route_configs")
    return set(re.findall(rf'"({pattern})"', routes))
