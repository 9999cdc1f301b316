"""Commands of what a cluster with a node needs besides its control plane. Pure: paths in, plan out."""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.clusters import dns
from sandbox.clusters.addresses import ClusterAddresses
from sandbox.clusters.credentials import Credentials
from sandbox.clusters.plan import Probe, Process

NETWORK = "network"  # the task that makes the networks
_AGENT_STAGE, _STAGE = 0, 1
_PROXY_HEALTH_PORT, _PROXY_METRICS_PORT = 10256, 10249


def network(nft: Path) -> Process:
    """Makes bridges, links and rules once."""
    return Process(
        name=NETWORK,
        argv=_program("network", nft),
        network="wan",
        kind="task",
        stop_stage=_STAGE,
    )


def wan_dns(tool: Path, corefile: Path) -> Process:
    """The wan's name server."""
    return Process(
        name="wan-dns",
        argv=[str(tool), "-conf", str(corefile)],
        network="wan",
        after=[NETWORK],
        probe=Probe(port=dns.READY_PORT, path="/ready"),
        stop_stage=_STAGE,
    )


def addons(cluster: ClusterAddresses, credentials: Credentials) -> Process:
    """Writes the objects that the cluster's own services need, once."""
    return Process(
        name=_addons_name(cluster),
        argv=_program("addons", cluster.name, credentials.kubeconfig("controller-manager")),
        network=cluster.name,
        after=[f"{cluster.name}-apiserver"],
        kind="task",
        stop_stage=_STAGE,
    )


def cluster_dns(tool: Path, cluster: ClusterAddresses, corefile: Path) -> Process:
    """The cluster's name server, behind the Service `kube-dns`."""
    return Process(
        name=f"{cluster.name}-dns",
        argv=[str(tool), "-conf", str(corefile)],
        network=cluster.name,
        after=[NETWORK, _addons_name(cluster)],
        probe=Probe(port=dns.READY_PORT, path="/ready"),
        stop_stage=_STAGE,
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
        "nodeport-addresses": f"{cluster.gateway}/32",
        "healthz-bind-address": f"127.0.0.1:{_PROXY_HEALTH_PORT}",
        "metrics-bind-address": f"127.0.0.1:{_PROXY_METRICS_PORT}",
        # These are the machine's, not the sandbox's; rootless they could not be set at all.
        "conntrack-max-per-core": "0",
        "conntrack-min": "0",
        "conntrack-tcp-timeout-established": "0s",
        "conntrack-tcp-timeout-close-wait": "0s",
    }
    return Process(
        name=f"{cluster.name}-kube-proxy",
        argv=[str(tool), *(f"--{name}={value}" for name, value in flags.items())],
        network=cluster.name,
        after=[NETWORK, f"{cluster.name}-apiserver"],
        probe=Probe(port=_PROXY_HEALTH_PORT, path="/healthz"),
        stop_stage=_STAGE,
    )


def load_balancers(cluster: ClusterAddresses, credentials: Credentials, records: Path) -> Process:
    """Gives Services of type LoadBalancer their addresses and names."""
    return Process(
        name=f"{cluster.name}-load-balancers",
        argv=_program("load_balancers", cluster.name, credentials.kubeconfig("load-balancers"), records),
        network=cluster.name,
        after=[NETWORK, _addons_name(cluster)],
        stop_stage=_STAGE,
    )


def agent(command: list[str], cluster: ClusterAddresses, config: Path) -> Process:
    """The node agent. Whether its node is ready, the API server says."""
    return Process(
        name=f"{cluster.name}-node",
        argv=[*command, str(config)],
        network=cluster.name,
        after=[NETWORK, f"{cluster.name}-apiserver"],
        stop_stage=_AGENT_STAGE,
        grace=15.0,  # it stops its Pods
    )


def _addons_name(cluster: ClusterAddresses) -> str:
    return f"{cluster.name}-addons"


def _program(module: str, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", f"sandbox.clusters.{module}", *map(str, arguments)]
