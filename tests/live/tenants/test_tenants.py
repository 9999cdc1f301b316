"""Two tenants behind one gateway, with real istiods and proxies: who is served, who is refused, and one who leaves."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lightkube.resources.core_v1 import Namespace, Pod, Service

from sandbox.progress import Progress
from sandbox.proof import identity, traffic, workloads
from sandbox.proof.deployed import NotObserved, client_of, eventually
from sandbox.proof.processes import find
from sandbox.toolchain import Tools
from tests.live.revisions.steady_traffic import WebhookCalls
from tests.live.tenants.two_tenants import (
    ASK,
    BANK,
    GATEWAY,
    KNOCK,
    MESH,
    SHOP,
    Lab,
    Tenant,
    both_deployed,
    cluster_of,
    hosts,
    namespace_of,
    workloads_of,
)

_KINDS = (
    "services/endpoints|endpointslices|pods|events|leases|replicasets|deployments|resourcequotas|poddisruptionbudgets"
)
OF_CLUSTER = re.compile(f"/registry/({_KINDS})/")
"""Written by the cluster itself: statuses, and what belongs to Deployments and Services."""
FLOOD = Path(__file__).parent / "programs/flood.py"
SECONDS = 8
ASKED = 10
"""Requests and webhook calls of the other tenant during a flood, at least."""
FLOODED = 1_000
"""Connections of a flood, at least: more than ten times the limit of a second."""
CALLS = 60
"""Webhook calls of the tenant that stays, at least."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Lab]:
    with both_deployed(tmp_path_factory, tools, progress) as found:
        yield found


@pytest.fixture(scope="module")
def served(lab: Lab) -> Mapping[str, Mapping[str, Any]]:
    return workloads_of(lab)


@pytest.mark.usefixtures("served")
def test_each_tenants_proxies_connect_through_the_one_address(lab: Lab, served: Any) -> None:
    balancers = [
        f"{one.metadata.namespace}/{one.metadata.name}"
        for one in client_of(lab.sandbox.control_plane).list(Service, namespace="*")
        if one.spec and one.spec.type == "LoadBalancer"
    ]
    assert balancers == [f"{GATEWAY}/shared-gateway"]
    for tenant in lab.tenants.values():
        connected_and_answered(lab, tenant, served[tenant.name][workloads.CALLER])


def answered(lab: Lab, tenant: Tenant) -> None:
    """The gateway has a tenant's hosts a moment after they are written."""
    if (found := tenant.run(KNOCK, lab.address, 443, hosts(tenant.name)[0])) != "answered":
        raise NotObserved(f"{tenant.name} is {found}")


def connected_and_answered(lab: Lab, tenant: Tenant, pod: Any) -> None:
    """A proxy has its mesh's certificate, a connection to the gateway, and mutual TLS to the other workload."""
    deployed = tenant.deployed
    assert (deployed.mesh.xds_port, deployed.mesh.webhook_port) == (443, 443)
    caller = deployed.program_of(pod, identity.AGENT)
    dump = json.loads(deployed.of_proxy(caller, "/config_dump"))
    spiffe = f"spiffe://{deployed.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{workloads.CALLER}"
    assert identity.seen_in(dump, spiffe, deployed.mesh.root_certificate) > 0

    def connected() -> None:
        if (lab.address, 443) not in set(caller.established()):
            raise NotObserved(f"no connection to {lab.address}:443, but {set(caller.established())}")

    eventually(connected, seconds=120)
    traffic.arrived_from(eventually(lambda: traffic.answered(deployed, caller, 200), seconds=120), spiffe)


def test_unknown_names_and_plain_text_are_refused_and_counted(lab: Lab) -> None:
    bank = lab.tenants[BANK]
    eventually(lambda: answered(lab, bank), seconds=120)
    before = lab.counted("envoy_listener_no_filter_chain_match")
    for name in ("istiod.nobody.sandbox.test", f"x.{hosts(BANK)[0]}", "-", "plain"):
        assert bank.run(KNOCK, lab.address, 443, name) == "refused", name

    def counted() -> None:
        if (found := lab.counted("envoy_listener_no_filter_chain_match") - before) != 4:
            raise NotObserved(f"{found} are counted")

    eventually(counted, seconds=120)
    closed = [f"{lab.address}:{port}" for port in (15000, 15010, 15012, 15014, 15017, 15090, 15091, 8080, 8443)]
    reached = bank.deployed.in_network(bank.cluster.name, "connect.py", "0", *closed)
    assert "open" not in reached.values(), reached


