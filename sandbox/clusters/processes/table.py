"""The table of processes: program, network, order of start and health endpoint of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.network.addresses import WAN, WAN_DNS, ClusterAddresses
from sandbox.clusters.processes import control_plane, node_workers
from sandbox.clusters.processes.node_config import config_path
from sandbox.clusters.state import Layout
from sandbox.clusters.supervisor.plan import Plan, Process


class Tools(Protocol):
    """The part of `sandbox.toolchain.Tools` that this package uses: executables by name."""

    def __getitem__(self, name: str) -> Path: ...

    @property
    def bin_dir(self) -> Path: ...


def plan(
    layout: Layout,
    tools: Tools,
    clusters: Sequence[ClusterAddresses],
    listeners: Mapping[str, int],
    *,
    nodes: bool,
) -> Plan:
    """All processes of a sandbox.

    listeners: file descriptor of each cluster's socket on the host. nodes: False: clusters without nodes, networks and
    DNS.
    """
    found = [node_workers.forwarder(listeners)]
    for cluster in clusters:
        found += _control_plane(layout, tools, cluster)
    if nodes:
        found += [
            node_workers.network(layout.root, tools["nft"]),
            node_workers.name_server(tools["coredns"], layout.dns, WAN),
            node_workers.addons(layout.root, clusters),
        ]
        for cluster in clusters:
            found += _node(layout, tools, cluster)
    return Plan(networks=[one.name for one in clusters], resolver=WAN_DNS if nodes else None, processes=found)


def _control_plane(layout: Layout, tools: Tools, cluster: ClusterAddresses) -> list[Process]:
    credentials = Credentials(layout, cluster)
    return [
        control_plane.etcd(tools["etcd"], cluster, credentials, layout.cluster(cluster.name) / "etcd"),
        control_plane.api_server(tools["kube-apiserver"], cluster, credentials),
        control_plane.controller_manager(tools["kube-controller-manager"], cluster, credentials),
    ]


def _node(layout: Layout, tools: Tools, cluster: ClusterAddresses) -> list[Process]:
    credentials = Credentials(layout, cluster)
    agents = [node_workers.agent(cluster, node, config_path(layout, cluster, node)) for node in cluster.nodes]
    return [
        control_plane.scheduler(tools["kube-scheduler"], cluster, credentials),
        node_workers.kube_proxy(tools["kube-proxy"], cluster, credentials),
        node_workers.name_server(tools["coredns"], layout.dns, cluster.name, node_workers.ADDONS),
        node_workers.load_balancers(layout.root, cluster),
        *agents,
    ]
