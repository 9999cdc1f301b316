"""The inventory: clusters with their meshes and gateways, and the clusters of each service."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import (
    DnsLabel,
    Domain,
    LabelValue,
    MeshName,
    Model,
    Port,
    QualifiedName,
    Setter,
    Text,
)
from pulumi_hosted_mesh.spec.intents import IpAddress, MeshType, WireProtocol
from pulumi_hosted_mesh.vocabulary import namespace_of


class GatewayRole(StrEnum):
    """The direction of a gateway's traffic."""

    INGRESS = "ingress"
    EGRESS = "egress"
    EAST_WEST = "east-west"


class EntryType(StrEnum):
    """The way from outside to an entry gateway."""

    LOAD_BALANCER = "load-balancer"
    NAT = "nat"


class NamesType(StrEnum):
    """The publisher of inbound hosts."""

    DNS_BRIDGE = "dns-bridge"
    WEBHOOK = "webhook"


class InventoryGateway(Model):
    """A gateway of a cluster."""

    name: DnsLabel
    """Name of its Deployment, Service and ServiceAccount, and the value of its label `app`."""
    namespace: DnsLabel | None = None
    """Its namespace; by default the mesh's, `mesh-<mesh>`."""
    role: GatewayRole
    """Direction of its traffic."""
    port: Port = 15443
    """For egress and east-west: its port."""
    ports: dict[MeshName, Port] = {}
    """For egress: other ports, by peer of a federation: for peers that serve one service."""
    addresses: tuple[IpAddress, ...] = ()
    """Its addresses, as callers from outside, or the NAT box, reach it."""
    public_addresses: tuple[IpAddress, ...] = ()
    """For `nat`: the addresses of the NAT box."""


class InventoryCluster(Model):
    """A cluster: one member of a mesh."""

    name: DnsLabel
    """Its name; also Istio's id of the cluster."""
    mesh: MeshName
    """The mesh."""
    trust_domain: Domain | None = None
    """The mesh's trust domain; by default `<mesh>.mesh.local`."""
    network: LabelValue | None = None
    """Istio's name of the network; by default the mesh's."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of Services."""
    config: bool = False
    """Whether istiod reads Istio's objects here; by default in the first cluster of each mesh."""
    service_mesh: MeshType = MeshType.ISTIO
    """The API of routes."""
    entry: EntryType = EntryType.LOAD_BALANCER
    """The way from outside to entry gateways."""
    names: NamesType = NamesType.DNS_BRIDGE
    """The way of inbound hosts into DNS."""
    injection_labels: dict[QualifiedName, LabelValue] = {"sidecar.istio.io/inject": "true"}
    """Labels that inject a proxy, for dedicated gateways."""
    gateways: tuple[InventoryGateway, ...] = ()
    """Its gateways."""

    @property
    def domain(self) -> str:
        """The trust domain."""
        return self.trust_domain or f"{self.mesh}.mesh.local"

    @property
    def root_namespace(self) -> str:
        """The mesh's namespace, whose policies are for all namespaces."""
        return namespace_of(self.mesh)


class PlacedPort(Model):
    """A port of a Service."""

    port: Port
    """Its number."""
    protocol: WireProtocol = WireProtocol.HTTP
    """Its protocol."""
    target_port: Port | None = None
    """Port of the Pods; by default the same. For policies of a Service with several ports, and Services by version."""


class PlacedService(Model):
    """A Service, and the clusters where it runs."""

    name: DnsLabel
    """Its name."""
    namespace: DnsLabel
    """Its namespace."""
    clusters: tuple[DnsLabel, ...] = ()
    """Clusters where it runs. None: not placed yet, and its intents are pending."""
    service_account: DnsLabel | None = None
    """ServiceAccount of its Pods; by default `default`."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels that select its Pods; by default `app: <name>`."""
    versions: tuple[LabelValue, ...] = ()
    """Values of the label `version`."""
    ports: tuple[PlacedPort, ...] = ()
    """Its ports."""

    @property
    def account(self) -> str:
        """The ServiceAccount of its Pods."""
        return self.service_account or "default"

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select its Pods."""
        return dict(self.labels) or {"app": self.name}

    def pod_port(self, port: int) -> int:
        """The Pods' port behind a port of the Service."""
        return next((one.target_port or one.port for one in self.ports if one.port == port), port)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name


def two_or_more(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(values) < 2:
        raise RuleBrokenError("needs two or more meshes", "Add one, or leave the federation out")
    return values


class InventoryFederation(Model):
    """Meshes that a federation joins."""

    name: DnsLabel
    """Its name."""
    domain: Domain
    """DNS suffix of exported services."""
    meshes: Annotated[tuple[MeshName, ...], AfterValidator(two_or_more)]
    """Its meshes."""


class Inventory(Model):
    """Clusters and the placement of services, without a credential."""

    setter = Setter.OWNER

    clusters: tuple[InventoryCluster, ...]
    """The clusters."""
    services: tuple[PlacedService, ...] = ()
    """The services."""
    federations: tuple[InventoryFederation, ...] = ()
    """Federations of the meshes."""
    source: Text | None = None
    """The origin of this file, for people."""

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        for part, names in (
            ("clusters", [one.name for one in self.clusters]),
            ("services", [f"{one.namespace}/{one.name}" for one in self.services]),
            ("federations", [one.name for one in self.federations]),
        ):
            if len(set(names)) < len(names):
                repeated = next(name for at, name in enumerate(names) if name in names[:at])
                raise RuleBrokenError(f"{part} has two with the name {repeated}", "Make them one, or rename one")
        return self

    @model_validator(mode="after")
    def _references_exist(self) -> Self:
        clusters, meshes = {one.name for one in self.clusters}, {one.mesh for one in self.clusters}
        for service in self.services:
            if missing := sorted(set(service.clusters) - clusters):
                rule = f"services has {service.namespace}/{service.name} in {missing[0]}, which is no cluster here"
                raise RuleBrokenError(rule, "Add it to clusters, or correct the name")
        for federation in self.federations:
            if absent := sorted(set(federation.meshes) - meshes):
                rule = f"federation {federation.name} names mesh {absent[0]}, which has no cluster here"
                raise RuleBrokenError(rule, "Add a cluster of it, or correct the name")
        domains: dict[str, str] = {}
        for cluster in self.clusters:
            if domains.setdefault(cluster.mesh, cluster.domain) != cluster.domain:
                rule = f"clusters of mesh {cluster.mesh} have different trust domains"
                raise RuleBrokenError(rule, "Give all members of a mesh one trustDomain")
        return self
