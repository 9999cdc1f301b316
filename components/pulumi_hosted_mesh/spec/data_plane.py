"""The settings of a data plane: a membership of a mesh document, or the user's own document."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.charts import ChartSource
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import (
    ApiServer,
    Cidr,
    DnsLabel,
    Domain,
    HostName,
    LabelValue,
    MeshName,
    Model,
    PemCertificate,
    Port,
    ProxyUrl,
    QualifiedName,
    SetBy,
    Setter,
    Switch,
    Text,
)
from pulumi_hosted_mesh.spec.istiod import Scheduling
from pulumi_hosted_mesh.spec.reserved import GatewayValues, RemoteValues
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP, cluster_id_of

LONGEST_RELEASE_NAME = 53
OWNERS = SetBy(Setter.OWNER)
BOTH = SetBy(Setter.BOTH)


class WebhookManagement(StrEnum):
    """The installer of the data plane's webhook configurations."""

    MANAGED = "managed"
    UNMANAGED = "unmanaged"


class FailurePolicy(StrEnum):
    """The API server's reaction to a webhook without answer."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class Webhooks(Model):
    """The webhooks by which the data plane's API server calls istiod: injection of Pods, validation of objects."""

    management: WebhookManagement = WebhookManagement.MANAGED
    """`unmanaged` creates none: install the manifests of the output `webhook_manifests`."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=30)] = 10
    """Timeout of a webhook call, in seconds."""
    injection_failure_policy: FailurePolicy = FailurePolicy.FAIL
    """`Fail`: no Pod of the mesh starts without its sidecar. `Ignore`: while istiod is down, Pods start outside the
    mesh."""
    validation_failure_policy: FailurePolicy = FailurePolicy.FAIL
    """`Fail`: Istio objects cannot be changed while istiod is down. `Ignore`: the API server accepts them unchecked."""


class TokenKind(StrEnum):
    """The kind of istiod's token."""

    LONG_LIVED = "long-lived"
    BOUNDED = "bounded"


class Access(Model):
    """istiod's credential on the data plane."""

    setter = Setter.BOTH

    api_server: ApiServer | None = None
    """Address of the data plane's API server for istiod's Pods, `https://HOST:PORT`; by default the address in the
    kubeconfig of `cluster`."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify that address; by default the kubeconfig's certificates."""
    proxy_url: ProxyUrl | None = None
    """HTTP proxy between istiod's Pods and the API server, `http://HOST:PORT`, by CONNECT. It sees no content. istiod
    never takes one from the data plane's kubeconfig."""
    proxy_egress_ranges: tuple[Cidr, ...] = ()
    """Source addresses of that proxy's connections, in CIDR form, for the output `api_server_clients`."""
    tls_server_name: HostName | None = None
    """Name in the API server's certificate, if it has another than the host of its address."""
    features: Features = Features()
    """Rights of istiod beyond the least. A revision's `features` must be among them."""
    token: TokenKind = TokenKind.LONG_LIVED
    """`long-lived`: a Secret of the data plane with a token that does not expire. `bounded`: this program makes no
    token. Renew one with `hosted-mesh token`, and give its kubeconfig to the stack `control-plane`."""
    token_generation: Annotated[int, Field(strict=True, ge=1), OWNERS] = 1
    """Raise it by one to replace the long-lived token. istiod uses the new token before the old token is removed."""
    keep_previous_token: Annotated[Switch, OWNERS] = False
    """True keeps the previous generation's token valid, for a rotation stack by stack."""
    root_certificate_owner: Annotated[Switch | None, OWNERS] = None
    """True: the cluster removes the root certificate that istiod writes into each namespace together with the mesh.
    Requires MutatingAdmissionPolicy (Kubernetes 1.36). With false, run `hosted-mesh leftovers --remove`. By default
    true where the API server has that kind; a run without an answer from it is rejected before the first object."""

    @model_validator(mode="after")
    def _a_proxys_ranges_have_a_proxy(self) -> Self:
        if self.proxy_egress_ranges and not self.proxy_url:
            rule = "proxyEgressRanges are of a proxy, but proxyUrl is missing"
            raise RuleBrokenError(rule, "Set proxyUrl, or write the ranges to controlPlane.egressRanges")
        return self


class Crds(Model):
    """Istio's custom resource definitions. All meshes of a cluster share one set."""

    install: Switch = True
    """Set false if the stack `cluster` or another program installs them."""
    keep_on_destroy: Switch = True
    """False removes them, and with them every Istio object in the cluster: together with the stack, mesh or membership,
    when the mesh is renamed, and by `install: false`. To keep them, first set true and run `pulumi up`."""


def gateway_name(value: str) -> str:
    """A gateway's name: the gateway chart uses it for a Deployment, a Service and a ServiceAccount."""
    if not value[0].isalpha():
        raise RuleBrokenError("must begin with a letter: its Service has the same name", "Choose another name")
    if len(value) > LONGEST_RELEASE_NAME:
        rule = f"must have at most {LONGEST_RELEASE_NAME} characters: it is also the name of a Helm release"
        raise RuleBrokenError(rule, "Choose a shorter name")
    # In the mesh's namespace istiod's ServiceAccount is `istiod`, and its Service `istiod` or `istiod-<revision>`.
    # `default` is the ServiceAccount that Kubernetes makes in every namespace.
    if value in ("istiod", "default") or value.startswith("istiod-"):
        rule = "is taken: `istiod`, `istiod-...` and `default` are names of other objects of the namespace"
        raise RuleBrokenError(rule, "Choose another name, for example ingress")
    return value


