"""A tenant's API server turns against the provider. That tenant suffers alone, and gets no credential but its own.

istiod reads the tenant's API server by a program in front of it, which passes everything on until it is hostile.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from lightkube.resources.core_v1 import Pod, Secret, Service

from sandbox.clusters import Cluster, Sandbox
from sandbox.progress import Progress
from sandbox.proof import identity, traffic, workloads
from sandbox.proof.deployed import NotObserved, client_of, eventually
from sandbox.toolchain import Tools
from tests.live.revisions.steady_traffic import WebhookCalls
from tests.live.tenants.two_tenants import (
    ASK,
    BANK,
    PROGRAMS,
    SHOP,
    Lab,
    both_deployed,
    hosts,
    istiod_counted,
    namespace_of,
    workloads_of,
)

pytestmark = pytest.mark.nightly
HOSTILE = PROGRAMS / "api_server.py"
PORT, BAIT = 7443, 7080
SECONDS = 8


@dataclass(frozen=True)
class Front:
    """The program in front of the API server. folder: its files."""

    folder: Path

    def turn(self, mode: str) -> None:
        """Closes all connections, and is of another mode from then on."""
        partial = self.folder / "mode.part"
        partial.write_text(mode)
        partial.replace(self.folder / "mode")

    def requests(self, mode: str = "") -> list[dict[str, Any]]:
        """Those that came, in any mode or in one."""
        found = [json.loads(line) for line in (self.folder / "requests").read_text().splitlines()]
        return [one for one in found if not mode or one["mode"] == mode]


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    found = Front(tmp_path_factory.mktemp("front"))
    (found.folder / "requests").touch()
    found.turn("forward")
    return found


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress, front: Front) -> Iterator[Lab]:
    processes = []

    def prepared(sandbox: Sandbox) -> Mapping[str, str]:
        processes.append(started_before(sandbox, tools, sandbox.data_plane, front))
        return {SHOP: f"https://{sandbox.data_plane.addresses.api_host}:{PORT}"}

    try:
        with both_deployed(tmp_path_factory, tools, progress, prepared) as found:
            yield found
    finally:
        for one in processes:
            one.kill()
            one.wait()


def started_before(sandbox: Sandbox, tools: Tools, cluster: Cluster, front: Front) -> subprocess.Popen[bytes]:
    """The program in front of a cluster's API server."""
    for name in ("apiserver.crt", "apiserver.key", "cluster.crt"):
        shutil.copy(cluster.kubeconfig.parent / name, front.folder / name)
    rule = f"insert rule inet boundary to_the_node tcp dport {{ {PORT}, {BAIT} }} accept\n"
    sandbox.run(cluster.name, [tools["nft"], "-f", "-"], input=rule, text=True, check=True)
    bait = f"http://{cluster.addresses.wan_address}:{BAIT}/bait"
    command = [sys.executable, "-P", HOSTILE, front.folder, PORT, bait, 6443]
    return subprocess.Popen([*sandbox.enter(cluster.name), *map(str, command)])


@pytest.fixture(scope="module")
def served(lab: Lab) -> Mapping[str, Mapping[str, Any]]:
    return workloads_of(lab)


@contextmanager
def hostile(lab: Lab, served: Any, front: Front, mode: str) -> Iterator[None]:
    """During a block. All of the other tenant's requests and webhook calls succeed, and its istiod pushes changes."""
    bank = lab.tenants[BANK]
    deployed = bank.deployed
    caller = deployed.program_of(served[BANK][workloads.CALLER], identity.AGENT)
    calls = WebhookCalls.of(lab.sandbox, bank.cluster)
    over, failed, requests = threading.Event(), list[str](), list[float]()

    def ask() -> None:
        while not over.is_set():
            requests.append(time.monotonic())
            try:
                traffic.answered(deployed, caller, 200)
            except NotObserved as error:
                failed.append(str(error))

    threads = [threading.Thread(target=calls.run, args=[over]), threading.Thread(target=ask)]
    before = restarts(lab, BANK)
    front.turn(mode)
    try:
        for one in threads:
            one.start()
        yield
        pushed(lab, served, mode)
    finally:
        front.turn("forward")
        over.set()
        for one in threads:
            one.join()
    print(f"{mode}: {len(requests)} requests and {calls.calls} webhook calls of {BANK}")
    assert (failed, calls.refused) == ([], [])
    assert min(len(requests), calls.calls) > 5
    assert restarts(lab, BANK) == before


def restarts(lab: Lab, tenant: str) -> list[tuple[str, int]]:
    """istiod's Pods and the number of their restarts."""
    pods = client_of(lab.sandbox.control_plane).list(Pod, namespace=namespace_of(tenant), labels={"app": "istiod"})
    counted = [(one.metadata.name, (one.status.containerStatuses or [])[0].restartCount) for one in pods if one.status]
    return sorted((str(name), number) for name, number in counted)


