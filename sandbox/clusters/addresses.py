"""The address plan: who has which address on which network. Constants and pure functions only.

Two node networks and one wide-area network (`wan`) between them:

    provider's Pods 10.88.0.0/16 -- provider-node 10.90.0.10 --+
                                                               +-- wan 10.90.0.0/24, DNS at 10.90.0.53
    user's Pods     10.89.0.0/16 -- user-node     10.90.0.20 --+
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Literal

ClusterName = Literal["provider", "user"]
NetworkName = Literal["provider", "user", "wan"]

API_PORT = 6443
KUBELET_PORT = 10250
ETCD_PORT = 2379
CLUSTER_DOMAIN = "cluster.local"
ZONE = "sandbox.test"  # "test" is reserved (RFC 6761), so no real name is ever shadowed

WAN_BRIDGE = "wan"  # in the supervisor's own namespace
WAN_LINK = "wan0"  # a node's leg on it
POD_BRIDGE = "br0"  # in each node's namespace
WAN_SUBNET = IPv4Network("10.90.0.0/24")
WAN_GATEWAY = "10.90.0.1"  # the bridge itself; it routes nothing
WAN_DNS = "10.90.0.53"


@dataclass(frozen=True)
class ClusterAddresses:
    """One cluster's part of the plan.

    wan_address: the node's address on the wan, also its InternalIP. gateway: the node's address on its Pods' bridge.
    pool: first and last address that a Service of type LoadBalancer may get. api_on_wan: whether the API server may
    be reached from the wan.
    """

    name: ClusterName
    node_name: str
    wan_address: str
    gateway: str
    pod_cidr: str
    service_cidr: str
    dns_address: str
    pool: tuple[str, str]
    api_on_wan: bool

    @property
    def api_host(self) -> str:
        """The API server's name in the sandbox's zone."""
        return f"api.{self.name}.{ZONE}"

    @property
    def first_service_address(self) -> str:
        """Where Pods find the API server: the Service `kubernetes` always gets the first address of its range."""
        return str(IPv4Network(self.service_cidr)[1])

    @property
    def pod_prefix_length(self) -> int:
        return IPv4Network(self.pod_cidr).prefixlen

    def pool_addresses(self) -> Iterator[str]:
        """Every load-balancer address, lowest first."""
        first, last = (int(IPv4Address(end)) for end in self.pool)
        return (str(IPv4Address(number)) for number in range(first, last + 1))


PROVIDER = ClusterAddresses(
    name="provider",
    node_name="provider-node",
    wan_address="10.90.0.10",
    gateway="10.88.0.1",
    pod_cidr="10.88.0.0/16",
    service_cidr="10.96.0.0/16",
    dns_address="10.96.0.10",
    pool=("10.90.0.100", "10.90.0.149"),
    api_on_wan=False,
)
USER = ClusterAddresses(
    name="user",
    node_name="user-node",
    wan_address="10.90.0.20",
    gateway="10.89.0.1",
    pod_cidr="10.89.0.0/16",
    service_cidr="10.97.0.0/16",
    dns_address="10.97.0.10",
    pool=("10.90.0.150", "10.90.0.199"),
    api_on_wan=True,  # istiod, in the provider's cluster, reads it
)
CLUSTERS: Mapping[ClusterName, ClusterAddresses] = {"provider": PROVIDER, "user": USER}


def named(name: str) -> ClusterAddresses:
    """The cluster of this name. Raises KeyError for another."""
    return {str(key): cluster for key, cluster in CLUSTERS.items()}[name]
