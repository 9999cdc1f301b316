"""Claim: DNS has istiod's name because the bridge publishes it, and for no other reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.coordination_v1 import Lease as LeaseModel
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import Pod

from sandbox.clusters.network import dns
from sandbox.clusters.network.addresses import WAN_DNS
from sandbox.clusters.state import Layout
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.identity import AGENT, exposed_addresses
from sandbox.proof.processes import find

NAMESPACE = "hosted-mesh-dns"
PROGRAM = "external-dns"
DNSEndpoint = create_namespaced_resource("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")


def observe(deployed: Deployed) -> str:
    """The name leads to istiod's load balancer for the data plane's node and for a Pod there. The bridge's own object
    reports the same, and that it is published; its publisher is alive; the sandbox has no record of the name."""
    host, addresses = deployed.mesh.host, sorted(exposed_addresses(deployed))
    if host in dns.recorded(Layout(deployed.sandbox.state).dns):
        raise NotObserved(f"the sandbox itself answers for {host}, so the bridge's answer is hidden")
    caller = deployed.program_of(workloads.ready_pod(deployed, workloads.CALLER), AGENT)
    data_plane = deployed.sandbox.data_plane

    def answered() -> list[str]:
        """Asked again on a busy machine, which may give no answer."""
        answers = {
            "the data plane's node": deployed.in_network(data_plane.name, "ask_addresses.py", WAN_DNS, host),
            "a Pod there": deployed.in_network_of(caller, "ask_addresses.py", data_plane.addresses.dns_address, host),
        }
        for place, (seen,) in answers.items():
            if sorted(seen) != addresses:
                found = ", ".join(seen) or "not answered"
                raise NotObserved(f"{host} is {found} for {place}, not {', '.join(addresses)}")
        return [*answers]

    places = eventually(answered, seconds=min(20, deployed.patience))

    def found() -> str:
        return published(deployed.control_plane.list(DNSEndpoint, namespace=NAMESPACE), host, addresses)

    name = eventually(found, seconds=30)
    return (
        f"{host} is {', '.join(addresses)} for {' and '.join(places)}; DNSEndpoint {name} is published; "
        f"{_publisher(deployed)} runs {PROGRAM}"
    )


def published(endpoints: Iterable[Mapping[str, Any]], host: str, addresses: list[str]) -> str:
    """Name of the DNSEndpoint with the host and these targets. Raises NotObserved unless it is published."""
    for one in endpoints:
        for record in one.get("spec", {}).get("endpoints") or []:
            if record["dnsName"] == host and sorted(record["targets"]) == addresses:
                conditions = one.get("status", {}).get("conditions") or []
                ready = next((each for each in conditions if each["type"] == "Ready"), {"reason": "nothing"})
                if ready["reason"] != "Programmed":
                    raise NotObserved(f"the DNSEndpoint of {host} says {ready['reason']}: {ready.get('message', '')}")
                return f"{NAMESPACE}/{one['metadata']['name']}"
    raise NotObserved(f"no DNSEndpoint in {NAMESPACE} has {host} with {', '.join(addresses)}")


def holder(leases: Iterable[LeaseModel], now: datetime) -> str:
    """The Pod that now holds the publisher's Lease. Raises NotObserved."""
    for lease in leases:
        spec = lease.spec
        if spec and spec.holderIdentity and spec.renewTime:
            age = (now - spec.renewTime).total_seconds()
            if age > (spec.leaseDurationSeconds or 0):
                raise NotObserved(f"no live publisher: {spec.holderIdentity} has not renewed its Lease for {age:.0f} s")
            return spec.holderIdentity
    raise NotObserved(f"no live publisher: no Lease in {NAMESPACE} is held")


def _publisher(deployed: Deployed) -> str:
    """The Pod that writes to the DNS server: it holds its Lease, and its programs run."""
    found = holder(deployed.control_plane.list(Lease, namespace=NAMESPACE), datetime.now(UTC))
    pods = {one.metadata.name for one in deployed.control_plane.list(Pod, namespace=NAMESPACE) if one.metadata}
    running = find(PROGRAM, {"HOSTNAME": found}, deployed.read)
    if found not in pods or not running:
        raise NotObserved(f"no live publisher: {found} holds the Lease, and no {PROGRAM} of it runs")
    if not all(deployed.is_program(one, PROGRAM) for one in running):
        raise NotObserved(f"a program in {found} has the name {PROGRAM} and is another one")
    return f"Pod {found}, which holds the Lease,"