class ServiceType(StrEnum):
    """Type of a gateway's Service."""

    LOAD_BALANCER = "LoadBalancer"
    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"


class GatewayPort(Model):
    """A port of a gateway's Service."""

    name: DnsLabel
    """Name of the port. Istio takes the protocol from its prefix, as in `https-shop`."""
    port: Port
    """Port of the Service."""
    target_port: Port | None = None
    """Port of the gateway's Pods; by default the value of `port`."""


class GatewayService(Model):
    """The Service of a gateway."""

    type: ServiceType | None = None
    """`LoadBalancer`, `ClusterIP` or `NodePort`; by default the chart's value, `LoadBalancer`."""
    annotations: dict[QualifiedName, Text] = {}
    """Annotations, for example for a cloud's load balancer."""
    ports: tuple[GatewayPort, ...] = ()
    """Ports; by default the chart's ports: 15021, 80 and 443."""
    load_balancer_class: QualifiedName | None = None
    """`spec.loadBalancerClass`."""
    source_ranges: tuple[Cidr, ...] = ()
    """Allowed client addresses, in CIDR form. An empty list allows all."""


class Gateway(Model):
    """A gateway on the data plane, by Istio's gateway chart. It runs a proxy only."""

    name: Annotated[DnsLabel, AfterValidator(gateway_name)]
    """Name of the Deployment, Service and ServiceAccount, unique within the mesh. `default`, `istiod` and `istiod-...`
    are reserved."""
    namespace: DnsLabel | None = None
    """Its namespace, which must exist; by default the mesh's namespace."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """A fixed number of Pods; by default the chart's autoscaler sets it, at least 2. Two or more Pods are spread over
    nodes, and a PodDisruptionBudget allows one eviction at a time."""
    service: GatewayService = GatewayService()
    """Its Service."""
    scheduling: Scheduling = Scheduling()
    """Constraints on its Pods' nodes."""
    image_pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of Secrets with registry credentials, in its namespace."""
    chart_values: GatewayValues = {}
    """More values for the gateway chart; an escape hatch. Values with a field in this document are rejected."""


class DataPlaneSettings(Model):
    """The settings of one data plane, in either document."""

    cluster: Annotated[ClusterReference | None, OWNERS] = None
    """The data plane's cluster. Not required by the control plane's stacks."""
    access: Access = Access()
    """istiod's credential on this cluster, and its rights there."""
    webhooks: Annotated[Webhooks, OWNERS] = Webhooks()
    """The injection and validation webhooks."""
    gateways: Annotated[tuple[Gateway, ...], OWNERS] = ()
    """Gateways on this cluster."""
    chart_values: Annotated[RemoteValues, OWNERS] = {}
    """More values for the istiod chart with the remote profile; an escape hatch. Values that the library sets are
    rejected."""

    @model_validator(mode="after")
    def _gateways_have_names_of_their_own(self) -> Self:
        names = [gateway.name for gateway in self.gateways]
        if len(set(names)) != len(names):
            raise RuleBrokenError("gateways has two gateways of one name", "Give each gateway its own name")
        return self


class Member(DataPlaneSettings):
    """One data plane's cluster, with the names that both sides' documents share."""

    name: Annotated[DnsLabel, BOTH] = DEFAULT_MEMBERSHIP
    """The control plane's name of this cluster; unique within the mesh."""
    cluster_id: Annotated[LabelValue | None, BOTH] = None
    """Istio's cluster ID, in telemetry and endpoints; by default `<mesh>`, or `<mesh>-<name>` if `name` is set."""
    network: Annotated[LabelValue | None, BOTH] = None
    """Istio's name of this cluster's network; by default the value of `clusterId`. Pods of clusters with one network
    reach each other directly."""

    def cluster_id_in(self, mesh: str) -> str:
        """Istio's cluster ID. mesh: the mesh's name."""
        return self.cluster_id or cluster_id_of(mesh, self.name)

    def network_in(self, mesh: str) -> str:
        """Istio's name of the network. mesh: the mesh's name."""
        return self.cluster_id_in(mesh) if self.network is None else self.network


class Membership(Member):
    """One data plane's cluster in a mesh. The first is the config cluster: its Istio objects apply to all."""

    cluster_domain: Domain = "cluster.local"
    """DNS domain of the cluster; the same for all clusters of a mesh."""
    crds: Annotated[Crds, OWNERS] = Crds()
    """Installation and removal of Istio's custom resource definitions, for one program with the whole mesh. With
    separate stacks, the stack `cluster` has these settings."""


class DataPlane(Member):
    """The data plane's document: the user's settings, none of the control plane's."""

    setter = Setter.OWNER

    mesh: Annotated[MeshName, BOTH]
    """Name of the mesh. Its namespace is `mesh-<name>`."""
    charts: ChartSource = ChartSource()
    """The source of Istio's charts and images. Their version is the control plane's."""
