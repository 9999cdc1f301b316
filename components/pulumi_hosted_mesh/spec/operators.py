"""The document of hosted operators: OLM beside a hosted cluster's control plane, its catalogs and Subscriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from pulumi_hosted_mesh import canonical, yaml_text
from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.dns_fields import NOT_EMPTY, ImageReference
from pulumi_hosted_mesh.spec.exposure import Allowed
from pulumi_hosted_mesh.spec.fields import (
    ApiServer,
    Cidr,
    Cpu,
    DnsLabel,
    Domain,
    HostName,
    LabelValue,
    Memory,
    Model,
    Port,
    QualifiedName,
    Revision,
    Setter,
    Switch,
    Text,
    dns_label,
    domain,
    host_name,
    refuse_same_names,
)
from pulumi_hosted_mesh.spec.istiod import Resources
from pulumi_hosted_mesh.spec.reasons import UpgradeReason

PREFIX: Final = "operators-"
LONGEST_NAME: Final = 63 - len(PREFIX)
LONGEST_CONTENT: Final = 1_000_000
"""Characters of a catalog in a ConfigMap: an object's limit is 1 MiB with its metadata."""
VERSION: Final = re.compile(r"1\.(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]*))?")
OLM_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def hosted_cluster(value: str) -> str:
    """The name of a hosted cluster."""
    dns_label(value)
    if len(value) > LONGEST_NAME:
        rule = f"must have at most {LONGEST_NAME} characters: the namespace is {PREFIX}<name>"
        raise RuleBrokenError(rule, "Choose a shorter name")
    return value


def kubernetes_version(value: str) -> str:
    """A version of Kubernetes, with or without the patch."""
    if not VERSION.fullmatch(value):
        raise RuleBrokenError("must be a version of Kubernetes without v", 'Write it like "1.36" or "1.36.3"')
    return value


def catalog_address(value: str) -> str:
    """`host:port` of a served catalog, with a name that means the same in both clusters."""
    found = canonical.host_and_port(value)
    if found is None:
        raise RuleBrokenError("must be HOST:PORT", "Write it like catalog.example.com:50051")
    host_name(found[0])
    return value


def olm_name(value: str) -> str:
    """The name of a channel or a ClusterServiceVersion."""
    if not OLM_NAME.fullmatch(value) or len(value) > 253:
        rule = "must be at most 253 letters, digits, '-', '_' and '.', a letter or digit at both ends"
        raise RuleBrokenError(rule, "Copy it from the catalog")
    return value


def operand_group(value: str) -> str:
    """An API group, or `*`."""
    return value if value == "*" else domain(value)


HostedClusterName = Annotated[Text, AfterValidator(hosted_cluster)]
KubernetesVersion = Annotated[Text, AfterValidator(kubernetes_version)]
CatalogAddress = Annotated[Text, AfterValidator(catalog_address)]
OlmName = Annotated[Text, AfterValidator(olm_name)]
OperandGroup = Annotated[Text, AfterValidator(operand_group)]


class Approval(StrEnum):
    """Approval of a Subscription's InstallPlans."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


class TolerationOperator(StrEnum):
    """Comparison of a toleration's value with a taint's."""

    EXISTS = "Exists"
    EQUAL = "Equal"


class TaintEffect(StrEnum):
    """Effect of a taint."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class OperatorToleration(Model):
    """One toleration of operators' Pods."""

    key: QualifiedName
    """Key of the taint."""
    operator: TolerationOperator = TolerationOperator.EXISTS
    """`Equal` also compares the value."""
    value: LabelValue = ""
    """Value of the taint, with `Equal`."""
    effect: TaintEffect | None = None
    """Effect of the taint; by default all effects."""

    @model_validator(mode="after")
    def _value_is_compared(self) -> Self:
        if self.value and self.operator is TolerationOperator.EXISTS:
            raise RuleBrokenError("has a value with operator Exists", "Set operator: Equal, or leave value out")
        return self


class OperatorPlacement(Model):
    """Nodes of operators' Pods in the hosted cluster, from their first Pod on."""

    node_selector: dict[QualifiedName, LabelValue] = {}
    """Labels that a node must have. An operator's own selector stays, with these labels added."""
    tolerations: tuple[OperatorToleration, ...] = ()
    """Tolerated taints, added to an operator's own."""

    @property
    def is_set(self) -> bool:
        """Whether it places anything."""
        return bool(self.node_selector or self.tolerations)


OLM_IMAGE: Final = "quay.io/operator-framework/olm:v0.38.0"


