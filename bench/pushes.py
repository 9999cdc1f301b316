"""Seconds until a change reaches each of many proxies of one istiod: `make bench ARGS="tenants --proxies 2000"`.

istiod, its API servers and the connections (gRPC and mTLS) are real. The proxies are one program, xds_clients/main.go:
each is a connection and an incremental stream of its own, and acknowledges each answer. No Envoy applies it. They are
in the data plane's network, and call istiod at its load balancer.
"""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from lightkube import Client
from lightkube.resources.core_v1 import Secret, Service
from lightkube.resources.discovery_v1 import EndpointSlice
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from rich.console import Console

from bench.grid import Grid
from bench.istiod_metrics import CPU, MEMORY, metric
from bench.own_sandbox import beside
from bench.policies.cached import built
from bench.samples import Samples
from sandbox import clusters, toolchain
from sandbox.engine import deployment
from sandbox.errors import SandboxError
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed
from sandbox.toolchain.go_sets import Build, GoSet
from tests.support.envoys import shown_by

Manifest = dict[str, Any]
FLOOR: Final = 50
"""Proxies of the other side of each ratio."""
SERVICES: Final = 100
NAMESPACE: Final = "pushes"
ACCOUNT: Final = "proxy"
PER_SECOND: Final = 20
"""New connections; istiod permits 50 by default."""
CLIENTS: Final = GoSet(
    name="xds-clients",
    folder="xds_clients",
    title="clients of istiod",
    provides=("xds_clients",),
    builds=(Build((".",)),),
    root=Path(__file__).parent,
)
_WRITERS: Final = 16
_CHURNED: Final = "churn"


@dataclass(frozen=True)
class Change:
    """One kind. name: of the clients' record. count and every: of changes, and seconds between them."""

    name: str
    title: str
    count: int
    every: float


ENDPOINTS: Final = Change("endpoints", "another endpoint of a Service", 30, 1.0)
ADDED: Final = Change("services", "a Service more, another one less", 10, 5.0)
CHANGES: Final = (ENDPOINTS, ADDED)


@dataclass(frozen=True)
class Pushed:
    """Of one kind of change with so many proxies. seconds: each change at each proxy. cpu: istiod's seconds for each
    change. memory: istiod's bytes afterwards."""

    proxies: int
    change: Change
    seconds: Samples
    cpu: float
    memory: float


@dataclass(frozen=True)
class Joined:
    """seconds: until the last proxy had its first configuration. size: bytes of one. ended: streams that broke."""

    proxies: int
    seconds: float
    size: float
    ended: int


def run(state: Path, progress: Progress, console: Console, proxies: int) -> None:
    """Measures on a sandbox of its own beside `state`. Raises SandboxError, NotObserved."""
    tools = toolchain.ensure(progress=progress)
    program = built(CLIENTS, progress)
    with beside(state) as folder:
        sandbox = clusters.up(folder / "state", tools, progress)
        deployment.up(sandbox, tools, progress)
        deployed = Deployed.of(sandbox, tools)
        write_services(deployed.data_plane)
        found: list[Pushed] = []
        joined: list[Joined] = []
        with progress.step("changes of Services") as step:
            for number in sorted({min(FLOOR, proxies), proxies}):
                step.note(f"{number} proxies")
                first = len(found) // len(CHANGES)
                with _clients(deployed, program, folder, number) as clients:
                    churned = [_churned(deployed, clients, change, first * change.count) for change in CHANGES]
                    last = clients.end()
                size = clients.first["bytes"] / number
                joined.append(Joined(number, clients.first["seconds"], size, last["ended"]))
                found += [pushed(one, last["arrivals"][one.change.name], number) for one in churned]
        console.print(joined_grid(joined).for_terminal())
        console.print(grid(found).for_terminal())


def write_services(client: Client) -> None:
    """The namespace and its Services, each with one endpoint."""
    client.apply(
        workloads.parse({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}), force=True
    )
    manifests = [one for at in range(SERVICES) for one in service(f"service-{at}", f"10.200.0.{at + 1}")]
    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(lambda one: client.apply(workloads.parse(one), force=True), manifests))


def service(name: str, address: str) -> list[Manifest]:
    """A Service and its EndpointSlice."""
    # The nodes' own proxies ignore these, so the measurement covers istiod's part alone.
    labels = {"service.kubernetes.io/service-proxy-name": "nobody", "kubernetes.io/service-name": name}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    endpoints = [{"addresses": [address], "conditions": {"ready": True}}]
    slice_ = {"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": endpoints}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", **slice_},
    ]


def address_of(number: int) -> str:
    """The endpoint's address of a change, as xds_clients/main.go reads it."""
    return f"10.201.{number // 250}.{number % 250 + 1}"


def change_endpoint(client: Client, number: int) -> None:
    """Another address for one Service after the other."""
    _, changed = service(f"service-{number % SERVICES}", address_of(number))
    client.apply(workloads.parse(changed), force=True)


def change_service(client: Client, number: int) -> None:
    """A Service more, and the one before it less: the configuration keeps its size."""
    for one in service(f"{_CHURNED}-{number}", "10.200.1.1"):
        client.apply(workloads.parse(one), force=True)
    if number > 1:
        for kind in (EndpointSlice, Service):
            client.delete(kind, f"{_CHURNED}-{number - 1}", namespace=NAMESPACE)


@dataclass(frozen=True)
class Churned:
    """written: Unix seconds of the API server's answer, by the change's number."""

    change: Change
    written: Mapping[int, float]
    cpu: float
    memory: float