@pytest.mark.usefixtures("served")
def test_a_tenant_gets_nothing_at_anothers_host(lab: Lab, tmp_path: Path) -> None:
    shop, bank = lab.tenants[SHOP], lab.tenants[BANK]
    # Its network: outside of the other's ranges.
    before = lab.counted("envoy_tcp_downstream_cx_total", f'"{SHOP}--{MESH}/outside"')
    assert bank.run(KNOCK, lab.address, 443, hosts(SHOP)[0]) == "refused"
    assert bank.run(KNOCK, lab.address, 443, hosts(SHOP)[1]) == "refused"
    assert lab.counted("envoy_tcp_downstream_cx_total", f'"{SHOP}--{MESH}/outside"') == before + 2
    # Its token: the other's istiod asks the other's API server. With either cluster's name.
    roots = {}
    for one in (shop, bank):
        roots[one.name] = tmp_path / f"{one.name}-root.pem"
        roots[one.name].write_text(one.deployed.mesh.root_certificate)

    def asked(of: Tenant, cluster: str) -> str:
        return shop.run(ASK, f"{lab.address}:443", hosts(of.name)[0], roots[of.name], shop.token(), cluster)

    assert asked(shop, SHOP).startswith(f"spiffe://{shop.deployed.mesh.trust_domain}/")
    assert asked(bank, SHOP) == "UNAUTHENTICATED"
    assert asked(bank, BANK) == "UNAUTHENTICATED"
    # Its certificate: of another authority.
    certificates = {one.name: one.certificate(tmp_path) for one in (shop, bank)}
    assert shop.deployed.mesh.trust_domain != bank.deployed.mesh.trust_domain
    assert shop.run(KNOCK, lab.address, 443, hosts(SHOP)[0], certificates[SHOP]) == "answered"
    assert shop.run(KNOCK, lab.address, 443, hosts(BANK)[0], certificates[SHOP]) == "refused"
    assert shop.run(KNOCK, lab.address, 443, hosts(BANK)[0], certificates[BANK]) == "answered"
    forged = shop.certificate(tmp_path, bank.deployed.mesh.trust_domain)
    assert shop.run(KNOCK, lab.address, 443, hosts(BANK)[0], forged) == "refused", "its authority signs no other domain"
    # Its network: neither istiod's own ports nor metrics.
    istiod = lab.pod_of(namespace_of(BANK), "istiod-")
    inside = [f"{istiod}:{port}" for port in (15012, 15017, 15010, 15014, 8080)]
    reached = shop.deployed.in_network(shop.cluster.name, "connect.py", "0", *inside, f"{lab.pod_address}:15090")
    assert "open" not in reached.values(), reached


def test_only_the_gateways_pods_reach_an_istiod(lab: Lab) -> None:
    """From any other Pod of the control plane's cluster the NetworkPolicy closes it."""
    control_plane = client_of(lab.sandbox.control_plane)
    istiod = lab.pod_of(namespace_of(BANK), "istiod-")
    spec = workloads.pod_spec("default")
    variable = {"fieldRef": {"fieldPath": "metadata.name"}}
    spec["containers"][0]["env"].append({"name": "POD_NAME", "valueFrom": variable})
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "namespace": "default"},
        "spec": spec,
    }
    control_plane.create(workloads.parse(manifest))
    control_plane.wait(Pod, "stranger", namespace="default", for_conditions=["Ready"])
    deployed = lab.tenants[BANK].deployed
    (stranger,) = find(Path(sys.executable).resolve().name, {"POD_NAME": "stranger"}, deployed.read)
    targets = [f"{istiod}:{port}" for port in (15012, 15017, 15010, 15014, 8080)]
    envoy = f"{lab.pod_address}:8443"
    reached = deployed.in_network_of(stranger, "connect.py", "0", envoy, *targets)
    assert {one for one, result in reached.items() if result == "open"} == {envoy}
    control_plane.delete(Pod, "stranger", namespace="default")


