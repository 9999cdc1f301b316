"""The configuration file of a node."""

from pathlib import Path

from pydantic import BaseModel, Field


class NodeConfig(BaseModel, extra="forbid", frozen=True):
    """One node. Paths are absolute; an unknown field is an error."""

    node_name: str
    labels: dict[str, str] = Field(default={}, description="of the Node besides its own: zone and region")
    kubeconfig: Path = Field(description="identity system:node:<node_name>, group system:nodes")
    policies_kubeconfig: Path = Field(description="may watch NetworkPolicies, Namespaces and every Pod")
    state: Path = Field(description="directory of this node alone: kubelet's files and logs")
    bin_dir: Path = Field(description="directory with the tools by name")
    node_ip: str
    bridge: str = Field(description="existing bridge in this network namespace")
    gateway: str = Field(description="the bridge's address: the Pods' default route")
    pod_cidr: str
    cluster_dns: str
    cluster_domain: str = "cluster.local"
    serving_cert: Path
    serving_key: Path
    client_ca: Path = Field(description="signs the API server's kubelet client certificate")
    port: int = 10250
