"""Commands of clusters besides their control planes: forwarder, networks, names, nodes. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.network import dns
from sandbox.clusters.network.addresses import WAN, ClusterAddresses, NodeAddresses
from sandbox.clusters.processes.control_plane import command
from sandbox.clusters.supervisor.plan import Probe, Process

NETWORK, ADDONS = "network", "addons"  # tasks: networks, and each cluster's own objects
_AGENT_STAGE, _FORWARDER_STAGE = 0, 3
_PROXY_HEALTH_PORT, _PROXY_METRICS_PORT = 10256, 10249


def forwarder(listeners: Mapping[str, int]) -> Process:
    """Lets the host reach every API server. listeners: descriptor of each cluster's socket on the host."""
    return Process(
        name="forwarder",
        argv=_program("network.forwarder", *(f"{name}:{listener}" for name, listener in listeners.items())),
        network=WAN,
        inherited=list(listeners.values()),
        stop_stage=_FORWARDER_STAGE,
    )


def network(state: Path, nft: Path) -> Process:
    """Makes bridges, links and rules once."""
    return Process(
        name=NETWORK,
        argv=_program("network", state, nft),
        network=WAN,
        kind="task",
    )


def name_server(tool: Path, directory: Path, network: str, *after: str) -> Process:
    """The wan's name server, or a cluster's, which is behind its Service `kube-dns`. directory: of Corefiles."""
    return Process(
        name=f"{network}-dns",
        argv=[str(tool), "-conf", str(dns.corefile_path(directory, network))],
        network=network,
        after=[NETWORK, *after],
        probe=Probe(port=dns.READY_PORT, path="/ready"),
    )


def addons(state: Path, clusters: Iterable[ClusterAddresses]) -> Process:
    """Writes the objects that the clusters' own services need, once."""
    return Process(
        name=ADDONS,
        argv=_program("credentials.addons", state),
        network=WAN,
        after=[f"{cluster.name}-apiserver" for cluster in clusters],
        kind="task",
    )


def kube_proxy(tool: Path, cluster: ClusterAddresses, credentials: Credentials) -> Process:
    """kube-proxy in nftables mode: the only mode that needs no iptables."""
    flags = {
        "kubeconfig": credentials.kubeconfig("kube-proxy"),
        "proxy-mode": "nftables",
        "hostname-override": cluster.node_name,
        "bind-address": cluster.wan_address,
        "cluster-cidr": cluster.pod_cidr,
        "detect-local-mode": "ClusterCIDR",
        # As on real nodes, all of the node's addresses; from other networks boundary.py closes them.
        "nodeport-addresses": ",".join(
            f"{one}/32" for one in (cluster.gateway, *(node.address for node in cluster.nodes))
        ),
        "healthz-bind-address": f"127.0.0.1:{_PROXY_HEALTH_PORT}",
        "metrics-bind-address": f"127.0.0.1:{_PROXY_METRICS_PORT}",
        # These belong to the machine, not to the sandbox; in rootless mode they cannot be set.
        "conntrack-max-per-core": "0",
        "conntrack-min": "0",
        "conntrack-tcp-timeout-established": "0s",
        "conntrack-tcp-timeout-close-wait": "0s",
    }
    return Process(
        name=f"{cluster.name}-kube-proxy",
        argv=command(tool, flags),
        network=cluster.name,
        after=[NETWORK, f"{cluster.name}-apiserver"],
        probe=Probe(port=_PROXY_HEALTH_PORT, path="/healthz"),
    )


def load_balancers(state: Path, cluster: ClusterAddresses) -> Process:
    """Gives the cluster's Services of type LoadBalancer their addresses and names."""
    return Process(
        name=f"{cluster.name}-load-balancers",
        argv=_program("network.load_balancers", state, cluster.name),
        network=cluster.name,
        after=[NETWORK, ADDONS],
    )


def agent(cluster: ClusterAddresses, node: NodeAddresses, config: Path) -> Process:
    """A node. It has no probe: the API server reports its readiness."""
    return Process(
        name=node.name,
        argv=[sys.executable, "-m", "sandbox.node", str(config)],
        network=cluster.name,
        after=[NETWORK, f"{cluster.name}-apiserver"],
        stop_stage=_AGENT_STAGE,
        grace=15.0,  # for kubelet to end; its Pods go with the node
    )


def _program(module: str, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", f"sandbox.clusters.{module}", *map(str, arguments)]