def pushed(lab: Lab, served: Any, mode: str) -> None:
    """A new Service of the other tenant reaches its proxy."""
    deployed = lab.tenants[BANK].deployed
    caller = deployed.program_of(served[BANK][workloads.CALLER], identity.AGENT)
    name = f"after-{mode}"
    metadata = {"name": name, "namespace": workloads.NAMESPACE}
    spec = {"ports": [{"name": "http", "port": 80}], "selector": {"app": "none"}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    deployed.data_plane.apply(workloads.parse(service), force=True)

    def known() -> None:
        if name not in deployed.of_proxy(caller, "/clusters"):
            raise NotObserved(f"the proxy has no cluster {name}")

    eventually(known, seconds=30)
    deployed.data_plane.delete(Service, name, namespace=workloads.NAMESPACE)


def asked(lab: Lab, folder: Path, of: str = SHOP) -> str:
    """The answer of a tenant's istiod to its own workload that asks for a certificate."""
    tenant, root = lab.tenants[of], folder / f"{of}-root.pem"
    root.write_text(tenant.deployed.mesh.root_certificate)
    return tenant.run(ASK, f"{lab.address}:443", hosts(of)[0], root, tenant.token(), of)


def test_an_invented_identity_is_worth_nothing_elsewhere(lab: Lab, served: Any, front: Front, tmp_path: Path) -> None:
    """Its istiod believes its API server, and signs by its own authority: for its own trust domain."""
    with hostile(lab, served, front, "identity"):
        given = asked(lab, tmp_path)
    assert front.requests("identity"), "nothing was asked of the hostile server"
    domain = lab.tenants[SHOP].deployed.mesh.trust_domain
    assert given == f"spiffe://{domain}/ns/{namespace_of(BANK)}/sa/istiod"
    assert domain != lab.tenants[BANK].deployed.mesh.trust_domain


def test_redirects_lead_nowhere_else(lab: Lab, served: Any, front: Front, tmp_path: Path) -> None:
    """istiod follows them, but its NetworkPolicy lets it out to the server's port alone."""
    bait = f"{lab.tenants[SHOP].cluster.addresses.wan_address}:{BAIT}"
    node = lab.sandbox.control_plane.name
    assert lab.tenants[SHOP].deployed.in_network(node, "connect.py", "0", bait) == {bait: "open"}
    with hostile(lab, served, front, "redirects"):
        given = asked(lab, tmp_path)
        time.sleep(SECONDS)
    assert given == "UNAUTHENTICATED"
    found = front.requests("redirects")
    print(f"redirects: {len(found)} requests")
    assert any("turn=5" in one["path"] for one in found), "istiod followed none"
    assert [one for one in found if one["place"] == "bait"] == []
    assert len(found) < 100 * SECONDS


def test_objects_without_an_end_fill_one_istiod(lab: Lab, served: Any, front: Front) -> None:
    before = {name: istiod_counted(lab, name, "process_resident_memory_bytes") for name in lab.tenants}
    with hostile(lab, served, front, "objects"):
        time.sleep(SECONDS)
        after = {name: istiod_counted(lab, name, "process_resident_memory_bytes") for name in lab.tenants}
    grown = {name: (after[name] - before[name]) / 1e6 for name in lab.tenants}
    print(f"objects: memory of the istiods grew by {grown} MB")
    assert grown[SHOP] > 100, "the objects did not arrive"
    assert grown[BANK] < 50


def test_a_server_that_hangs_stops_its_own_istiod_alone(lab: Lab, served: Any, front: Front, tmp_path: Path) -> None:
    with hostile(lab, served, front, "hang"):
        assert asked(lab, tmp_path, BANK).startswith("spiffe://")
        given = asked(lab, tmp_path)
    print(f"hang: {given}")
    assert given in ("UNAUTHENTICATED", "DEADLINE_EXCEEDED"), given
    assert front.requests("hang")


def test_the_server_saw_no_credential_but_its_own(lab: Lab, front: Front) -> None:
    """The last of this file: of all requests."""
    found = front.requests()
    secret = client_of(lab.sandbox.control_plane).get(Secret, "istio-kubeconfig", namespace=namespace_of(SHOP))
    (token,) = re.findall(r"eyJ[\w.-]+", base64.b64decode((secret.data or {})["config"]).decode())
    assert {one["authorization"] for one in found} <= {f"Bearer {token}", None}
    assert f"Bearer {token}" in {one["authorization"] for one in found}
    assert not any(one["certificate"] for one in found)
    key: Any = load_pem_private_key(
        (lab.tenants[SHOP].cluster.kubeconfig.parent / "service-accounts.key").read_bytes(), None
    )
    reviewed = {one for request in found for one in request["tokens"]}
    assert reviewed, "no TokenReview was seen"
    for one in {*reviewed, token}:  # raises for a token of another cluster
        content, _, signature = one.rpartition(".")
        padded = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        key.public_key().verify(padded, content.encode(), PKCS1v15(), SHA256())

    def recovered() -> None:
        if not istiod_counted(lab, SHOP, "pilot_xds"):
            raise NotObserved(f"no proxy of {SHOP} is connected")

    eventually(recovered, seconds=60)
