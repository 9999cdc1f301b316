"""A tenant floods the parts that it shares with another one, and its own istiod. The other one is measured meanwhile.

Each attack is seen to arrive: counters of the flooded istiod grow.
"""

from __future__ import annotations

import collections
import itertools
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import Pod, ResourceQuota, Service

from sandbox.clusters.network.addresses import API_PORT
from sandbox.progress import Progress
from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import client_of
from sandbox.proof.processes import find
from sandbox.toolchain import Tools
from tests.live.revisions.steady_traffic import WebhookCalls
from tests.live.tenants.two_tenants import (
    BANK,
    GATEWAY,
    PROGRAMS,
    SHOP,
    Lab,
    Tenant,
    both_deployed,
    hosts,
    istiod_counted,
    namespace_of,
    workloads_of,
)
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.nightly
XDS, LARGE = PROGRAMS / "xds.py", PROGRAMS / "large_requests.py"
API = PROGRAMS / "api_requests.py"
SECONDS = 15
CHURNED = "churned"
SERVICES = 500
FILTER = 900_000
"""Bytes of an EnvoyFilter: an API server takes 1.5 MB."""
REQUEST = 2_500_000
"""Bytes of a name in a certificate's request: istiod's gRPC takes 4 MB."""
LONGEST = 8.0
"""Seconds until the other tenant's proxy has istiod's first answer, at most."""
TYPICAL = 2.0
EnvoyFilter = create_namespaced_resource("networking.istio.io", "v1alpha3", "EnvoyFilter", "envoyfilters")
Sidecar = create_namespaced_resource("networking.istio.io", "v1", "Sidecar", "sidecars")


@dataclass
class Measured:
    """Of the tenant that is not attacked: seconds of each connection to its istiod, and failures."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    calls: int = 0
    refused: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        typical, longest = statistics.median(self.seconds), max(self.seconds)
        rest = f"{len(self.failed)} of {len(self.seconds) + len(self.failed)} | {len(self.refused)} of {self.calls}"
        return f"| {name} | {typical * 1000:.0f} ms | {longest * 1000:.0f} ms | {rest} |"

    def check(self) -> None:
        """The bound of the docs."""
        assert (self.failed, self.refused) == ([], [])
        assert min(len(self.seconds), self.calls) >= 10
        assert statistics.median(self.seconds) < TYPICAL
        assert max(self.seconds) < LONGEST


@dataclass(frozen=True)
class Files:
    """Roots and certificates of both tenants."""

    lab: Lab
    folder: Path

    def command(self, tenant: Tenant, seconds: float, threads: int, pause: float) -> list[Any]:
        """Connects to the tenant's own istiod as its workload."""
        root = self.folder / f"{tenant.name}-root.pem"
        root.write_text(tenant.deployed.mesh.root_certificate)
        where = [f"{self.lab.address}:443", hosts(tenant.name)[0], root, tenant.certificate(self.folder), tenant.name]
        return [sys.executable, "-P", XDS, *where, seconds, threads, pause]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Lab]:
    with both_deployed(tmp_path_factory, tools, progress) as found:
        workloads_of(found)
        yield found


@contextmanager
def measured(lab: Lab, files: Files, seconds: float) -> Iterator[Measured]:
    """Connections and webhook calls of the other tenant for so long, and until the block ends."""
    bank, found, over = lab.tenants[BANK], Measured(), threading.Event()
    calls = WebhookCalls.of(lab.sandbox, bank.cluster)
    calling = threading.Thread(target=calls.run, args=[over])
    calling.start()
    command = [*lab.sandbox.enter(bank.cluster.name), *map(str, files.command(bank, seconds, 1, 0.1))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as probe:
        try:
            yield found
        finally:
            output, errors = probe.communicate(timeout=90)
            over.set()
            calling.join()
    assert probe.returncode == 0, errors
    answers = json.loads(output)
    found.seconds, found.failed = answers["answered"], answers["failed"]
    found.calls, found.refused = calls.calls, calls.refused


# Each attack lasts for `seconds` and returns a number of its own parts.


def reconnects(lab: Lab, files: Files, seconds: float) -> int:
    """Connections with a valid certificate to the tenant's own istiod, as fast as a machine makes them."""
    shop = lab.tenants[SHOP]
    _, _, program, *words = files.command(shop, seconds, 16, 0)
    found = json.loads(shop.run(program, *words))
    return len(found["answered"])


def churn(lab: Lab, _: Files, seconds: float) -> int:
    """Changes of 500 Services, one after the other and again."""
    client, until, written = client_of(lab.tenants[SHOP].cluster), time.monotonic() + seconds, itertools.count()
    client.apply(workloads.parse({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CHURNED}}), force=True)

    def write(number: int) -> None:
        turn = int(time.monotonic()) % 20_000  # another port than an earlier flood's
        while time.monotonic() < until:
            for one in range(number, SERVICES, 4):
                ports = [{"name": "http", "port": 1000 + turn}]
                metadata = {"name": f"service-{one}", "namespace": CHURNED}
                service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
                client.apply(workloads.parse(service), force=True)
                next(written)
            turn += 1

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, range(4)))
    client.deletecollection(Service, namespace=CHURNED)
    return next(written)


