"""Claim: the data plane's network cannot reach the control plane's API server, and of istiod only the exposed ports.
Addresses outside of the mesh's source ranges cannot reach even these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Service

from sandbox.clusters.network.addresses import API_PORT, ETCD_PORT, KUBELET_PORT, WAN, WAN_ROUTER
from sandbox.proof import istiod, workloads
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.identity import AGENT, exposed_addresses

ISTIOD_PORTS = (8080, 15010, 15012, 15014, 15017)
CLUSTER_PORTS = (API_PORT, KUBELET_PORT, ETCD_PORT)
DNS = "53/udp"
ROOT, PROXY_USER = "0", "1337"
OUTSIDER = WAN_ROUTER
"""An address of no cluster, so it is in no mesh's source ranges: the network between clusters."""


def observe(deployed: Deployed) -> str:
    """Tries every address and port from the data plane's node, from inside a Pod there, and from an outsider.

    A closed port proves something only if the target is alive. So each port that must be closed is first seen open from
    the control plane's own network.
    """
    pod = istiod.live_pod(deployed)
    addresses = exposed_addresses(deployed)
    alive(deployed, pod)
    outside_of_ranges(deployed)
    exposed = exposed_targets(deployed, addresses)
    closed = {*private_targets(deployed, pod), *outside_targets(deployed, addresses)} - exposed
    # Of an injected Pod's users only the proxy's own bypasses the proxy, which would accept any connection itself.
    caller = deployed.program_of(workloads.ready_pod(deployed, workloads.CALLER), AGENT)
    targets = (*exposed, *closed)
    node, inside, outsider = at_once(
        lambda: deployed.in_network(deployed.sandbox.data_plane.name, "connect.py", ROOT, *targets),
        lambda: deployed.in_network_of(caller, "connect.py", PROXY_USER, *targets),
        lambda: deployed.in_network(WAN, "connect.py", ROOT, *targets),
    )
    check("the data plane's node", node, opened=exposed, closed=closed)
    check("a Pod of the data plane", inside, opened=exposed, closed=closed)
    check(f"{OUTSIDER}, which is in no source range,", outsider, opened=(), closed={*exposed, *closed})
    return (
        f"open: {', '.join(sorted(exposed))}; closed: {len(closed)} others, the control plane's API server, etcd and "
        f"kubelet among them; to {OUTSIDER}, which is outside the source ranges, all"
    )


def at_once(*looks: Callable[[], dict[str, str]]) -> list[dict[str, str]]:
    """The answers of several places, requested in parallel: each waits for the time-outs of closed ports."""
    with ThreadPoolExecutor() as pool:
        return [one.result() for one in [pool.submit(look) for look in looks]]


def check(place: str, answers: dict[str, str], *, opened: Iterable[str], closed: Iterable[str]) -> None:
    """Raises NotObserved unless exactly the expected targets are open from this place."""
    leaks = sorted(target for target in closed if answers[target] == "open")
    if leaks:
        raise NotObserved(f"{place} reaches {', '.join(leaks)}")
    shut = sorted(target for target in opened if answers[target] != "open")
    if shut:
        raise NotObserved(f"{place} does not reach the exposed {', '.join(shut)}")


def alive(deployed: Deployed, pod: PodModel) -> set[str]:
    """The open targets in the control plane's own network. Raises NotObserved when one of them is dead."""
    control_plane = deployed.sandbox.control_plane
    own = (f"127.0.0.1:{ETCD_PORT}", f"{control_plane.addresses.dns_address}:{DNS}")
    targets = [*private_targets(deployed, pod), *own]
    answers = deployed.in_network(control_plane.name, "connect.py", ROOT, *targets)
    never = (f":{port}" for port in (15010, 8080))  # 15010 is switched off, 8080 may be
    dead = [one for one, answer in answers.items() if answer != "open" and not one.endswith(tuple(never))]
    if dead:
        raise NotObserved(f"not even the control plane's own network reaches {', '.join(dead)}, so nothing is proven")
    return {target for target, answer in answers.items() if answer == "open"}


def outside_of_ranges(deployed: Deployed) -> None:
    """Raises NotObserved unless each exposed Service has source ranges, and none contains the outsider."""
    for service in deployed.control_plane.list(Service, namespace=deployed.mesh.namespace):
        if service.spec and service.spec.type == "LoadBalancer":
            ranges = service.spec.loadBalancerSourceRanges or []
            if not ranges or any(ip_address(OUTSIDER) in ip_network(one) for one in ranges):
                raise NotObserved(
                    f"the exposed Service lets {OUTSIDER} in, which is no data plane's: {ranges or 'all'}"
                )


def exposed_targets(deployed: Deployed, addresses: Iterable[str]) -> set[str]:
    ports = (deployed.mesh.xds_port, deployed.mesh.webhook_port)
    return {f"{address}:{port}" for address in addresses for port in ports}


def private_targets(deployed: Deployed, pod: PodModel) -> list[str]:
    """The targets in the control plane's network: its API server, its kubelet, every port of istiod's Pod."""
    assert pod.status is not None
    control_plane = deployed.sandbox.control_plane.addresses
    node = [f"{control_plane.gateway}:{API_PORT}", f"{control_plane.wan_address}:{KUBELET_PORT}"]
    return [*node, *(f"{pod.status.podIP}:{port}" for port in ISTIOD_PORTS)]


def outside_targets(deployed: Deployed, addresses: Iterable[str]) -> list[str]:
    """The same by shared addresses of the networks: nodes, load balancers, ClusterIPs, node ports."""
    control_plane = deployed.sandbox.control_plane.addresses
    ports = [*CLUSTER_PORTS, *ISTIOD_PORTS, 53, DNS]
    targets = [f"{node.address}:{port}" for node in control_plane.nodes for port in ports]
    targets += [f"{address}:{port}" for address in addresses for port in (443, *ports)]
    own = {one.spec.clusterIP for one in deployed.data_plane.list(Service, namespace="*") if one.spec}
    for service in deployed.control_plane.list(Service, namespace="*"):
        assert service.spec is not None
        # The data plane may have a Service of its own at the same address; an answer would then prove nothing.
        if service.spec.clusterIP not in (None, "", "None", *own):
            targets += [f"{service.spec.clusterIP}:{_port(one.port, one.protocol)}" for one in service.spec.ports or []]
    return [*targets, *node_ports(deployed)]


def node_ports(deployed: Deployed) -> list[str]:
    """Every node port of the control plane's cluster."""
    return [
        f"{node.address}:{_port(port.nodePort, port.protocol)}"
        for service in deployed.control_plane.list(Service, namespace="*")
        for port in (service.spec.ports if service.spec else None) or []
        if port.nodePort
        for node in deployed.sandbox.control_plane.addresses.nodes
    ]


def _port(number: int, protocol: str | None) -> str:
    return f"{number}/udp" if protocol == "UDP" else str(number)
