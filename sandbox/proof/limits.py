"""Claim: without the sandbox's firewall, istiod is still open to its allowed callers only, on the exposed ports only.

Rules of the sandbox separate the networks here; other environments may have no such rules. So these rules are removed
and the control plane's network is routed to all others. The refusals then come from the mesh's own objects: the exposed
Service's source ranges and the NetworkPolicy.

Not claimed: source ranges hold at the load balancer. A caller with a route to Pods or ClusterIPs can call the exposed
ports there, which require a certificate or a token. The cluster's operator guards its own API server and kubelet.
"""

from __future__ import annotations

from sandbox.clusters.network.addresses import WAN
from sandbox.proof import boundary, istiod
from sandbox.proof.boundary import OUTSIDER, ROOT
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.identity import exposed_addresses


def observe(deployed: Deployed) -> str:
    """Tries istiod's Pod from the data plane's node, and from an outsider the exposed addresses and the node ports.

    The Pod's own exposed ports must answer to both. Otherwise the way there was not open, and nothing is proven.
    """
    pod = istiod.live_pod(deployed)
    assert pod.status is not None
    living = boundary.alive(deployed, pod)
    ports = (deployed.mesh.xds_port, deployed.mesh.webhook_port)
    through = {f"{pod.status.podIP}:{port}" for port in ports}
    others = {f"{pod.status.podIP}:{port}" for port in boundary.ISTIOD_PORTS} & living - through
    if not others:
        raise NotObserved("istiod has no other port that answers, so no port shows that the NetworkPolicy refuses any")
    exposed = boundary.exposed_targets(deployed, exposed_addresses(deployed))
    node_ports = set(boundary.node_ports(deployed))
    data_plane = deployed.sandbox.data_plane.name
    with deployed.without_firewall():
        inside, outsider = boundary.at_once(
            lambda: deployed.in_network(data_plane, "connect.py", ROOT, *through, *exposed, *others),
            lambda: deployed.in_network(WAN, "connect.py", ROOT, *through, *others, *exposed, *node_ports),
        )
    boundary.check("without the firewall, the data plane's node", inside, opened=through | exposed, closed=others)
    refused = others | exposed | node_ports
    boundary.check(f"without the firewall, {OUTSIDER}", outsider, opened=through, closed=refused)
    return (
        f"without the sandbox's firewall: {', '.join(sorted(others))} refused by the NetworkPolicy; "
        f"{', '.join(sorted(exposed))} refused to {OUTSIDER} by the source ranges; node ports: {len(node_ports)}"
    )
