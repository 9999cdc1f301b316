"""What is made on a data plane: as a membership of a mesh document, or as a document of its user alone."""

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
    LabelValue,
    MeshName,
    Model,
    PemCertificate,
    QualifiedName,
    Text,
)
from pulumi_hosted_mesh.spec.istiod import Scheduling
from pulumi_hosted_mesh.spec.reserved import GatewayValues, RemoteValues
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP, cluster_id_of

LONGEST_RELEASE_NAME = 53


class WebhookManagement(StrEnum):
    """Who installs the webhook configurations on the data plane."""

    MANAGED = "managed"
    UNMANAGED = "unmanaged"


class FailurePolicy(StrEnum):
    """What the API server does with a request when a webhook does not answer."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class Webhooks(Model):
    """The data plane's API server asks istiod, by URL: about Pods (injection) and Istio objects (validation)."""

    management: WebhookManagement = WebhookManagement.MANAGED
    """`unmanaged` creates none; the output `webhook_manifests` is then exactly what to install."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=30)] = 10
    """How long the API server waits for an answer, in seconds."""
    injection_failure_policy: FailurePolicy = FailurePolicy.FAIL
    """`Fail`: no Pod of the mesh starts without its sidecar. `Ignore`: Pods start, but outside the mesh."""
    validation_failure_policy: FailurePolicy = FailurePolicy.FAIL
    """`Fail`: Istio objects cannot be changed while istiod is down. `Ignore`: they are accepted unchecked."""


class TokenKind(StrEnum):
    """Where istiod's token comes from."""

    LONG_LIVED = "long-lived"
    BOUNDED = "bounded"


class Access(Model):
    """istiod's credential on the data plane."""

    api_server: ApiServer | None = None
    """Address of the data plane's API server as istiod's Pods reach it, `https://HOST:PORT`; by default the one in the
    kubeconfig of `cluster`."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify that address; by default those in the kubeconfig."""
    features: Features = Features()
    """What istiod is granted beside the least; a revision may have on no more than this."""
    token: TokenKind = TokenKind.LONG_LIVED
    """`long-lived`: a Secret of the data plane with a token that does not expire. `bounded`: no token is made here;
    somebody renews one (`hosted-mesh token`) and gives the kubeconfig to the stack `control-plane`."""
    token_generation: Annotated[int, Field(strict=True, ge=1)] = 1
    """Raise it by one to replace the long-lived token: the new one is in use before the old one is removed."""
    keep_previous_token: Annotated[bool, Field(strict=True)] = False
    """True keeps the last generation's token valid: for a rotation in steps, stack by stack."""
    root_certificate_owner: Annotated[bool, Field(strict=True)] = True
    """True lets the cluster remove with the mesh what istiod wrote into each namespace, its root certificate. It needs
    MutatingAdmissionPolicy (Kubernetes 1.36); with false `hosted-mesh leftovers --remove` does it."""


class Crds(Model):
    """Istio's custom resource definitions, one set per cluster. They are the cluster's, not the mesh's."""

    install: Annotated[bool, Field(strict=True)] = True
    """False where the stack `cluster`, or somebody else, installs them."""
    keep_on_destroy: Annotated[bool, Field(strict=True)] = True
    """False removes them, and with them every Istio object in the cluster, when the stack, this mesh or this membership
    goes, when the mesh gets another name, and with `install: false`. To keep them: true, and `pulumi up`, first."""


def gateway_name(value: str) -> str:
    """The gateway chart names a Deployment, a Service and a ServiceAccount by it."""
    if not value[0].isalpha():
        raise RuleBrokenError("must begin with a letter, for its Service is named after it", "Choose another name")
    if len(value) > LONGEST_RELEASE_NAME:
        rule = f"must have at most {LONGEST_RELEASE_NAME} characters, for it is also the name of a Helm release"
        raise RuleBrokenError(rule, "Choose a shorter name")
    # In the mesh's namespace istiod's ServiceAccount is `istiod`, and the Service that leads to it `istiod` or
    # `istiod-<revision>`. `default` is the ServiceAccount that Kubernetes makes in every namespace.
    if value in ("istiod", "default") or value.startswith("istiod-"):
        rule = "is taken: `istiod`, all that begins with `istiod-`, and `default` name other objects of the namespace"
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
    """Name of the port; Istio reads the protocol from its beginning, `https-shop`."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)]
    """Port of the Service."""
    target_port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = None
    """Port of the gateway's Pods; by default the same."""