@dataclass
class Clients:
    """The running program. first: of its lines."""

    process: subprocess.Popen[str]
    first: Mapping[str, Any]

    def wait(self, change: Change, number: int) -> None:
        """Until all clients have the change. Raises SandboxError."""
        assert self.process.stdin
        self.process.stdin.write(f"{change.name} {number}\n")
        self.process.stdin.flush()
        if missing := self.line()["missing"]:
            raise SandboxError(f"{missing} proxies did not receive change {number} of {change.name}.")

    def end(self) -> dict[str, Any]:
        """The last line: all arrivals."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.line()

    def line(self) -> dict[str, Any]:
        """The next one. Raises SandboxError without one."""
        assert self.process.stdout
        if not (text := self.process.stdout.readline()):
            raise SandboxError("The simulated proxies ended.", why=self.process.communicate()[1])
        found: dict[str, Any] = json.loads(text)
        return found


@contextmanager
def _clients(deployed: Deployed, program: Path, folder: Path, number: int) -> Iterator[Clients]:
    """Once all have their first configuration."""
    mesh = deployed.mesh
    root = folder / "root.pem"
    root.write_text(mesh.root_certificate)
    document = read_document(Mesh, deployment.mesh_document(deployed.sandbox.state))
    words = {
        "address": f"{mesh.host}:{mesh.xds_port}",
        "server": mesh.host,
        "root": root,
        "certificate": _certificate(deployed, folder / "proxy.pem"),
        "cluster": document.cluster_id(document.memberships[0]),
        "namespace": NAMESPACE,
        "account": ACCOUNT,
        "count": number,
        "rate": PER_SECOND,
    }
    command = [*deployed.sandbox.enter(deployed.sandbox.data_plane.name), str(program)]
    command += [f"-{name}={value}" for name, value in words.items()]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            clients = Clients(process, {})
            clients.first = clients.line()
            yield clients
        finally:
            process.kill()


def _certificate(deployed: Deployed, file: Path) -> Path:
    """Of the proxies' account, signed by the mesh's authority."""
    data = deployed.control_plane.get(Secret, "cacerts", namespace=deployed.mesh.namespace).data or {}
    files = {name: base64.b64decode(value) for name, value in data.items()}
    own, key = x509.load_pem_x509_certificate(files["ca-cert.pem"]), load_pem_private_key(files["ca-key.pem"], None)
    authority: Any = SimpleNamespace(key=key, certificate=own, name=own.subject)
    file.touch(mode=0o600)
    file.write_bytes(shown_by(authority, f"spiffe://{deployed.mesh.trust_domain}/ns/{NAMESPACE}/sa/{ACCOUNT}"))
    return file


def _churned(deployed: Deployed, clients: Clients, change: Change, before: int) -> Churned:
    """Makes the changes at a constant rate. before: changes of earlier rounds, for the numbers."""
    make: Callable[[Client, int], None] = change_endpoint if change == ENDPOINTS else change_service
    client, cpu, began, written = deployed.data_plane, metric(deployed, CPU), time.monotonic(), dict[int, float]()
    for at in range(change.count):
        time.sleep(max(0.0, began + at * change.every - time.monotonic()))
        number = before + at + 1
        make(client, number)
        written[number] = time.time()
    clients.wait(change, max(written))
    used = (metric(deployed, CPU) - cpu) / change.count
    return Churned(change, written, used, metric(deployed, MEMORY))


def pushed(churned: Churned, arrivals: Iterable[Mapping[str, float]], proxies: int) -> Pushed:
    """arrivals: of each proxy, Unix seconds by the change's number. Raises SandboxError if one is missing."""
    found = [
        # A push may overtake the API server's answer to the writer.
        max(0.0, one[str(number)] - moment)
        for one in arrivals
        for number, moment in churned.written.items()
        if str(number) in one
    ]
    if (expected := proxies * len(churned.written)) != len(found):
        raise SandboxError(f"{expected - len(found)} arrivals of {churned.change.name} are missing.")
    return Pushed(proxies, churned.change, Samples(found), churned.cpu, churned.memory)


def grid(found: Iterable[Pushed]) -> Grid:
    """One row for each kind of change and number of proxies. The ratio is to the fewest proxies of the same run."""
    given = list(found)
    floors: dict[Change, Pushed] = {}
    rows = []
    for one in given:
        floor = floors.setdefault(one.change, one)
        times = [one.seconds.median, one.seconds.quantile(0.99), one.seconds.most]
        ratio = times[1] / floor.seconds.quantile(0.99)
        title = f"{one.change.title}, {one.change.count} times, each {one.change.every:g} s"
        cells = [
            *(f"{value:.2f} s" for value in times),
            f"{ratio:.1f}",
            f"{one.cpu:.2f} s",
            f"{one.memory / 2**20:.0f} MB",
        ]
        rows.append([title, f"{one.proxies:,}", *cells])
    columns = ["change", "proxies", "p50", "p99", "most", "p99, to the fewest", "istiod's CPU for each", "its memory"]
    return Grid(f"from a change of {SERVICES} Services until each proxy of one istiod has it", columns, rows)


def joined_grid(found: Iterable[Joined]) -> Grid:
    """One row for each number of proxies."""
    rows = [[f"{one.proxies:,}", f"{one.seconds:.0f} s", f"{one.size / 1000:,.0f} kB", str(one.ended)] for one in found]
    title = f"simulated proxies, {PER_SECOND} new ones each second"
    return Grid(title, ["proxies", "until the last had its configuration", "a configuration", "broken streams"], rows)