def large_filter(lab: Lab, _: Files, seconds: float) -> int:
    """An EnvoyFilter of almost a megabyte for all proxies, changed again and again."""
    client, until, turn = client_of(lab.tenants[SHOP].cluster), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        value = {"metadata": {"filter_metadata": {"flood": {"turn": str(turn), "text": "a" * FILTER}}}}
        patch = {
            "applyTo": "CLUSTER",
            "match": {"context": "SIDECAR_OUTBOUND"},
            "patch": {"operation": "MERGE", "value": value},
        }
        manifest = {
            "apiVersion": "networking.istio.io/v1alpha3",
            "kind": "EnvoyFilter",
            "metadata": {"name": "large", "namespace": workloads.NAMESPACE},
            "spec": {"configPatches": [patch]},
        }
        client.apply(workloads.parse(manifest), force=True)
        turn += 1
        time.sleep(0.5)
    client.delete(EnvoyFilter, "large", namespace=workloads.NAMESPACE)
    return turn


def large_requests(lab: Lab, files: Files, seconds: float) -> int:
    """Requests for certificates of 2.5 MB each."""
    shop, root = lab.tenants[SHOP], files.folder / "shop-root.pem"
    root.write_text(shop.deployed.mesh.root_certificate)
    where = [f"{lab.address}:443", hosts(SHOP)[0], root, shop.token(), SHOP]
    codes = json.loads(shop.run(LARGE, *where, REQUEST, seconds))
    return sum(codes.values())


