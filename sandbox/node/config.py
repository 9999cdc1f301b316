"""The node's configuration file, written by the clusters room."""

from pathlib import Path

from pydantic import BaseModel, Field, IPvAnyAddress, IPvAnyNetwork


class NodeConfig(BaseModel, extra="forbid", frozen=True):
    """One node. Paths are absolute; everything is checked at start, and an unknown field is an error."""

    node_name: str
    labels: dict[str, str] = Field(default={}, description="of the Node besides its own: zone and region")
    kubeconfig: Path = Field(description="identity system:node:<node_name>, group system:nodes")
    policies_kubeconfig: Path = Field(description="may watch NetworkPolicies, Namespaces and every Pod")
    state: Path = Field(description="directory of this node alone: kubelet's files and logs")
    bin_dir: Path = Field(description="directory with the tools by name")
    node_ip: IPvAnyAddress
    bridge: str = Field(description="existing bridge in this network namespace")
    gateway: IPvAnyAddress = Field(description="the bridge's address: the Pods' default route")
    pod_cidr: IPvAnyNetwork
    cluster_dns: IPvAnyAddress
    cluster_domain: str = "cluster.local"
    serving_cert: Path
    serving_key: Path
    client_ca: Path = Field(description="signs the API server's kubelet client certificate")
    port: int = 10250


def load(path: Path) -> NodeConfig:
    """Reads the file. Raises OSError or pydantic.ValidationError."""
    return NodeConfig.model_validate_json(path.read_text())
