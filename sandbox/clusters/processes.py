"""The table of processes: which program runs in which network, after what, and how it is known to be well. Pure."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from sandbox.clusters import control_plane, dns, node_workers
from sandbox.clusters.addresses import API_PORT, CLUSTERS, WAN_DNS, ClusterAddresses, ClusterName
from sandbox.clusters.credentials import Credentials
from sandbox.clusters.node_config import config_path
from sandbox.clusters.plan import Plan, Process
from sandbox.clusters.state import Layout

_FORWARDER_STAGE = 3


class Tools(Protocol):
    """What this room needs of `sandbox.toolchain.Tools`: executables by name."""

    def __getitem__(self, name: str) -> Path: ...

    @property
    def bin_dir(self) -> Path: ...


def credentials_of(layout: Layout, cluster: ClusterAddresses) -> Credentials:
    return Credentials(layout.cluster(cluster.name), cluster)


def plan(layout: Layout, tools: Tools, listeners: Mapping[ClusterName, int], node_command: list[str] | None) -> Plan:
    """Everything that a sandbox runs.

    listeners: file descriptor of each cluster's socket on the host. node_command: program of the node agents, which
    gets the path of its configuration as last argument; None: clusters without nodes, networks and DNS.
    """
    found = []
    for cluster in CLUSTERS.values():
        found += _control_plane(layout, tools, cluster, listeners[cluster.name])
    if node_command:
        found += [
            node_workers.network(tools["nft"]),
            node_workers.wan_dns(tools["coredns"], dns.wan_corefile_path(layout.dns)),
        ]
        for cluster in CLUSTERS.values():
            found += _node(layout, tools, cluster, node_command)
    return Plan(networks=list(CLUSTERS), resolver=WAN_DNS if node_command else None, processes=found)


def _control_plane(layout: Layout, tools: Tools, cluster: ClusterAddresses, listener: int) -> list[Process]:
    credentials = credentials_of(layout, cluster)
    return [
        control_plane.etcd(tools["etcd"], cluster, credentials, layout.cluster(cluster.name) / "etcd"),
        control_plane.api_server(tools["kube-apiserver"], cluster, credentials),
        control_plane.controller_manager(tools["kube-controller-manager"], cluster, credentials),
        Process(
            name=f"{cluster.name}-forwarder",
            argv=[sys.executable, "-m", "sandbox.clusters.forwarder", str(listener), str(API_PORT)],
            network=cluster.name,
            inherited=[listener],
            stop_stage=_FORWARDER_STAGE,
        ),
    ]


def _node(layout: Layout, tools: Tools, cluster: ClusterAddresses, node_command: list[str]) -> list[Process]:
    credentials = credentials_of(layout, cluster)
    return [
        control_plane.scheduler(tools["kube-scheduler"], cluster, credentials),
        node_workers.kube_proxy(tools["kube-proxy"], cluster, credentials),
        node_workers.addons(cluster, credentials),
        node_workers.cluster_dns(tools["coredns"], cluster, dns.corefile_path(layout.dns, cluster)),
        node_workers.load_balancers(cluster, credentials, layout.dns),
        node_workers.agent(node_command, cluster, config_path(layout, cluster)),
    ]
