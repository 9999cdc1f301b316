"""Claim: istiod's name is in the DNS because the bridge publishes it, and for no other reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import Pod

from sandbox.clusters import dns
from sandbox.clusters.addresses import WAN_DNS
from sandbox.clusters.state import Layout
from sandbox.proof import workloads
from sandbox.proof.identity import AGENT, exposed_addresses
from sandbox.proof.processes import find
from sandbox.proof.scene import NotObserved, Scene, eventually

NAMESPACE = "hosted-mesh-dns"
PROGRAM = "external-dns"
DNSEndpoint = create_namespaced_resource("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")


def observe(scene: Scene) -> str:
    """The name leads to istiod's load balancer for the data plane's node and for a Pod there; the bridge's own object
    says so too, and that it is published; who publishes it lives, and the sandbox has no record of the name."""
    host, addresses = scene.mesh.host, sorted(exposed_addresses(scene))
    if host in dns.recorded(Layout(scene.sandbox.state).dns):
        raise NotObserved(f"the sandbox itself answers for {host}, so nothing is seen of the bridge")
    caller = scene.program_of(workloads.ready_pod(scene, workloads.CALLER), AGENT)
    data_plane = scene.sandbox.data_plane
    answers = {
        "the data plane's node": scene.in_network(data_plane.name, "ask_addresses.py", WAN_DNS, host),
        "a Pod there": scene.in_network_of(caller, "ask_addresses.py", data_plane.addresses.dns_address, host),
    }
    for who, (found,) in answers.items():
        if sorted(found) != addresses:
            raise NotObserved(f"{host} is {', '.join(found) or 'not answered'} for {who}, not {', '.join(addresses)}")
    name = eventually(lambda: _published(scene, host, addresses), seconds=30)
    return (
        f"{host} is {', '.join(addresses)} for {' and '.join(answers)}; DNSEndpoint {name} is published; "
        f"{_publisher(scene)} runs {PROGRAM}"
    )


def _published(scene: Scene, host: str, addresses: list[str]) -> str:
    """Name of the object that has the host, with these targets."""
    for one in scene.control_plane.list(DNSEndpoint, namespace=NAMESPACE):
        spec: dict[str, Any] = one.get("spec") or {}
        for record in spec.get("endpoints") or []:
            if record["dnsName"] == host and sorted(record["targets"]) == addresses:
                conditions = (one.get("status") or {}).get("conditions") or []
                ready = next((each for each in conditions if each["type"] == "Ready"), {"reason": "nothing"})
                if ready["reason"] != "Programmed":
                    raise NotObserved(f"the DNSEndpoint of {host} says {ready['reason']}: {ready.get('message', '')}")
                return f"{NAMESPACE}/{one.metadata.name}"
    raise NotObserved(f"no DNSEndpoint in {NAMESPACE} has {host} with {', '.join(addresses)}")


def _publisher(scene: Scene) -> str:
    """The Pod that writes to the DNS server: it holds its Lease now, and both its programs run."""
    for lease in scene.control_plane.list(Lease, namespace=NAMESPACE):
        holder = lease.spec.holderIdentity if lease.spec else None
        if not lease.spec or not holder or not lease.spec.renewTime:
            continue
        age = (datetime.now(UTC) - lease.spec.renewTime).total_seconds()
        if age > (lease.spec.leaseDurationSeconds or 0):
            raise NotObserved(f"nobody publishes: {holder} has not renewed its Lease for {age:.0f} s")
        pods = {one.metadata.name for one in scene.control_plane.list(Pod, namespace=NAMESPACE) if one.metadata}
        running = find(PROGRAM, {"HOSTNAME": holder}, scene.read)
        if holder not in pods or not running:
            raise NotObserved(f"nobody publishes: {holder} holds the Lease, and no {PROGRAM} of it runs")
        if not all(scene.is_program(one, PROGRAM) for one in running):
            raise NotObserved(f"what runs in {holder} is called {PROGRAM} and is not")
        return f"Pod {holder}, which holds the Lease,"
    raise NotObserved(f"nobody publishes: no Lease in {NAMESPACE} is held")
