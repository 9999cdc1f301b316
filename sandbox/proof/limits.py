"""Claim: with nothing before it, istiod is still reached by those alone who may, on those ports alone.

The networks here are apart by rules of the sandbox, as nobody else's need be. So these rules are taken away and the
control plane's network is routed to everybody's; what then refuses is made by the mesh's own objects, the exposed
Service's source ranges and the NetworkPolicy.

Not claimed: source ranges hold at the load balancer. Who is routed to Pods or ClusterIPs can call the exposed ports
there, which ask for a certificate or a token. The cluster's own API server and kubelet are guarded by who runs it.
"""

from __future__ import annotations

from sandbox.clusters.network.addresses import WAN
from sandbox.proof import boundary, istiod
from sandbox.proof.boundary import OUTSIDER, ROOT
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.identity import exposed_addresses


def observe(deployed: Deployed) -> str:
    """Tries istiod's Pod from the data plane's node, and from an outsider the exposed addresses and the node ports.

    The Pod's own exposed ports have to answer to both, or the way there was not open and nothing is proven.
    """
    pod = istiod.live_pod(deployed)
    assert pod.status is not None
    living = boundary.alive(deployed, pod)
    ports = (deployed.mesh.xds_port, deployed.mesh.webhook_port)
    through = {f"{pod.status.podIP}:{port}" for port in ports}
    others = {f"{pod.status.podIP}:{port}" for port in boundary.ISTIOD_PORTS} & living - through
    if not others:
        raise NotObserved("istiod has no other port that answers, so nothing shows that the NetworkPolicy refuses any")
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