ATTACKS: Mapping[str, tuple[Callable[[Lab, Files, float], int], int, str, int]] = {
    # The attack, its parts at least, a counter of the flooded istiod, and by how much it grows at least.
    "reconnects": (reconnects, 200, "pilot_xds_pushes", 200),
    "churn": (churn, SERVICES, "pilot_k8s_reg_events", SERVICES),
    "large filter": (large_filter, 2, "pilot_xds_config_size_bytes_sum", 10 * FILTER),
    "large requests": (large_requests, 10, "citadel_server_csr_count", 10),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_flood_of_one_tenant_leaves_the_other_served(name: str, lab: Lab, tmp_path: Path) -> None:
    attack, fewest, counter, least = ATTACKS[name]
    files = Files(lab, tmp_path)
    with measured(lab, files, 5) as calm:
        pass
    before = istiod_counted(lab, SHOP, counter)
    others = istiod_counted(lab, BANK, counter)
    with measured(lab, files, SECONDS) as found:
        parts = attack(lab, files, SECONDS)
    loaded = istiod_counted(lab, SHOP, counter) - before
    print(calm.row("calm"), found.row(name), f"{parts} parts, {counter} of {SHOP} +{loaded:.0f}", sep="\n")
    assert parts >= fewest
    assert loaded >= least, "the attack did not arrive"
    assert istiod_counted(lab, BANK, counter) - others < loaded / 2, "the attack arrived at the other one"
    found.check()


@dataclass(frozen=True)
class Flood:
    """Of the control plane's API server. account: with a token of the tenant's ServiceAccount, else without any.

    schema: the FlowSchema by which the API server counts the requests.
    """

    account: bool
    path: str
    code: str
    schema: str


OTHERS_SECRETS = f"/api/v1/namespaces/{namespace_of(BANK)}/secrets"
API_FLOODS: Mapping[str, Flood] = {
    "without a credential": Flood(False, OTHERS_SECRETS, "403", "global-default"),
    # Kubernetes admits these to the level `exempt`, which has no limit.
    "health pages": Flood(False, "/readyz", "200", "probes"),
    "with a token of its account": Flood(True, OTHERS_SECRETS, "403", "service-accounts"),
}


@pytest.mark.parametrize("name", API_FLOODS)
def test_a_flood_of_the_shared_api_server_leaves_the_other_and_the_gateway_served(
    name: str, lab: Lab, tmp_path: Path
) -> None:
    """From the network of the tenant's istiod. Its Pod has no token of this cluster: the second assumes a leak."""
    flood, files = API_FLOODS[name], Files(lab, tmp_path)
    kubectl = Kubectl.of(lab.sandbox.control_plane, lab.tools)
    token = _token(kubectl, namespace_of(SHOP), "istiod") if flood.account else "-"
    with measured(lab, files, 5) as calm, gateways_requests(lab, kubectl, 5) as its_calm:
        pass
    before = admitted(kubectl, flood.schema)
    with measured(lab, files, SECONDS) as found, gateways_requests(lab, kubectl, SECONDS) as its:
        codes = api_flood(lab, flood, token, SECONDS)
    dispatched = admitted(kubectl, flood.schema) - before
    print(calm.row("calm"), found.row(name), its_calm, its, codes, f"{flood.schema} +{dispatched:.0f}", sep="\n")
    assert codes.get(flood.code, 0) >= 2000, codes
    assert dispatched >= codes[flood.code], "the flood did not arrive"
    found.check()
    its.check()


@dataclass
class Requests:
    """Of the gateway's account to the control plane's API server: it reads the tenants' hosts."""

    codes: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        typical, longest = statistics.median(self.seconds), max(self.seconds)
        return f"gateway: {self.codes} median {typical * 1000:.0f} ms, longest {longest * 1000:.0f} ms"

    def check(self) -> None:
        assert self.codes.keys() == {"200"}
        assert len(self.seconds) >= 10
        assert statistics.median(self.seconds) < TYPICAL
        assert max(self.seconds) < LONGEST


@contextmanager
def gateways_requests(lab: Lab, kubectl: Kubectl, seconds: float) -> Iterator[Requests]:
    token, found = _token(kubectl, GATEWAY, "shared-gateway"), Requests()
    words = _api_words(lab, token, f"/api/v1/namespaces/{GATEWAY}/configmaps", seconds, 1, 0.1)
    with subprocess.Popen(
        [*lab.sandbox.enter(lab.sandbox.control_plane.name), *words], stdout=subprocess.PIPE, text=True
    ) as probe:
        yield found
        output, _ = probe.communicate(timeout=90)
    answers = json.loads(output)
    found.codes, found.seconds = answers["codes"], answers["seconds"]


def api_flood(lab: Lab, flood: Flood, token: str, seconds: float) -> Mapping[str, int]:
    """Requests from the network of the tenant's istiod, by several processes: one has one core at most."""
    deployed = lab.tenants[SHOP].deployed
    (pod,) = client_of(lab.sandbox.control_plane).list(Pod, namespace=namespace_of(SHOP), labels={"app": "istiod"})
    # Not `program_of`: this istiod has the data plane's namespace as its own.
    (process,) = find(istiod.PROGRAM, {"POD_NAME": str(pod.metadata.name)}, deployed.read)
    inside = deployed.enter(process)
    words = _api_words(lab, token, flood.path, seconds, 64, 0)
    running = [subprocess.Popen([*inside, *words], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    codes = collections.Counter[str]()
    for one in running:
        codes.update(json.loads(one.communicate(timeout=90)[0])["codes"])
    return codes


def _api_words(lab: Lab, token: str, path: str, seconds: float, threads: int, pause: float) -> list[str]:
    address = lab.sandbox.control_plane.addresses.wan_address
    return [*map(str, [sys.executable, "-P", API, address, API_PORT, token, path, seconds, threads, pause])]


def _token(kubectl: Kubectl, namespace: str, account: str) -> str:
    return kubectl("create", "token", account, f"-n={namespace}").strip()


def admitted(kubectl: Kubectl, schema: str) -> float:
    """Requests that the control plane's API server has admitted by a FlowSchema."""
    begin, label = "apiserver_flowcontrol_dispatched_requests_total{", f'flow_schema="{schema}"'
    lines = kubectl("get", "--raw", "/metrics").splitlines()
    return sum(float(one.rsplit(" ", 1)[1]) for one in lines if one.startswith(begin) and label in one)


def test_each_istiod_has_limits_and_a_quota_of_its_own(lab: Lab) -> None:
    client = client_of(lab.sandbox.control_plane)
    for name in lab.tenants:
        (pod,) = client.list(Pod, namespace=namespace_of(name), labels={"app": "istiod"})
        (container,) = pod.spec.containers
        assert {"memory"} <= container.resources.limits.keys()
        (quota,) = client.list(ResourceQuota, namespace=namespace_of(name))
        assert {"requests.cpu", "requests.memory", "limits.memory"} <= quota.status.used.keys()


def test_a_noisy_namespace_reaches_no_proxy_that_imports_its_own_alone(lab: Lab, tmp_path: Path) -> None:
    """Within one mesh: istiod pushes a change only to proxies whose Sidecar admits its namespace."""
    client = client_of(lab.tenants[SHOP].cluster)

    def pushes() -> float:
        before = istiod_counted(lab, SHOP, "pilot_xds_pushes")
        churn(lab, Files(lab, tmp_path), 5)
        time.sleep(3)  # the last debounced push
        return istiod_counted(lab, SHOP, "pilot_xds_pushes") - before

    everywhere = pushes()
    scope = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "Sidecar",
        "metadata": {"name": "default", "namespace": workloads.NAMESPACE},
        "spec": {"egress": [{"hosts": ["./*"]}]},
    }
    client.apply(workloads.parse(scope), force=True)
    try:
        time.sleep(3)
        scoped = pushes()
    finally:
        client.delete(Sidecar, "default", namespace=workloads.NAMESPACE)
    print(f"pushes for a noisy namespace: {everywhere:.0f}, with a Sidecar {scoped:.0f}")
    assert everywhere > 10
    assert scoped < everywhere / 5