class OperatorImages(Model):
    """Images of the control plane's Pods, and of unpack Jobs in the hosted cluster."""

    olm: ImageReference = OLM_IMAGE
    """Image of olm-operator."""
    catalog: ImageReference = OLM_IMAGE
    """Image of catalog-operator."""
    package_server: ImageReference = OLM_IMAGE
    """Image of packageserver."""
    opm: ImageReference = "quay.io/operator-framework/opm:v1.64.0"
    """Image of opm: it serves catalogs with `content`, and unpacks bundles in the hosted cluster."""
    unpack: ImageReference = OLM_IMAGE
    """Image of OLM's utility in unpack Jobs of the hosted cluster."""
    tunnel_server: ImageReference = "registry.k8s.io/kas-network-proxy/proxy-server:v0.34.0"
    """Image of the tunnel's server (konnectivity) on the control plane."""
    tunnel_agent: ImageReference = "registry.k8s.io/kas-network-proxy/proxy-agent:v0.34.0"
    """Image of the tunnel's agent (konnectivity) in the hosted cluster."""
    envoy: ImageReference = "docker.io/envoyproxy/envoy:v1.40.0"
    """Image of Envoy, which filters the tunnel's connections on the control plane."""
    set_commands: Switch = True
    """True sets the commands of OLM's own images: `/bin/olm`, `/bin/catalog`, `/bin/package-server`, `/bin/opm`. False
    uses the images' entrypoints."""


class PackageServerExposure(Allowed):
    """The Service of packageserver for the hosted cluster's API server. `sourceRanges` are that API server's."""

    host: HostName
    """DNS name of its load balancer. The hosted cluster's API server resolves it."""
    port: Port = 443
    """Port of the load balancer."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=5)] = 2
    """Number of Pods. Without any, a deleted namespace of the hosted cluster stays Terminating."""
    publish_name: Switch = True
    """True sets external-dns' annotation, which publishes the host with the load balancer's address."""
    annotations: dict[QualifiedName, Text] = {}
    """More annotations for the Service."""


class OperatorTunnel(Allowed):
    """A tunnel from the control plane to the hosted cluster's catalogs: it makes a CatalogSource with an image work.

    Its agent is the one Pod of the provider in the hosted cluster. `sourceRanges` are the outgoing addresses of the
    hosted cluster's nodes.
    """

    host: HostName
    """DNS name of the tunnel's load balancer. The hosted cluster's Pods resolve it."""
    port: Port = 8132
    """Port of the load balancer."""
    publish_name: Switch = True
    """True sets external-dns' annotation, which publishes the host with the load balancer's address."""
    annotations: dict[QualifiedName, Text] = {}
    """More annotations for the Service."""
    ports: Annotated[tuple[Port, ...], NOT_EMPTY] = (50051,)
    """Ports of the hosted cluster's catalogs that the tunnel connects to. OLM's catalogs have 50051."""
    dns_ports: Annotated[tuple[Port, ...], NOT_EMPTY] = (53,)
    """Ports of the hosted cluster's DNS Pods, UDP and TCP: add 5353 on OpenShift."""
    cluster_domain: Domain = "cluster.local"
    """DNS domain of the control plane's cluster. Names under it are the control plane's, short `.svc` names the hosted
    cluster's."""


class OperatorsNetworkPolicy(Model):
    """Allowed connections of OLM's Pods. All others are closed: catalogs' names and addresses come from the user."""

    api_server_ranges: Annotated[tuple[Cidr, ...], NOT_EMPTY]
    """Addresses of the hosted cluster's API server, in CIDR form."""
    catalog_ranges: tuple[Cidr, ...] = ()
    """Addresses of catalogs outside of the namespace, such as exposed catalogs of the user, in CIDR form."""
    catalog_ports: Annotated[tuple[Port, ...], NOT_EMPTY] = (50051,)
    """Ports of those catalogs."""
    dns_ports: Annotated[tuple[Port, ...], NOT_EMPTY] = (53,)
    """Ports of the cluster's DNS Pods, UDP and TCP: add 5353 on OpenShift."""


