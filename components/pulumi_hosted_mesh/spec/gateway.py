"""The gateway that all meshes of a control plane's cluster share: its document, and its facts for meshes' stacks."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.dns_fields import NOT_EMPTY, ImageReference
from pulumi_hosted_mesh.spec.exposure import Allowed
from pulumi_hosted_mesh.spec.fields import Cidr, DnsLabel, Domain, Model, Port, QualifiedName, Setter, Switch, Text
from pulumi_hosted_mesh.spec.istiod import Resources, Scheduling
from pulumi_hosted_mesh.vocabulary import HTTPS_PORT, PYTHON_IMAGE, WEBHOOK_PORT, XDS_PORT


def zone(value: str) -> str:
    """A domain with room for hosts below it, and not a public suffix alone."""
    if "." not in value:
        rule = "has one label, so every host of that top-level domain would be the gateway's"
        raise RuleBrokenError(rule, "Write it like meshes.example.com")
    return value


def gateway_port(value: int) -> int:
    if value not in PORTS:
        raise RuleBrokenError(f"must be one of {', '.join(map(str, PORTS))}", "Choose one of these")
    return value


PORTS: Final = (HTTPS_PORT, XDS_PORT, WEBHOOK_PORT)
GatewayPort = Annotated[int, Field(strict=True), AfterValidator(gateway_port)]


class GatewayNetworkPolicy(Model):
    """Allowed connections to the gateway's Pods inside the cluster, and from them."""

    metrics_from: tuple[DnsLabel, ...] = ()
    """Namespaces with access to the metrics of Envoy (port 15090) and of the sidecar (15091)."""
    dns_ports: Annotated[tuple[Port, ...], NOT_EMPTY] = (53,)
    """Ports of the cluster's DNS Pods, UDP and TCP. Add 5353 on OpenShift."""
    api_server_ports: Annotated[tuple[Port, ...], NOT_EMPTY] = (443, 6443)
    """Ports of this cluster's API server, which the sidecar reads."""


class GatewayImages(Model):
    """Images of the gateway's Pods."""

    envoy: ImageReference = "docker.io/envoyproxy/envoy:v1.40.0"
    """Envoy, 1.40, with `cp`: an init container copies the program to the sidecar, which validates with it."""
    python: ImageReference = PYTHON_IMAGE
    """An image with python3 (3.11 or later) on PATH. It runs the sidecar's source from a ConfigMap."""
    sidecar: ImageReference | None = None
    """An image built from agents/gateway_sidecar/Dockerfile; replaces `python` and the ConfigMap."""


class GatewaySettings(Allowed):
    """One entry for many meshes: Envoy, which passes TLS through by its server name. It holds no key.

    `sourceRanges` and `openToAll` limit its load balancer. Each mesh has ranges of its own besides.
    """

    setter = Setter.OPERATOR

    zones: Annotated[tuple[Annotated[Domain, AfterValidator(zone)], ...], NOT_EMPTY]
    """Domains of the meshes' hosts. A host outside of them is rejected."""
    namespace: DnsLabel = "hosted-mesh-gateway"
    """Namespace of its Pods, and of one ConfigMap for each host."""
    ports: Annotated[tuple[GatewayPort, ...], NOT_EMPTY] = (HTTPS_PORT,)
    """Its ports: 443 for all, 15012 and 15017 for meshes with both functions under one name."""
    proxy_protocol_from: tuple[Cidr, ...] = ()
    """Addresses of load balancers that send a PROXY header with the client's address. All connections must come from
    one of them then. Leave it empty if the load balancer keeps the client's address."""
    publish_name: Switch = True
    """True sets external-dns' annotation, which publishes `*.<zone>` for each zone: a new mesh needs no new record."""
    annotations: dict[QualifiedName, Text] = {}
    """More annotations for the Service, for example for a cloud's load balancer."""
    load_balancer_class: QualifiedName | None = None
    """`spec.loadBalancerClass` of the Service."""
    allocate_node_ports: Switch = False
    """Set true if the load balancer requires NodePorts. `sourceRanges` do not limit access to NodePorts."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=20)] = 2
    """Number of Pods. Two or more are spread over nodes, and a PodDisruptionBudget keeps all but one."""
    resources: Resources = Resources()
    """CPU and memory of Envoy in each Pod."""
    scheduling: Scheduling = Scheduling()
    """Constraints on its Pods' nodes."""
    connections: Annotated[int, Field(strict=True, ge=100, le=1_000_000)] = 20_000
    """Open connections of all meshes, per Pod. Further ones are closed."""
    handshake_seconds: Annotated[int, Field(strict=True, ge=1, le=60)] = 5
    """Seconds until a connection without a TLS server name is closed."""
    drain_seconds: Annotated[int, Field(strict=True, ge=0, le=300)] = 5
    """Seconds for which an ending Pod still serves, until the load balancer sends it no new connections."""
    network_policy: GatewayNetworkPolicy = GatewayNetworkPolicy()
    """The NetworkPolicy of its namespace."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of the control plane's cluster."""
    images: GatewayImages = GatewayImages()
    """Images of its Pods."""
    wait_until_ready: Switch = True
    """False: `pulumi up` does not wait for the Pods and the load balancer's address."""

    @property
    def facts(self) -> GatewayFacts:
        """The facts for meshes' stacks."""
        return GatewayFacts(namespace=self.namespace, zones=self.zones, ports=self.ports)


class GatewayFacts(Model):
    """The facts of the shared gateway for a mesh's stack: public."""

    setter = Setter.OPERATOR

    namespace: DnsLabel
    """Namespace of the gateway."""
    zones: Annotated[tuple[Domain, ...], NOT_EMPTY]
    """Domains of the meshes' hosts."""
    ports: Annotated[tuple[GatewayPort, ...], NOT_EMPTY]
    """Ports with a listener."""


class GatewayStack(Model):
    """The shared gateway of a control plane's cluster: the stack `gateway`."""

    setter = Setter.OPERATOR

    cluster: ClusterReference
    """The control plane's cluster."""
    gateway: GatewaySettings
    """The gateway."""
