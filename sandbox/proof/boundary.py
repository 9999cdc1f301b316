"""Claim: from the user's network, the provider's API server cannot be reached, and of istiod only the exposed ports."""

from __future__ import annotations

from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Service

from sandbox.clusters.addresses import API_PORT, KUBELET_PORT
from sandbox.proof import istiod, workloads
from sandbox.proof.identity import AGENT, exposed_addresses
from sandbox.proof.scene import NotObserved, Scene

ISTIOD_PORTS = (8080, 15010, 15012, 15014, 15017)
ROOT, PROXY_USER = "0", "1337"


def observe(scene: Scene) -> str:
    """Tries every address and port from the user's node and from inside a user's Pod.

    A closed port proves something only if the target is alive, so what must be closed for the user is first
    seen to be open from the provider's own network.
    """
    pod = istiod.live_pod(scene)
    addresses = exposed_addresses(scene)
    control_plane, data_plane = scene.sandbox.control_plane, scene.sandbox.data_plane
    alive = scene.in_network(control_plane.name, "connect.py", ROOT, *private_targets(scene, pod))
    dead = [target for target, answer in alive.items() if answer != "open" and not target.endswith((":15010", ":8080"))]
    if dead:
        raise NotObserved(f"not even the provider's own network reaches {', '.join(dead)}, so nothing is proven")

    exposed = {f"{address}:{port}" for address in addresses for port in exposed_ports(scene)}
    closed = {*private_targets(scene, pod), *outside_targets(scene, addresses)} - exposed
    # Of an injected Pod's users only the proxy's own gets past the proxy, which would accept any connection itself.
    caller = scene.program_of(workloads.ready_pod(scene, workloads.CALLER), AGENT)
    for place, answers in (
        ("the user's node", scene.in_network(data_plane.name, "connect.py", ROOT, *exposed, *closed)),
        ("a user's Pod", scene.in_network_of(caller, "connect.py", PROXY_USER, *exposed, *closed)),
    ):
        leaks = sorted(target for target in closed if answers[target] == "open")
        if leaks:
            raise NotObserved(f"{place} reaches {', '.join(leaks)}")
        shut = sorted(target for target in exposed if answers[target] != "open")
        if shut:
            raise NotObserved(f"{place} does not reach the exposed {', '.join(shut)}")
    return f"open: {', '.join(sorted(exposed))}; closed: {len(closed)} others, the provider's API server among them"


def exposed_ports(scene: Scene) -> tuple[int, int]:
    return scene.mesh.xds_port, scene.mesh.webhook_port


def private_targets(scene: Scene, pod: PodModel) -> list[str]:
    """What lives in the provider's network: its API server, its kubelet, every port of istiod's Pod."""
    assert pod.status is not None
    provider = scene.sandbox.control_plane.addresses
    node = [f"{provider.gateway}:{API_PORT}", f"{provider.wan_address}:{KUBELET_PORT}"]
    return [*node, *(f"{pod.status.podIP}:{port}" for port in ISTIOD_PORTS)]


def outside_targets(scene: Scene, addresses: set[str]) -> list[str]:
    """The same by the addresses that the two networks share: the node, the load balancers, ClusterIPs, NodePorts."""
    provider = scene.sandbox.control_plane.addresses
    targets = [f"{provider.wan_address}:{port}" for port in (API_PORT, KUBELET_PORT, *ISTIOD_PORTS)]
    targets += [f"{address}:{port}" for address in addresses for port in (443, API_PORT, KUBELET_PORT, *ISTIOD_PORTS)]
    for service in scene.provider.list(Service, namespace="*"):
        assert service.spec is not None
        for port in service.spec.ports or []:
            if (
                service.spec.clusterIP not in (None, "", "None")
                and port.protocol != "UDP"
                and not _overlaps(scene, service)
            ):
                targets.append(f"{service.spec.clusterIP}:{port.port}")
            if port.nodePort:
                targets.append(f"{provider.wan_address}:{port.nodePort}")
    return targets


def _overlaps(scene: Scene, service: Service) -> bool:
    """The user's cluster may have a Service of its own at the same address; then an answer would say nothing."""
    assert service.spec is not None
    own = {one.spec.clusterIP for one in scene.user.list(Service, namespace="*") if one.spec}
    return service.spec.clusterIP in own
