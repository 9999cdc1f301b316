"""Makes the networks: `python -m sandbox.clusters.network STATE NFT`, run once inside the wan's namespace.

    wan namespace: a router -- one veth pair per cluster -- cluster's namespace: `wan0`, and bridge `br0` for Pods

pyroute2 makes links, addresses and routes, so no `ip` is needed; rules are text for `nft`, which kube-proxy needs too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from pyroute2 import IPRoute  # type: ignore[import-untyped]

from sandbox.clusters.network import boundary
from sandbox.clusters.network.addresses import POD_BRIDGE, WAN_DNS, WAN_LINK, WAN_ROUTER, ClusterAddresses, addresses_of
from sandbox.clusters.network.namespaces import NETNS, inside
from sandbox.clusters.state import Layout, settings

_BRIDGE_FILTER = {"net/bridge/bridge-nf-call-iptables": "0"}  # or a Pod cannot reach itself through its Service
_WAN_SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/icmp_ratelimit": "0",  # the router answers "no route" to every client, not only to the first few
    **_BRIDGE_FILTER,
}
_NODE_SYSCTLS = {
    **_WAN_SYSCTLS,
    # Pods share a bridge and still reach each other through their node, which must not send them redirects.
    "net/ipv4/conf/all/send_redirects": "0",
    f"net/ipv4/conf/{POD_BRIDGE}/send_redirects": "0",
}


def _leg(link: str) -> dict[str, str]:
    """Either end of a leg. rp_filter: drops a packet if the answer to its source would leave by another link."""
    return {
        f"net/ipv4/conf/{link}/rp_filter": "1",
        f"net/ipv4/conf/{link}/arp_ignore": "1",  # no ARP answers for addresses of other links
        f"net/ipv6/conf/{link}/disable_ipv6": "1",
    }


def make_wan(clusters: Iterable[ClusterAddresses]) -> None:
    """In the wan's namespace: a router with a leg to each cluster, and routes to its nodes and its pool only."""
    _set(_WAN_SYSCTLS)
    with IPRoute() as ip:
        ip.addr("replace", index=_index(ip, "lo"), address=WAN_DNS, prefixlen=32)
        for cluster in clusters:
            _remove(ip, cluster.name)
            network = os.open(NETNS / cluster.name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                ip.link("add", ifname=cluster.name, kind="veth", peer={"ifname": WAN_LINK, "net_ns_fd": network})
            finally:
                os.close(network)
            leg = _index(ip, cluster.name)
            _set(_leg(cluster.name))
            ip.addr("add", index=leg, address=WAN_ROUTER, prefixlen=32)
            ip.link("set", index=leg, state="up")
            for reached in (*(f"{node.address}/32" for node in cluster.nodes), cluster.pool_network):
                ip.route("add", dst=reached, oif=leg, scope="link")


def make_cluster(cluster: ClusterAddresses, nft: str) -> None:
    """In a cluster's namespace: its leg on the wan, its Pods' bridge, its rules."""
    with IPRoute() as ip:
        _remove(ip, POD_BRIDGE)
        leg = _index(ip, WAN_LINK)
        for node in cluster.nodes:
            ip.addr("add", index=leg, address=node.address, prefixlen=32)
        ip.link("add", ifname=POD_BRIDGE, kind="bridge")
        bridge = _index(ip, POD_BRIDGE)
        ip.addr("add", index=bridge, address=cluster.gateway, prefixlen=cluster.pod_prefix_length)
        _set(_NODE_SYSCTLS | _leg(WAN_LINK))
        if subprocess.run([nft, "-f", "-"], input=boundary.rules(cluster), text=True, check=False).returncode != 0:
            raise SystemExit("nft refused the rules above: the kernel needs nf_tables, nft_ct and nft_nat.")
        for index in (leg, bridge):
            ip.link("set", index=index, state="up")
        ip.route("add", dst=f"{WAN_ROUTER}/32", oif=leg, scope="link")
        ip.route("add", dst="default", gateway=WAN_ROUTER, oif=leg, prefsrc=cluster.wan_address)


def _remove(ip: IPRoute, name: str) -> None:
    """Removes a link of a first try that failed half-way."""
    for index in ip.link_lookup(ifname=name):
        ip.link("del", index=index)


def _index(ip: IPRoute, name: str) -> int:
    return int(ip.link_lookup(ifname=name)[0])


def _set(sysctls: dict[str, str]) -> None:
    """Sets kernel settings of the current namespace; skips those that this kernel lacks (IPv6, br_netfilter)."""
    for name, value in sysctls.items():
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text().strip() != value:
            try:
                path.write_text(value)
            except OSError as error:
                raise SystemExit(
                    f"The kernel setting {name}={value} cannot be written ({error.strerror}). A container with a "
                    "read-only /proc/sys forbids it: start it privileged or with systempaths=unconfined."
                ) from None


if __name__ == "__main__":
    found = addresses_of(settings(Layout(Path(sys.argv[1]))).topology)
    make_wan(found.values())
    for one in found.values():
        with inside(one.name):
            make_cluster(one, sys.argv[2])