class GatewayService(Model):
    """The Service of a gateway."""

    type: ServiceType | None = None
    """`LoadBalancer`, `ClusterIP` or `NodePort`; by default the chart's, `LoadBalancer`."""
    annotations: dict[QualifiedName, Text] = {}
    """Annotations, where a cloud's load balancer wants some."""
    ports: tuple[GatewayPort, ...] = ()
    """Ports; by default the chart's: 15021, 80 and 443."""
    load_balancer_class: QualifiedName | None = None
    """`spec.loadBalancerClass`."""
    source_ranges: tuple[Cidr, ...] = ()
    """Addresses that may connect, in CIDR form; empty means all."""


class Gateway(Model):
    """A gateway on the data plane, by Istio's gateway chart. It runs a proxy and nothing of the control plane."""

    name: Annotated[DnsLabel, AfterValidator(gateway_name)]
    """Name of the Deployment, Service and ServiceAccount, unique within the mesh; not `default` or one of istiod's."""
    namespace: DnsLabel | None = None
    """Its namespace, which must exist; by default the mesh's own."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """A fixed number of Pods; by default the chart's autoscaler decides, from 2 on. Of two or more one goes at a time
    while a node is drained (PodDisruptionBudget), and they are spread over nodes."""
    service: GatewayService = GatewayService()
    """Its Service."""
    scheduling: Scheduling = Scheduling()
    """Where its Pods may run."""
    image_pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of Secrets in its namespace with a registry's login."""
    chart_values: GatewayValues = {}
    """More values for the gateway chart; an escape hatch. What has a field here is refused."""


class DataPlaneSettings(Model):
    """What is made on one data plane, whoever writes it down."""

    cluster: ClusterReference | None = None
    """The data plane's cluster. Not needed by the stacks of the control plane."""
    access: Access = Access()
    """How istiod reads this cluster, and what it may do there."""
    webhooks: Webhooks = Webhooks()
    """Injection and validation."""
    gateways: tuple[Gateway, ...] = ()
    """Gateways to run there."""
    chart_values: RemoteValues = {}
    """More values for the istiod chart with the remote profile; an escape hatch. What the split sets is refused."""

    @model_validator(mode="after")
    def _gateways_have_names_of_their_own(self) -> Self:
        names = [gateway.name for gateway in self.gateways]
        if len(set(names)) != len(names):
            raise RuleBrokenError("gateways has two gateways of one name", "Give each its own name")
        return self


class Member(DataPlaneSettings):
    """One data plane's cluster and what Istio calls it, which both sides' documents say alike."""

    name: DnsLabel = DEFAULT_MEMBERSHIP
    """What the control plane calls this cluster within the mesh; unique there."""
    cluster_id: LabelValue | None = None
    """Istio's name of this cluster in telemetry and endpoints; by default `<mesh>`, and `<mesh>-<name>` if it has a
    name."""
    network: LabelValue | None = None
    """Istio's name of this cluster's network; by default the same as `clusterId`: Pods of clusters with one network
    reach each other directly."""

    def cluster_id_in(self, mesh: str) -> str:
        """Istio's name of the cluster. mesh: its name."""
        return self.cluster_id or cluster_id_of(mesh, self.name)

    def network_in(self, mesh: str) -> str:
        """Istio's name of the network. mesh: its name."""
        return self.cluster_id_in(mesh) if self.network is None else self.network


class Membership(Member):
    """One data plane's cluster in a mesh. The first is the config cluster, whose Istio objects hold in all."""

    cluster_domain: Domain = "cluster.local"
    """DNS domain of the cluster; the same for all clusters of a mesh."""
    crds: Crds = Crds()
    """Istio's custom resource definitions, where one program makes the whole mesh: whether to install and whether to
    keep them. With separate stacks they are the stack `cluster`'s."""


class DataPlane(Member):
    """The data plane's own document: all that its user decides, and nothing of the control plane's."""

    mesh: MeshName
    """Name of the mesh, which also names its namespace, `mesh-<name>`."""
    charts: ChartSource = ChartSource()
    """Where Istio's charts and images come from; their version is the control plane's."""
