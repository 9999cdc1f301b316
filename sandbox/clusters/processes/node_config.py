"""The configuration files of nodes."""

from __future__ import annotations

from pathlib import Path

from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.network.addresses import CLUSTER_DOMAIN, KUBELET_PORT, POD_BRIDGE, ClusterAddresses, NodeAddresses
from sandbox.clusters.state import Layout, write
from sandbox.node.config import NodeConfig


def config_path(layout: Layout, cluster: ClusterAddresses, node: NodeAddresses) -> Path:
    return layout.cluster(cluster.name) / f"{node.name}.json"


def write_configs(layout: Layout, cluster: ClusterAddresses, bin_dir: Path) -> None:
    """Writes a cluster's files and makes each node's own directory."""
    credentials = Credentials(layout, cluster)
    for node in cluster.nodes:
        own = credentials.directory / node.name
        own.mkdir(mode=0o700, exist_ok=True)
        config = NodeConfig(
            node_name=node.name,
            labels={"topology.kubernetes.io/zone": node.zone, "topology.kubernetes.io/region": node.region},
            kubeconfig=credentials.kubeconfig(node.name),
            policies_kubeconfig=credentials.kubeconfig("network-policies"),
            state=own,
            bin_dir=bin_dir,
            node_ip=node.address,
            bridge=POD_BRIDGE,
            gateway=cluster.gateway,
            pod_cidr=node.pods,
            cluster_dns=cluster.dns_address,
            cluster_domain=CLUSTER_DOMAIN,
            serving_cert=credentials.certificate(node.name),
            serving_key=credentials.key(node.name),
            client_ca=credentials.certificate("cluster"),
            port=KUBELET_PORT,
        )
        write(config_path(layout, cluster, node), config)