class OperatorCatalog(Model):
    """One of the provider's catalogs, a CatalogSource of the hosted cluster: with an image, content or address.

    A user's own catalog is a CatalogSource with an image, made by the user: its Pod runs in the hosted cluster.
    """

    name: DnsLabel
    """Name of the CatalogSource."""
    image: ImageReference | None = None
    """Image with a file-based catalog in /configs and `opm` as its entrypoint. It runs on the control plane."""
    content: Text | None = None
    """A file-based catalog, in YAML or JSON. `images.opm` serves it on the control plane."""
    address: CatalogAddress | None = None
    """`HOST:PORT` of a catalog that is served elsewhere. `networkPolicy.catalogRanges` must contain it."""
    display_name: Text | None = None
    """Name for people; by default `name`."""
    publisher: Text = "hosted-mesh"
    """Publisher for people."""
    priority: Annotated[int, Field(strict=True)] = 0
    """Of two catalogs with one package, OLM takes the one with the higher priority."""
    listed: Switch = True
    """False: the catalog is served, but not listed in the hosted cluster."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        given = [name for name in ("image", "content", "address") if getattr(self, name) is not None]
        if not given:
            raise RuleBrokenError("has no image, content or address", "Give one of the three")
        if len(given) > 1:
            raise RuleBrokenError(f"has {' and '.join(given)}", "Keep one of them")
        if self.content is not None:
            if len(self.content) > LONGEST_CONTENT:
                rule = f"has a content of more than {LONGEST_CONTENT} characters, and a ConfigMap holds 1 MiB"
                raise RuleBrokenError(rule, "Build an image with the catalog, and give image")
            if not any(one.get("schema") == "olm.package" for one in blobs(self.content)):
                rule = "has a content without an olm.package, so it is no file-based catalog"
                raise RuleBrokenError(rule, "Write it with `opm render`")
        return self

    @property
    def host_and_port(self) -> tuple[str, int] | None:
        """The parts of its address; None if Pods of the control plane serve it."""
        return canonical.host_and_port(self.address) if self.address is not None else None

    @property
    def is_served(self) -> bool:
        """Whether Pods of the control plane serve it."""
        return self.address is None

    def channels(self, package: str) -> list[str] | None:
        """Names of a package's channels; None where the document does not have the catalog's content."""
        if self.content is None:
            return None
        found = [one for one in blobs(self.content) if one.get("schema") == "olm.channel"]
        return sorted(str(one.get("name")) for one in found if one.get("package") == package)


class OperatorSubscription(Model):
    """A Subscription that the provider makes in the hosted cluster. Users make their own beside these."""

    name: DnsLabel
    """Name of the Subscription."""
    package: DnsLabel | None = None
    """The operator's package; by default `name`."""
    namespace: DnsLabel = "operators"
    """Its namespace, with an OperatorGroup. `operators` is the component's, for operators of all namespaces."""
    catalog: DnsLabel
    """One of `catalogs`."""
    channel: OlmName
    """The package's channel."""
    approval: Approval = Approval.AUTOMATIC
    """`Manual`: InstallPlans wait for approval."""
    starting_csv: OlmName | None = None
    """The first version to install; by default the channel's newest."""
    placement: OperatorPlacement | None = None
    """Nodes of this operator's Pods; replaces the document's."""


class OperatorUpgrades(Model):
    """Reasons to upgrade although an operator blocks it."""

    override: dict[OlmName, UpgradeReason] = {}
    """Reasons by name of the ClusterServiceVersion, such as `etcd.v1.2.3`. The reason is printed."""


class OlmResources(Resources):
    """CPU and memory of a Pod of OLM, as Kubernetes quantities."""

    cpu_request: Cpu = "20m"
    """Requested CPU."""
    memory_request: Memory = "160Mi"
    """Requested memory."""
    cpu_limit: Cpu = "1"
    """CPU limit."""
    memory_limit: Memory = "512Mi"
    """Memory limit."""


class CatalogResources(OlmResources):
    """CPU and memory of a catalog's Pod, as Kubernetes quantities."""

    cpu_request: Cpu = "10m"
    """Requested CPU."""
    memory_request: Memory = "64Mi"
    """Requested memory."""


