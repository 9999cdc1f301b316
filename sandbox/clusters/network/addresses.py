"""The address plan: each network's addresses. Constants and pure functions only.

Every cluster has a network of its own for Pods. The router `wan` joins them; it has routes to nodes and load balancers:

    cluster 0: Pods -- node(s) 10.90.0.10, ...  load balancers 10.90.1.1-100 --+
    cluster 1: Pods -- node(s) 10.90.0.20, ...  load balancers 10.90.2.1-100 --+-- wan 10.90.0.1, DNS 10.90.255.53
    cluster n: Pods -- node(s) 10.90.0.(n+1)0   load balancers 10.90.(n+1).1-100 --+

So Pod and Service ranges are private to each cluster and may overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.clusters.topology import ClusterSpec, Role, Topology

API_PORT = 6443
KUBELET_PORT = 10250
ETCD_PORT = 2379
CLUSTER_DOMAIN = "cluster.local"
ZONE = "sandbox.test"  # "test" is reserved (RFC 6761), so no real name is ever shadowed
MESH_ZONE = f"demo.{ZONE}"  # of the mesh of `make up`; a DNS server in the control plane's cluster serves it

WAN = "wan"  # the network between the clusters: the supervisor's own namespace
WAN_LINK = "wan0"  # a cluster's leg on it
POD_BRIDGE = "br0"  # in each cluster's namespace
WAN_SUBNET = IPv4Network("10.90.0.0/16")
WAN_ROUTER = "10.90.0.1"  # on each of its links
WAN_DNS = "10.90.255.53"
MOST_CLUSTERS, MOST_NODES = 24, 10
_POOL_SIZE = 100


@dataclass(frozen=True)
class NodeAddresses:
    """One node. address: on the wan, also its InternalIP. pods: its own part of the cluster's range."""

    name: str
    address: str
    pods: str
    zone: str
    region: str


@dataclass(frozen=True)
class ClusterAddresses:
    """One cluster's part of the plan.

    nodes: all in one namespace, so they share its Pods' bridge. gateway: their address on that bridge. pool: first and
    last address for Services of type LoadBalancer. api_clients: addresses on the wan that may reach the API server.
    """

    name: str
    role: Role
    nodes: tuple[NodeAddresses, ...]
    gateway: str
    pod_cidr: str
    service_cidr: str
    dns_address: str
    pool: tuple[str, str]
    api_clients: tuple[str, ...]

    @property
    def node_name(self) -> str:
        """The first node's name: kube-proxy runs there."""
        return self.nodes[0].name

    @property
    def wan_address(self) -> str:
        """The first node's address: the API server's, and the source address of all Pods outside."""
        return self.nodes[0].address

    @property
    def api_host(self) -> str:
        """The API server's name in the sandbox's zone."""
        return f"api.{self.name}.{ZONE}"

    @property
    def name_server(self) -> str:
        """The load-balancer address of the mesh's DNS server, where one runs. Other Services get it last."""
        return self.pool[1]

    @property
    def first_service_address(self) -> str:
        """The API server's address for Pods: the Service `kubernetes` always gets the first address of its range."""
        return str(IPv4Network(self.service_cidr)[1])

    @property
    def pod_prefix_length(self) -> int:
        return IPv4Network(self.pod_cidr).prefixlen

    @property
    def pool_network(self) -> str:
        """The range that the wan's router sends here besides the nodes' own addresses."""
        return str(IPv4Network(f"{self.pool[0]}/24", strict=False))

    def pool_addresses(self) -> Iterator[str]:
        """Every load-balancer address, lowest first."""
        first, last = (int(IPv4Address(end)) for end in self.pool)
        return (str(IPv4Address(number)) for number in range(first, last + 1))


def addresses_of(topology: Topology) -> dict[str, ClusterAddresses]:
    """Every cluster's addresses, by its name, in the topology's order.

    A data plane's API server is open to the control plane's nodes only, since istiod reads it.
    """
    nodes = [_nodes(spec, place) for place, spec in enumerate(topology.clusters)]
    readers = tuple(
        one.address
        for spec, own in zip(topology.clusters, nodes, strict=True)
        for one in own
        if spec.role == "control-plane"
    )
    return {
        spec.name: ClusterAddresses(
            name=spec.name,
            role=spec.role,
            nodes=own,
            gateway=str(spec.pods[1]),
            pod_cidr=str(spec.pods),
            service_cidr=str(spec.services),
            dns_address=str(spec.services[10]),
            pool=(str(WAN_SUBNET[256 * (place + 1) + 1]), str(WAN_SUBNET[256 * (place + 1) + _POOL_SIZE])),
            api_clients=readers if spec.role == "data-plane" else (),
        )
        for place, (spec, own) in enumerate(zip(topology.clusters, nodes, strict=True))
    }


def _nodes(spec: ClusterSpec, place: int) -> tuple[NodeAddresses, ...]:
    """Each node's part of the Pod range is of equal size: the range halved until there are enough parts."""
    parts = spec.pods.subnets(prefixlen_diff=(len(spec.zones) - 1).bit_length())
    return tuple(
        NodeAddresses(
            name=f"{spec.name}-node" + (f"-{number + 1}" if number else ""),
            address=str(WAN_SUBNET[MOST_NODES * (place + 1) + number]),
            pods=str(part),
            zone=zone,
            region=spec.region,
        )
        for number, (zone, part) in enumerate(zip(spec.zones, parts, strict=False))
    )