@pytest.mark.usefixtures("served")
def test_a_flood_of_one_tenant_reaches_no_other(lab: Lab, served: Any) -> None:
    """Handshakes and xDS connections at one's own host, as fast as a machine makes them."""
    shop, bank = lab.tenants[SHOP], lab.tenants[BANK]
    deployed = bank.deployed
    caller = deployed.program_of(served[BANK][workloads.CALLER], identity.AGENT)
    calls = WebhookCalls.of(lab.sandbox, bank.cluster)
    limited = lab.counted("envoy_local_rate_limit_rate_limited")
    xds = cluster_of(BANK)
    connections = lab.counted("envoy_cluster_upstream_cx_total", xds)
    over, requests, failed = threading.Event(), 0, list[str]()
    calling = threading.Thread(target=calls.run, args=[over])
    calling.start()
    made = closed = 0
    try:
        while min(requests, calls.calls) < ASKED:  # a slow machine asks less in one round
            flood = ThreadPoolExecutor().submit(shop.run, FLOOD, lab.address, 443, hosts(SHOP)[0], SECONDS)
            while not flood.done():
                requests += 1
                try:
                    traffic.answered(deployed, caller, 200)
                except NotObserved as error:
                    failed.append(str(error))
            made, closed = (total + int(one) for total, one in zip((made, closed), flood.result().split(), strict=True))
    finally:
        over.set()
        calling.join()
    print(f"{made} connections of {SHOP}, {closed} closed; {requests} requests, {calls.calls} webhook calls of {BANK}")
    assert made > FLOODED
    assert (failed, calls.refused) == ([], [])
    assert lab.counted("envoy_cluster_upstream_cx_total", xds) == connections, "a proxy had to connect again"

    def counted() -> None:
        if (found := lab.counted("envoy_local_rate_limit_rate_limited") - limited) < 1:
            raise NotObserved(f"{found} refused connections are counted, of {closed}")

    eventually(counted, seconds=120)


@pytest.mark.usefixtures("served")
def test_a_tenant_leaves_and_the_other_one_notices_nothing(lab: Lab, served: Any) -> None:
    shop, bank = lab.tenants[SHOP], lab.tenants[BANK]
    deployed = bank.deployed
    caller = deployed.program_of(served[BANK][workloads.CALLER], identity.AGENT)
    shop.deployed.data_plane.delete(Namespace, workloads.NAMESPACE)

    def gone() -> None:
        if list(shop.deployed.data_plane.list(Pod, namespace=workloads.NAMESPACE)):
            raise NotObserved("Pods of the leaving tenant are still there")

    eventually(gone, seconds=180)

    def disconnected() -> None:
        if lab.counted("envoy_cluster_upstream_cx_active", cluster_of(SHOP)):
            raise NotObserved("proxies of the leaving tenant are still connected")

    eventually(disconnected, seconds=120)
    xds = cluster_of(BANK)
    calls = WebhookCalls.of(lab.sandbox, bank.cluster)
    over, requests, failed = threading.Event(), 0, list[str]()
    connections = lab.counted("envoy_cluster_upstream_cx_total", xds)
    etcd = lab.sandbox.control_plane.etcd_revision()
    calling = threading.Thread(target=calls.run, args=[over])
    calling.start()
    leaving = ThreadPoolExecutor().submit(shop.stack.destroy)
    try:
        while not leaving.done() or calls.calls < CALLS:
            requests += 1
            try:
                traffic.answered(deployed, caller, 200)
            except NotObserved as error:
                failed.append(str(error))
        leaving.result()
    finally:
        over.set()
        calling.join()
    print(f"{requests} requests and {calls.calls} webhook calls of {BANK} while {SHOP} left")
    assert (failed, calls.refused) == ([], [])
    assert lab.counted("envoy_cluster_upstream_cx_total", xds) == connections, "a proxy had to connect again"
    keys = {key.decode() for key, _ in lab.sandbox.control_plane.etcd_items(etcd)}
    written = {key for key in keys if f"/{namespace_of(BANK)}/" in key or GATEWAY in key}
    own = {f"/registry/configmaps/{GATEWAY}/{host}" for host in hosts(SHOP)}
    assert {one for one in written if not OF_CLUSTER.search(one)} <= own, "but for those that go"
    assert bank.run(KNOCK, lab.address, 443, hosts(SHOP)[0]) == "refused"
    assert bank.run(KNOCK, lab.address, 443, hosts(BANK)[0]) == "answered"
