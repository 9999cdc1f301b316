"""The boundary between the clusters' networks, as nftables rules for a cluster's namespace. Pure text.

Each cluster guards its own leg on the wan, so other clusters' routes and rules cannot open it. From each leg the wan's
router accepts only packets with a source in that leg (__main__.py), so no cluster can use another's address.
"""

from __future__ import annotations

from sandbox.clusters.network.addresses import API_PORT, WAN_LINK, ClusterAddresses

TABLE = "boundary"


def rules(cluster: ClusterAddresses) -> str:
    """Input for `nft -f -`: replaces the table `inet boundary`.

    From the wan only these come in: answers, connections to a load-balancer address that kube-proxy forwarded to a Pod,
    and calls to the API server's port by the plan's `api_clients`. kube-proxy translates every Service address on any
    link, so a translated packet passes only if its original target is in the pool. Otherwise this cluster's ClusterIPs
    and node ports would be open to the others. Outgoing packets of Pods get the first node's address, so that it can
    stand in an allow-list.
    """
    pool, nodes = "-".join(cluster.pool), ", ".join(one.address for one in cluster.nodes)
    readers = ", ".join(cluster.api_clients)
    to_api = f"iifname {WAN_LINK} ip saddr {{ {readers} }} ip daddr {cluster.wan_address} tcp dport {API_PORT} accept"
    return f"""
table inet {TABLE}
delete table inet {TABLE}
table inet {TABLE} {{
    chain not_ours {{
        type filter hook prerouting priority raw; policy accept;
        iifname {WAN_LINK} ip daddr != {{ {nodes}, {pool} }} drop
        iifname {WAN_LINK} meta nfproto ipv6 drop
    }}
    chain to_the_node {{
        type filter hook input priority filter; policy accept;
        iifname {WAN_LINK} ct state established,related accept
        {to_api if readers else ""}
        iifname {WAN_LINK} drop
    }}
    chain to_pods {{
        type filter hook forward priority filter; policy accept;
        iifname {WAN_LINK} ct state established,related accept
        iifname {WAN_LINK} ct status dnat ct original ip daddr {pool} accept
        iifname {WAN_LINK} drop
    }}
    {_from_pods(cluster)}
}}
"""


def opened(cluster: ClusterAddresses) -> str:
    """The same table with everything let in, to test the other layers of refusal."""
    return f"""
table inet {TABLE}
delete table inet {TABLE}
table inet {TABLE} {{
    {_from_pods(cluster)}
}}
"""


def _from_pods(cluster: ClusterAddresses) -> str:
    return f"""chain from_pods {{
        type nat hook postrouting priority srcnat; policy accept;
        oifname {WAN_LINK} ip saddr {cluster.pod_cidr} snat ip to {cluster.wan_address}
    }}"""
