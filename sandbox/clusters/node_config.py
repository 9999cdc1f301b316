"""The configuration file of a node agent. Its form is agreed with the node room, which reads it strictly."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox.clusters.addresses import CLUSTER_DOMAIN, KUBELET_PORT, POD_BRIDGE, ClusterAddresses
from sandbox.clusters.credentials import Credentials
from sandbox.clusters.state import Layout, Mode, write


def config_path(layout: Layout, cluster: ClusterAddresses) -> Path:
    return layout.cluster(cluster.name) / "node.json"


def write_config(layout: Layout, cluster: ClusterAddresses, bin_dir: Path, mode: Mode) -> None:
    """Writes the file and makes the agent's own directory. mode: only known once the namespaces are made."""
    directory = layout.cluster(cluster.name)
    own = directory / "node"
    own.mkdir(mode=0o700, exist_ok=True)
    credentials = Credentials(directory, cluster)
    content = {
        "node_name": cluster.node_name,
        "cluster": cluster.name,
        "kubeconfig": str(credentials.kubeconfig("node")),
        "state": str(own),
        "bin_dir": str(bin_dir),
        "mode": mode,
        "node_ip": cluster.wan_address,
        "bridge": POD_BRIDGE,
        "gateway": cluster.gateway,
        "pod_cidr": cluster.pod_cidr,
        "cluster_dns": cluster.dns_address,
        "cluster_domain": CLUSTER_DOMAIN,
        "serving_cert": str(credentials.certificate("node")),
        "serving_key": str(credentials.key("node")),
        "client_ca": str(credentials.certificate("cluster")),
        "port": KUBELET_PORT,
    }
    write(config_path(layout, cluster), json.dumps(content, indent=1))
