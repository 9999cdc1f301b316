"""istiod's configuration for one proxy, and its memory, as meshes join: part of `make bench ARGS=federation`.

One istiod, one API server and one proxy are real. The other meshes do not exist: the bench writes the objects that the
library computes for them. The comparison is Istio's own way for the same meshes, where each istiod reads every API
server: their Services and EndpointSlices, written into this one API server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lightkube.generic_resource import create_namespaced_resource
from pulumi_hosted_mesh.federation.exports import offer
from pulumi_hosted_mesh.federation.imports import imported
from pulumi_hosted_mesh.federation.manifests import importing
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.vocabulary import namespace_of
from rich.console import Console

from bench.federation import EVERY_OTHER, NAMESPACE, SERVICES, SIZES, document, services
from bench.grid import Grid
from bench.istiod_metrics import MEMORY, metric
from bench.own_sandbox import beside
from sandbox import clusters, toolchain
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT

Manifest = dict[str, Any]
WRITERS: Final = 16
FIRST: Final = namespace_of("mesh-00")
HOST: Final = f".{NAMESPACE}."
for kind, plural in (("ServiceEntry", "serviceentries"), ("DestinationRule", "destinationrules")):
    create_namespaced_resource("networking.istio.io", "v1", kind, plural)


@dataclass(frozen=True)
class Held:
    """services: of other meshes, in the proxy's configuration. bytes: of that configuration, as JSON without spaces.
    memory: istiod's, MB."""

    meshes: int
    services: int
    bytes: int
    memory: float


def run(state: Path, progress: Progress, console: Console) -> None:
    """Measures on a sandbox of its own beside `state`. Some ten minutes. Raises SandboxError, NotObserved."""
    tools = toolchain.ensure(progress=progress)
    ways: tuple[tuple[str, Callable[[int], list[Manifest]]], ...] = (
        ("each imports a tenth of one other's services", lambda size: imports(size, 1)),
        ("each imports a tenth of every other's services", lambda size: imports(size, EVERY_OTHER)),
        ("Istio's way: istiod reads every API server", everything),
    )
    for title, given in ways:
        # Each on a mesh of its own: istiod does not release memory.
        with beside(state) as folder:
            sandbox = clusters.up(folder / "state", tools, progress)
            deployment.up(sandbox, tools, progress)
            deployed = Deployed.of(sandbox, tools)
            workloads.deploy(deployed)
            with progress.step(title) as step:
                found = [*_grown(deployed, given, step.note)]
            console.print(grid(title, found).for_terminal())


def imports(size: int, neighbours: int) -> list[Manifest]:
    """The first mesh's objects for its imports, among `size` meshes. neighbours: the number of its exporters."""
    federation = read_document(Federation, document(size, neighbours or size - 1), "the federation")
    mesh = federation.peers[0]
    offers = [offer(federation, one, services(one)) for wish in mesh.imports for one in wish.meshes]
    wanted = imported(federation, mesh.mesh, offers)
    return [made for one in wanted for made in importing(federation, mesh, one)]


def everything(size: int) -> list[Manifest]:
    """The Services of all other meshes, each with one endpoint."""
    made: list[Manifest] = []
    for number in range(1, size):
        for at, one in enumerate(services(f"mesh-{number:02}")):
            name = one["metadata"]["name"]
            # The nodes' own proxies ignore these, so the measurement covers istiod's part alone.
            labels = {"service.kubernetes.io/service-proxy-name": "nobody", "kubernetes.io/service-name": name}
            metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
            ports = [{"name": "http", "port": 80}]
            made.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}})
            endpoints = [{"addresses": [f"10.200.{number}.{at}"], "conditions": {"ready": True}}]
            slice_ = {"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": endpoints}
            made.append({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", **slice_})
    return made


def _grown(deployed: Deployed, given: Callable[[int], list[Manifest]], note: Callable[[str], None]) -> Iterator[Held]:
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}} for one in (FIRST, NAMESPACE)]
    _write(deployed, namespaces)
    yield _held(deployed, 1, 0)
    there: set[str] = set()
    for size in SIZES:
        note(f"{size} meshes")
        manifests = given(size)
        # Those of fewer meshes are among those of more; istiod would send rewritten ones again.
        _write(deployed, [one for one in manifests if json.dumps(one) not in there])
        there = {json.dumps(one) for one in manifests}
        yield _held(deployed, size, sum(one["kind"] in ("ServiceEntry", "Service") for one in manifests))


def _write(deployed: Deployed, manifests: Iterable[Manifest]) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda one: deployed.data_plane.apply(_parsed(one), force=True), manifests))


def _parsed(manifest: Manifest) -> Any:
    for port in manifest.get("ports", []) if manifest["kind"] == "EndpointSlice" else []:
        port.setdefault("protocol", "TCP")
    return workloads.parse(manifest)


def _held(deployed: Deployed, meshes: int, known: int) -> Held:
    """Returns once the proxy has as many services."""

    def look() -> Held:
        names, size = _of_proxy(deployed)
        if len(names) != known:
            raise NotObserved(f"the proxy has {len(names)} services of {known}")
        return Held(meshes, known, size, metric(deployed, MEMORY) / 2**20)

    return eventually(look, seconds=180, every=1)


def _of_proxy(deployed: Deployed) -> tuple[set[str], int]:
    """Names of the others' services in the frontend proxy's configuration, and that configuration's bytes."""
    process = deployed.program_of(workloads.ready_pod(deployed, workloads.CALLER), AGENT)
    dump = json.loads(deployed.of_proxy(process, "/config_dump?include_eds"))
    sent = [
        one[key]
        for part in dump["configs"]
        for key, values in part.items()
        if key.startswith("dynamic_")
        for one in values
        for key in ("cluster", "active_state", "route_config", "endpoint_config")
        if key in one
    ]
    names = {str(one["name"]) for one in sent if str(one.get("name", "")).startswith("outbound|80||")}
    return {name for name in names if HOST in name}, len(json.dumps(sent, separators=(",", ":")))


def grid(title: str, found: Iterable[Held]) -> Grid:
    """One row for each number of meshes; the first is a mesh without any other."""
    rows = [[str(one.meshes), str(one.services), f"{one.bytes:,}", f"{one.memory:.0f} MB"] for one in found]
    what = f"one proxy, and its istiod, where each of N meshes has {SERVICES} services: {title}"
    return Grid(what, ["meshes", "foreign services", "bytes of configuration", "istiod's memory"], rows)