class Operators(Model):
    """Operators of one hosted cluster. All of it is public."""

    setter = Setter.OPERATOR

    name: HostedClusterName
    """The hosted cluster's name. OLM's namespace on the control plane is `operators-<name>`."""
    api_server: ApiServer
    """Address of the hosted cluster's API server for the control plane's Pods, `https://HOST:PORT`."""
    version: KubernetesVersion | None = None
    """The hosted cluster's version of Kubernetes. A change is rejected while an operator blocks it."""
    mesh_revision: Revision | None = None
    """The mesh's revision that the hosted cluster's operators depend on. A change is rejected likewise."""
    namespace: DnsLabel = "olm"
    """OLM's global namespace in the hosted cluster, with accounts and catalogs."""
    images: OperatorImages = OperatorImages()
    """Images of OLM and opm."""
    package_server: PackageServerExposure
    """packageserver, which lists packages in the hosted cluster."""
    network_policy: OperatorsNetworkPolicy
    """Allowed connections of OLM's Pods."""
    tunnel: OperatorTunnel | None = None
    """The tunnel to the hosted cluster's catalogs. By default there is none, and no Pod of the provider runs there."""
    placement: OperatorPlacement = OperatorPlacement()
    """Nodes of all operators' Pods, of user catalogs' Pods, of unpack Jobs and of the tunnel's agent."""
    catalogs: tuple[OperatorCatalog, ...] = ()
    """The provider's catalogs."""
    follow_operator_hub: Switch = False
    """True leaves out catalogs that the hosted cluster's OperatorHub `cluster` disables, as on OpenShift. Each
    `pulumi up` reads it."""
    subscriptions: tuple[OperatorSubscription, ...] = ()
    """The provider's Subscriptions."""
    operand_groups: tuple[OperandGroup, ...] = ()
    """API groups of operands, such as `example.com`. catalog-operator lists their objects before it upgrades their
    definitions. `*` permits all groups, Secrets included."""
    upgrades: OperatorUpgrades = OperatorUpgrades()
    """Overrides of the upgrade gate."""
    resources: OlmResources = OlmResources()
    """CPU and memory of each Pod of OLM."""
    catalog_resources: CatalogResources = CatalogResources()
    """CPU and memory of each catalog's Pod, and of each container of the tunnel."""
    keep_crds: Switch = True
    """False: OLM's definitions are removed with the component, and with them all Subscriptions and CSVs."""
    wait_until_ready: Switch = True
    """False: `pulumi up` does not wait for the Pods."""

    @property
    def control_plane_namespace(self) -> str:
        """The namespace on the control plane."""
        return f"{PREFIX}{self.name}"

    @field_validator("api_server")
    @classmethod
    def _has_no_path(cls, value: str) -> str:
        if urlsplit(value).path:
            rule = "has a path, but packageserver takes a host and a port"
            raise RuleBrokenError(rule, "Give the API server's own address")
        return value

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_same_names("catalogs", [one.name for one in self.catalogs])
        refuse_same_names("subscriptions", [f"{one.namespace}/{one.name}" for one in self.subscriptions])
        return self

    @model_validator(mode="after")
    def _catalogs_can_be_reached(self) -> Self:
        for at, catalog in enumerate(self.catalogs):
            if catalog.host_and_port is None:
                continue
            if not self.network_policy.catalog_ranges:
                rule = f"catalogs[{at}] has an address, and networkPolicy.catalogRanges is empty"
                raise RuleBrokenError(rule, "Add the address's range, or no Pod reaches the catalog")
            if catalog.host_and_port[1] not in self.network_policy.catalog_ports:
                rule = f"catalogs[{at}] has an address with a port outside of networkPolicy.catalogPorts"
                raise RuleBrokenError(rule, "Add the port")
        return self

    @model_validator(mode="after")
    def _tunnel_has_a_name_of_its_own(self) -> Self:
        if self.tunnel is None:
            return self
        if self.tunnel.host == self.package_server.host:
            rule = "tunnel.host is packageServer.host, and each has a load balancer of its own"
            raise RuleBrokenError(rule, "Give the tunnel a name of its own")
        if str(urlsplit(self.api_server).hostname).endswith(".svc"):
            rule = "apiServer ends with .svc, and with a tunnel such names are the hosted cluster's"
            raise RuleBrokenError(rule, f"Write the whole name, with .svc.{self.tunnel.cluster_domain}")
        return self

    @model_validator(mode="after")
    def _subscriptions_can_be_resolved(self) -> Self:
        catalogs = {one.name: one for one in self.catalogs}
        for at, one in enumerate(self.subscriptions):
            catalog = catalogs.get(one.catalog)
            if catalog is None:
                rule = f"subscriptions[{at}] names catalog {one.catalog}, which is not in catalogs"
                raise RuleBrokenError(rule, f"Use one of {', '.join(sorted(catalogs)) or 'catalogs: add one'}")
            if not catalog.listed:
                rule = f"subscriptions[{at}] names catalog {one.catalog}, which is not listed"
                raise RuleBrokenError(rule, "Set listed: true, or use another catalog")
            package = one.package or one.name
            channels = catalog.channels(package)
            if channels == []:
                rule = f"subscriptions[{at}] names package {package}, which catalog {one.catalog} does not have"
                raise RuleBrokenError(rule, "Correct the package or the catalog")
            if channels is not None and one.channel not in channels:
                rule = f"subscriptions[{at}] names channel {one.channel}, which package {package} does not have"
                raise RuleBrokenError(rule, f"Use one of {', '.join(channels)}")
        return self


class OperatorsStack(Model):
    """The stack `operators`: both clusters, and the document."""

    setter = Setter.OPERATOR

    control_plane: ClusterReference | None = None
    """The control plane's cluster."""
    data_plane: ClusterReference | None = None
    """The hosted cluster, with the right to make definitions and roles."""
    operators: Operators
    """The document."""


def blobs(content: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a file-based catalog: YAML or JSON documents. Raises: RuleBrokenError."""
    try:
        found = list(yaml_text.load_all(content))
    except yaml_text.UNPARSABLE:
        rule = "has a content that is not valid YAML or JSON"
        raise RuleBrokenError(rule, "Write it with `opm render`") from None
    for one in found:
        if isinstance(one, Mapping):
            yield one
