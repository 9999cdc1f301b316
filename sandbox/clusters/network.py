"""Makes the sandbox's networks: `python -m sandbox.clusters.network NFT`, run once inside, in the wan's namespace.

    wan namespace: bridge `wan` (10.90.0.1, DNS 10.90.0.53) -- veth -- node namespace: `wan0`, and bridge `br0` for Pods

pyroute2 makes links, addresses and routes, so no `ip` is needed; rules are text for `nft`, which kube-proxy needs too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pyroute2 import IPRoute  # type: ignore[import-untyped]

from sandbox.clusters import boundary
from sandbox.clusters.addresses import (
    CLUSTERS,
    POD_BRIDGE,
    WAN_BRIDGE,
    WAN_DNS,
    WAN_GATEWAY,
    WAN_LINK,
    WAN_SUBNET,
    ClusterAddresses,
)
from sandbox.clusters.namespaces import NETNS, inside

_BRIDGE_FILTER = {"net/bridge/bridge-nf-call-iptables": "0"}  # or a Pod cannot reach itself through its Service
_WAN_SYSCTLS = {"net/ipv4/ip_forward": "0", **_BRIDGE_FILTER}
_NODE_SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    **_BRIDGE_FILTER,
    # Pods reach each other by way of their node although they share a bridge: it must not tell them of a shorter way.
    "net/ipv4/conf/all/send_redirects": "0",
    f"net/ipv4/conf/{POD_BRIDGE}/send_redirects": "0",
    f"net/ipv4/conf/{WAN_LINK}/rp_filter": "1",  # no packet from the wan with an address of ours as its source
    f"net/ipv4/conf/{WAN_LINK}/arp_ignore": "1",  # the wan need not learn of addresses on other links
    f"net/ipv6/conf/{WAN_LINK}/disable_ipv6": "1",
}


def make_wan() -> None:
    """In the wan's namespace: the bridge, and a pair of links for each node whose other end goes to that node."""
    with IPRoute() as ip:
        _remove(ip, WAN_BRIDGE, *CLUSTERS)
        bridge = _add_bridge(ip, WAN_BRIDGE)
        ip.addr("add", index=bridge, address=WAN_GATEWAY, prefixlen=WAN_SUBNET.prefixlen)
        ip.addr("add", index=bridge, address=WAN_DNS, prefixlen=32)
        for cluster in CLUSTERS:
            node = os.open(NETNS / cluster, os.O_RDONLY | os.O_CLOEXEC)
            try:
                ip.link("add", ifname=cluster, kind="veth", peer={"ifname": WAN_LINK, "net_ns_fd": node})
            finally:
                os.close(node)
            ip.link("set", index=_index(ip, cluster), master=bridge, state="up")
    _set(_WAN_SYSCTLS)


def make_node(cluster: ClusterAddresses, nft: str) -> None:
    """In a node's namespace: its leg on the wan, its Pods' bridge, its rules."""
    with IPRoute() as ip:
        _remove(ip, POD_BRIDGE)
        wan = _index(ip, WAN_LINK)
        ip.addr("add", index=wan, address=cluster.wan_address, prefixlen=WAN_SUBNET.prefixlen)
        ip.link("set", index=wan, state="up")
        bridge = _add_bridge(ip, POD_BRIDGE)
        ip.addr("add", index=bridge, address=cluster.gateway, prefixlen=cluster.pod_prefix_length)
        _set(_NODE_SYSCTLS)
        if subprocess.run([nft, "-f", "-"], input=boundary.rules(cluster), text=True, check=False).returncode != 0:
            raise SystemExit("nft refused the rules above: the kernel needs nf_tables, nft_ct and nft_nat.")
        # kube-proxy wants a default route; the wan's bridge routes nothing, so it leads nowhere.
        ip.route("add", dst="default", gateway=WAN_GATEWAY)


def _add_bridge(ip: IPRoute, name: str) -> int:
    ip.link("add", ifname=name, kind="bridge")
    index = _index(ip, name)
    ip.link("set", index=index, state="up")
    return index


def _remove(ip: IPRoute, *names: str) -> None:
    """What a first try that failed half-way left."""
    for name in names:
        for index in ip.link_lookup(ifname=name):
            ip.link("del", index=index)


def _index(ip: IPRoute, name: str) -> int:
    return int(ip.link_lookup(ifname=name)[0])


def _set(sysctls: dict[str, str]) -> None:
    """Kernel settings of the namespace that we are in; what this kernel lacks (IPv6, br_netfilter) is passed over."""
    for name, value in sysctls.items():
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text().strip() != value:
            try:
                path.write_text(value)
            except OSError as error:
                raise SystemExit(
                    f"The kernel setting {name}={value} could not be made ({error.strerror}). A container with a "
                    "read-only /proc/sys forbids it: start it privileged or with systempaths=unconfined."
                ) from None


if __name__ == "__main__":
    make_wan()
    for one in CLUSTERS.values():
        with inside(one.name):
            make_node(one, sys.argv[1])
