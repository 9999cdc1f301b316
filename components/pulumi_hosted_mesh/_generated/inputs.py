"""The documents as TypedDicts, for programs. Written by `hosted-mesh schema --write`; see `spec.typed_dicts`.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster


class RootArgs(TypedDict):
    """The root's certificate."""

    lifetime_days: NotRequired[int]
    """How long a certificate is valid, in days."""
    renew_before_days: NotRequired[int]
    """How long before its end the next `pulumi up` renews it, in days. The key stays the same."""
    protect: NotRequired[bool]
    """True lets Pulumi refuse to delete the root's key. Set false, and run `pulumi up`, before `pulumi destroy`."""


class IntermediateArgs(TypedDict):
    """The intermediate's certificate."""

    lifetime_days: NotRequired[int]
    """How long a certificate is valid, in days."""
    renew_before_days: NotRequired[int]
    """How long before its end the next `pulumi up` renews it, in days. The key stays the same."""


class TrustArgs(TypedDict):
    """The mesh's certificate authorities. No key of theirs reaches a data plane."""

    management: NotRequired[str]
    """`own`: this program makes the intermediate's key, and a root signs it. `brought`: the four files of `cacerts` are
    an input, from a vault for one. `unmanaged`: somebody else, for example cert-manager, makes the Secret `cacerts` in
    the mesh's namespace, and no key of an authority is in Pulumi's state."""
    algorithm: NotRequired[str]
    """Algorithm of both keys. A change replaces the root's key without overlap, see docs/components/trust.md."""
    root: NotRequired[RootArgs]
    """The root: signs intermediates only. Its certificate is public and is the webhooks' CA bundle."""
    intermediate: NotRequired[IntermediateArgs]
    """The mesh's own authority, which istiod holds as `cacerts`."""
    workload_lifetime_hours: NotRequired[int]
    """How long a workload's certificate is valid, in hours. Proxies renew theirs at half of it."""


class NetworkPolicyArgs(TypedDict):
    """Who may connect to istiod inside the cluster, and what istiod may connect to beside the DNS."""

    api_server_ranges: NotRequired[list[str]]
    """Addresses of the data planes' API servers, in CIDR form. Empty admits any address on those servers' ports."""
    fetch_jwks: NotRequired[bool]
    """True opens port 443 of any address: there istiod fetches the keys of token issuers that a RequestAuthentication
    of the data plane names. False where those hold the keys themselves (`jwks`) or there are none."""
    metrics_from: NotRequired[list[str]]
    """Namespaces whose Pods may read istiod's metrics (port 15014), for example Prometheus'."""
    dns_ports: NotRequired[list[int]]
    """Ports at which istiod may ask the DNS, UDP and TCP. A NetworkPolicy sees a connection once the Service sent it to
    a Pod, so where the Pods of the DNS listen at another port it has to be here: 5353 on OpenShift."""


class ControlPlaneArgs(TypedDict):
    """What the control plane's cluster has once per mesh, whatever its revisions."""

    cluster: NotRequired[ControlPlaneCluster]
    """The control plane's cluster. Not needed by stacks that do not touch it."""
    network_policy: NotRequired[NetworkPolicyArgs]
    """The NetworkPolicy of the mesh's namespace."""


class WebhookExposureArgs(TypedDict):
    """The webhooks on a load balancer of their own, for the API server alone."""

    source_ranges: NotRequired[list[str]]
    """Addresses that may connect, in CIDR form."""
    open_to_all: NotRequired[bool]
    """True admits every address. It must be said: no source ranges alone is refused."""
    host: str
    """DNS name of the webhooks: two load balancers need two names. Also in istiod's certificate."""


class ExposureArgs(TypedDict):
    """How the data plane reaches istiod."""

    source_ranges: NotRequired[list[str]]
    """Addresses that may connect, in CIDR form."""
    open_to_all: NotRequired[bool]
    """True admits every address. It must be said: no source ranges alone is refused."""
    kind: NotRequired[str]
    """`load-balancer`. The other kind is `external`, for which nothing is made, and which takes no other field: an
    integrator leads the host to ports 15012 and 15017 of istiod's Service."""
    webhooks: NotRequired[WebhookExposureArgs]
    """Puts port 15017 on a second Service with ranges of its own: those of the API server. `sourceRanges` are then the
    nodes' alone. By default both ports share one load balancer."""
    publish_name: NotRequired[bool]
    """True asks external-dns, by its annotation, to publish the host with the load balancer's address."""
    annotations: NotRequired[dict[str, str]]
    """More annotations for the Service, where a cloud's load balancer wants some."""
    load_balancer_class: NotRequired[str]
    """`spec.loadBalancerClass` of the Service."""
    allocate_node_ports: NotRequired[bool]
    """True where the load balancer sends to NodePorts. Those are not limited by `sourceRanges`."""


class ChartsArgs(TypedDict):
    """The charts of one version of Istio."""

    repository: NotRequired[str]
    """Helm repository, https:// or oci://, without user and password: it is stored and shown in plain text."""
    path: NotRequired[str]
    """A local directory with the charts as subdirectories `base`, `istiod` and `gateway`; instead of a repository."""
    hub: NotRequired[str]
    """Registry and folder of the images; by default the charts' own."""
    tag: NotRequired[str]
    """Tag of the images; by default the charts' own."""
    version: NotRequired[str]
    """Version of the charts, and of istiod."""


class AutoscalingArgs(TypedDict):
    """A HorizontalPodAutoscaler for istiod. The namespace's quota has room for the most Pods."""

    max_replicas: int
    """The most Pods."""
    cpu_utilization: NotRequired[int]
    """Average use of the requested CPU above which Pods are added, in percent."""


class ResourcesArgs(TypedDict):
    """CPU and memory of istiod's Pod, as Kubernetes quantities. The limits also size the namespace's quota."""

    cpu_request: NotRequired[str]
    """CPU that is reserved."""
    memory_request: NotRequired[str]
    """Memory that is reserved."""
    cpu_limit: NotRequired[str]
    """CPU that is not exceeded; istiod takes its number of threads from it."""
    memory_limit: NotRequired[str]
    """Memory that is not exceeded."""


class TolerationArgs(TypedDict):
    """One toleration, as a Pod has it."""

    key: NotRequired[str]
    """Key of the taint; none tolerates every taint."""
    operator: NotRequired[str]
    """`Exists` or `Equal`."""
    value: NotRequired[str]
    """Value of the taint."""
    effect: NotRequired[str]
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`; none means all."""


class SchedulingArgs(TypedDict):
    """Where Pods may run."""

    node_selector: NotRequired[dict[str, str]]
    """Labels that a node must have."""
    tolerations: NotRequired[list[TolerationArgs]]
    """Taints that are tolerated."""
    affinity: NotRequired[dict[str, Any]]
    """`spec.affinity` of the Pod, as Kubernetes has it."""
    priority_class: NotRequired[str]
    """Name of a PriorityClass."""


class IstiodArgs(TypedDict):
    """The Deployment of istiod."""

    replicas: NotRequired[int]
    """Number of Pods, with autoscaling the fewest. From 2 on they are spread over nodes, and a PodDisruptionBudget
    keeps one. With 1, whatever takes its node stops the creation of injected Pods on the data plane, for webhooks fail
    closed."""
    autoscaling: NotRequired[AutoscalingArgs]
    """Adds Pods under load; by default their number is fixed."""
    resources: NotRequired[ResourcesArgs]
    """CPU and memory of each Pod."""
    scheduling: NotRequired[SchedulingArgs]
    """Where its Pods may run."""
    image_pull_secrets: NotRequired[list[str]]
    """Names of Secrets in the mesh's namespace with a registry's login."""
    requests_per_second: NotRequired[int]
    """New xDS connections that one Pod accepts per second; more wait. Keeps one mesh's storm from starving others."""
    log_level: NotRequired[str]
    """Istio's log levels, `scope:level` separated by commas; none, error, warn, info, debug or fatal."""
    environment: NotRequired[dict[str, str]]
    """More environment variables of istiod. Those that its chart or the split sets are refused."""
    wait_until_ready: NotRequired[bool]
    """False lets `pulumi up` end before istiod runs: for clusters without nodes, as the engine tests have."""


class FeaturesArgs(TypedDict):
    """What istiod may do beside the least. Each true one needs rights on the data plane, which its user grants."""

    gateway_api: NotRequired[bool]
    """The Kubernetes Gateway API: gateways and waypoints that istiod deploys, and their status."""
    gateway_certificates: NotRequired[bool]
    """Gateways get certificates from Secrets that they name (`credentialName`); the identity check of xDS is on, and
    with it `istioctl proxy-status` gets an answer."""
    certificate_revocation: NotRequired[bool]
    """Proxies get certificate revocation lists out of `cacerts` (`ca-crl.pem`), which somebody else makes: not with
    `trust.management: own`."""
    workload_registration: NotRequired[bool]
    """Workloads outside Kubernetes register themselves by their WorkloadGroup."""
    address_allocation: NotRequired[bool]
    """ServiceEntries without addresses get some of 240.240.0.0/16."""


class AccessLogArgs(TypedDict):
    """Envoy's access log, of sidecars and gateways."""

    file: NotRequired[str]
    """Where it is written, in the proxy's container."""
    encoding: NotRequired[str]
    """`TEXT` or `JSON`."""
    format: NotRequired[str]
    """Envoy's format of a line; by default Istio's."""


class ProxyResourcesArgs(TypedDict):
    """CPU and memory of each sidecar, as Kubernetes quantities; by default the chart's."""

    cpu_request: NotRequired[str]
    """CPU that is reserved."""
    memory_request: NotRequired[str]
    """Memory that is reserved."""
    cpu_limit: NotRequired[str]
    """CPU that is not exceeded."""
    memory_limit: NotRequired[str]
    """Memory that is not exceeded."""


class ProxiesArgs(TypedDict):
    """Settings of all proxies."""

    access_log: NotRequired[AccessLogArgs]
    """Access logs of sidecars and gateways; by default off."""
    outbound_traffic: NotRequired[str]
    """`REGISTRY_ONLY` refuses hosts that the mesh does not know."""
    hold_application: NotRequired[bool]
    """True starts a Pod's application only once its proxy is ready."""
    resources: NotRequired[ProxyResourcesArgs]
    """CPU and memory of each sidecar."""
    image_pull_secrets: NotRequired[list[str]]
    """Names of Secrets with a registry's login, which must exist in each namespace with sidecars."""


class RevisionArgs(TypedDict):
    """An istiod of one version. Two of them run side by side while the data plane moves from one to the other."""

    name: NotRequired[str]
    """Istio's revision: the value of the label `istio.io/rev` that chooses it. Unique within the mesh."""
    host: str
    """DNS name under which the data plane reaches this istiod; also in its certificate. Unique within the mesh."""
    exposure: ExposureArgs
    """How the data plane reaches it, and who may."""
    charts: NotRequired[ChartsArgs]
    """Where Istio's charts and images come from, and their version."""
    istiod: NotRequired[IstiodArgs]
    """How many Pods, how large, where, and their settings."""
    features: NotRequired[FeaturesArgs]
    """What it may do beside the least. The data plane's user grants each (`access.features`)."""
    proxies: NotRequired[ProxiesArgs]
    """Settings of all proxies that it serves."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the istiod chart on the control plane; an escape hatch. What the split sets is refused."""


class AccessArgs(TypedDict):
    """istiod's credential on the data plane."""

    api_server: NotRequired[pulumi.Input[str]]
    """Address of the data plane's API server as istiod's Pods reach it, `https://HOST:PORT`; by default the one in the
    kubeconfig of `cluster`."""
    certificate_authority: NotRequired[pulumi.Input[str]]
    """PEM certificates that verify that address; by default those in the kubeconfig."""
    features: NotRequired[FeaturesArgs]
    """What istiod is granted beside the least; a revision may have on no more than this."""
    token: NotRequired[str]
    """`long-lived`: a Secret of the data plane with a token that does not expire. `bounded`: no token is made here;
    somebody renews one (`hosted-mesh token`) and gives the kubeconfig to the stack `control-plane`."""
    token_generation: NotRequired[int]
    """Raise it by one to replace the long-lived token: the new one is in use before the old one is removed."""
    keep_previous_token: NotRequired[bool]
    """True keeps the last generation's token valid: for a rotation in steps, stack by stack."""
    root_certificate_owner: NotRequired[bool]
    """True lets the cluster remove with the mesh what istiod wrote into each namespace, its root certificate. It needs
    MutatingAdmissionPolicy (Kubernetes 1.36); with false `hosted-mesh leftovers --remove` does it."""


class WebhooksArgs(TypedDict):
    """The data plane's API server asks istiod, by URL: about Pods (injection) and Istio objects (validation)."""

    management: NotRequired[str]
    """`unmanaged` creates none; the output `webhook_manifests` is then exactly what to install."""
    timeout_seconds: NotRequired[int]
    """How long the API server waits for an answer, in seconds."""
    injection_failure_policy: NotRequired[str]
    """`Fail`: no Pod of the mesh starts without its sidecar. `Ignore`: Pods start, but outside the mesh."""
    validation_failure_policy: NotRequired[str]
    """`Fail`: Istio objects cannot be changed while istiod is down. `Ignore`: they are accepted unchecked."""


class GatewayPortArgs(TypedDict):
    """A port of a gateway's Service."""

    name: str
    """Name of the port; Istio reads the protocol from its beginning, `https-shop`."""
    port: int
    """Port of the Service."""
    target_port: NotRequired[int]
    """Port of the gateway's Pods; by default the same."""


class GatewayServiceArgs(TypedDict):
    """The Service of a gateway."""

    type: NotRequired[str]
    """`LoadBalancer`, `ClusterIP` or `NodePort`; by default the chart's, `LoadBalancer`."""
    annotations: NotRequired[dict[str, str]]
    """Annotations, where a cloud's load balancer wants some."""
    ports: NotRequired[list[GatewayPortArgs]]
    """Ports; by default the chart's: 15021, 80 and 443."""
    load_balancer_class: NotRequired[str]
    """`spec.loadBalancerClass`."""
    source_ranges: NotRequired[list[str]]
    """Addresses that may connect, in CIDR form; empty means all."""


class GatewayArgs(TypedDict):
    """A gateway on the data plane, by Istio's gateway chart. It runs a proxy and nothing of the control plane."""

    name: str
    """Name of the Deployment, Service and ServiceAccount, unique within the mesh; not `default` or one of istiod's."""
    namespace: NotRequired[str]
    """Its namespace, which must exist; by default the mesh's own."""
    replicas: NotRequired[int]
    """A fixed number of Pods; by default the chart's autoscaler decides, from 2 on. Of two or more one goes at a time
    while a node is drained (PodDisruptionBudget), and they are spread over nodes."""
    service: NotRequired[GatewayServiceArgs]
    """Its Service."""
    scheduling: NotRequired[SchedulingArgs]
    """Where its Pods may run."""
    image_pull_secrets: NotRequired[list[str]]
    """Names of Secrets in its namespace with a registry's login."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the gateway chart; an escape hatch. What has a field here is refused."""


class CrdsArgs(TypedDict):
    """Istio's custom resource definitions, one set per cluster. They are the cluster's, not the mesh's."""

    install: NotRequired[bool]
    """False where the stack `cluster`, or somebody else, installs them."""
    keep_on_destroy: NotRequired[bool]
    """False removes them, and with them every Istio object in the cluster, when the stack, this mesh or this membership
    goes, when the mesh gets another name, and with `install: false`. To keep them: true, and `pulumi up`, first."""


class MembershipArgs(TypedDict):
    """One data plane's cluster in a mesh. The first is the config cluster, whose Istio objects hold in all."""

    cluster: NotRequired[DataPlaneCluster]
    """The data plane's cluster. Not needed by the stacks of the control plane."""
    access: NotRequired[AccessArgs]
    """How istiod reads this cluster, and what it may do there."""
    webhooks: NotRequired[WebhooksArgs]
    """Injection and validation."""
    gateways: NotRequired[list[GatewayArgs]]
    """Gateways to run there."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the istiod chart with the remote profile; an escape hatch. What the split sets is refused."""
    name: NotRequired[str]
    """What the control plane calls this cluster within the mesh; unique there."""
    cluster_id: NotRequired[str]
    """Istio's name of this cluster in telemetry and endpoints; by default `<mesh>`, and `<mesh>-<name>` if it has a
    name."""
    network: NotRequired[str]
    """Istio's name of this cluster's network; by default the same as `clusterId`: Pods of clusters with one network
    reach each other directly."""
    cluster_domain: NotRequired[str]
    """DNS domain of the cluster; the same for all clusters of a mesh."""
    crds: NotRequired[CrdsArgs]
    """Istio's custom resource definitions, where one program makes the whole mesh: whether to install and whether to
    keep them. With separate stacks they are the stack `cluster`'s."""


class MeshArgs(TypedDict):
    """One service mesh: revisions of its control plane in one cluster, its proxies in one or several others."""

    name: str
    """The mesh's name, and Istio's mesh ID; its namespace in each cluster is `mesh-<name>`."""
    trust_domain: NotRequired[str]
    """Trust domain of the workloads' identities, `spiffe://<trustDomain>/ns/...`; by default `<name>.mesh.local`."""
    trust: NotRequired[TrustArgs]
    """Certificate authorities and lifetimes."""
    control_plane: NotRequired[ControlPlaneArgs]
    """The control plane's cluster, and the mesh's namespace there."""
    revisions: list[RevisionArgs]
    """The revisions of istiod; one, or two while the data plane moves from one to the other."""
    tags: NotRequired[dict[str, str]]
    """Names for revisions, `{prod: 1-31}`: namespaces labelled `istio.io/rev: prod` follow when the tag moves. The tag
    `default` chooses the revision of namespaces labelled `istio-injection: enabled`, also beside a revision of that
    name, which then gets no new Pods."""
    cross_network: NotRequired[str]
    """`none`: nothing leads from one network of the members to another; proxies are told of workloads of their own
    network only. `gateways`: proxies are told of all, and reach other networks by the east-west gateways there (port
    15443, `AUTO_PASSTHROUGH`)."""
    memberships: list[MembershipArgs]
    """The data planes' clusters."""


class ChartSourceArgs(TypedDict):
    """Where Istio's Helm charts (base, istiod, gateway) and images come from."""

    repository: NotRequired[str]
    """Helm repository, https:// or oci://, without user and password: it is stored and shown in plain text."""
    path: NotRequired[str]
    """A local directory with the charts as subdirectories `base`, `istiod` and `gateway`; instead of a repository."""
    hub: NotRequired[str]
    """Registry and folder of the images; by default the charts' own."""
    tag: NotRequired[str]
    """Tag of the images; by default the charts' own."""


class DataPlaneArgs(TypedDict):
    """The data plane's own document: all that its user decides, and nothing of the control plane's."""

    cluster: NotRequired[DataPlaneCluster]
    """The data plane's cluster. Not needed by the stacks of the control plane."""
    access: NotRequired[AccessArgs]
    """How istiod reads this cluster, and what it may do there."""
    webhooks: NotRequired[WebhooksArgs]
    """Injection and validation."""
    gateways: NotRequired[list[GatewayArgs]]
    """Gateways to run there."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the istiod chart with the remote profile; an escape hatch. What the split sets is refused."""
    name: NotRequired[str]
    """What the control plane calls this cluster within the mesh; unique there."""
    cluster_id: NotRequired[str]
    """Istio's name of this cluster in telemetry and endpoints; by default `<mesh>`, and `<mesh>-<name>` if it has a
    name."""
    network: NotRequired[str]
    """Istio's name of this cluster's network; by default the same as `clusterId`: Pods of clusters with one network
    reach each other directly."""
    mesh: str
    """Name of the mesh, which also names its namespace, `mesh-<name>`."""
    charts: NotRequired[ChartSourceArgs]
    """Where Istio's charts and images come from; their version is the control plane's."""


class EndpointArgs(TypedDict):
    """What one data plane is told of one revision of its control plane. All of it is public."""

    version: NotRequired[int]
    """Version of this form."""
    mesh: str
    """The mesh's name, and Istio's mesh ID."""
    membership: NotRequired[str]
    """What the control plane calls the data plane's cluster."""
    revision: NotRequired[str]
    """Istio's revision."""
    tags: NotRequired[list[str]]
    """Tags that name this revision."""
    injects: NotRequired[bool]
    """False for the revision `default` while the tag of that name is another's: it gets no new Pods by its name."""
    host: str
    """DNS name of istiod."""
    webhook_host: NotRequired[str]
    """DNS name of the webhooks; by default `host`."""
    xds_port: NotRequired[int]
    """Port of xDS and of the CA, mTLS."""
    webhook_port: NotRequired[int]
    """Port of the webhooks, TLS."""
    trust_domain: str
    """Trust domain of identities."""
    cluster_id: str
    """Istio's name of the data plane's cluster."""
    network: NotRequired[str]
    """Istio's name of the data plane's network."""
    cross_network: NotRequired[str]
    """`none`: its proxies are told of workloads of their own network only. `gateways`, also where a file of an older
    version does not say it: of all."""
    istio_version: str
    """Version of istiod, and of the charts that fit it."""
    features: NotRequired[FeaturesArgs]
    """What this istiod has on; the data plane must grant it."""
    root_certificate: NotRequired[pulumi.Input[str]]
    """The mesh's root certificate, PEM."""


class EastWestGatewayArgs(TypedDict):
    """The gateway that a peer's callers reach it by: one of `gateways` of its data plane's document."""

    name: NotRequired[str]
    """Name of its Deployment and of its ServiceAccount."""
    namespace: NotRequired[str]
    """Its namespace; by default the mesh's own, `mesh-<name>`."""
    address: str
    """DNS name, or IP address, of its load balancer as the peers' proxies reach it."""
    port: NotRequired[int]
    """Port of its Service, which must lead to the same port of its Pods."""


class AudienceArgs(TypedDict):
    """Who of one peer may call."""

    mesh: str
    """The peer."""
    identities: list[str]
    """Its callers, `namespace/serviceAccount`, or `namespace/*`. Nobody else of that mesh is let in."""


class ExportArgs(TypedDict):
    """Services of a peer that others may call: one by its name, or those of a namespace that labels select."""

    namespace: str
    """Where they are."""
    service: NotRequired[str]
    """One Service; needs `port`, and then nothing is read from the cluster."""
    labels: NotRequired[dict[str, str]]
    """Without `service`: labels that a Service must have; without either, all of the namespace."""
    port: NotRequired[int]
    """Port of the Service."""
    protocol: NotRequired[str]
    """What the port speaks."""
    host: NotRequired[str]
    """What the peers call it; by default `<service>.<namespace>.<domain>`."""
    to: list[AudienceArgs]
    """Who may call: per peer, by identity."""


class ImportArgs(TypedDict):
    """What a peer wants of others."""

    meshes: list[str]
    """Who serves it; of several, one that is near and well is chosen."""
    namespace: NotRequired[str]
    """Only what is in this namespace there."""
    service: NotRequired[str]
    """Only this Service; needs `namespace`. Without it neither TCP nor a host outside of `domain` is imported."""
    port: NotRequired[int]
    """Only this port of it; needs `service`. TCP needs it, unless the document's export names service and port too."""
    ports: NotRequired[list[int]]
    """Ports of HTTP that what peers select by labels may have; each is opened in the proxies of this mesh. Others are
    imported where `port` is named, here or in the document's export."""
    host: NotRequired[str]
    """What it is called in this mesh; by default what it is exported as."""
    namespaces: NotRequired[list[str]]
    """Who calls it here; by default all namespaces of this mesh. Proxies of others are not told of it."""
    retry: NotRequired[str]
    """With several meshes: `idempotent` sends GET, HEAD, OPTIONS, TRACE, PUT and DELETE again also where a gateway
    answered 503 or broke off, at most five times; `unsent` only what no gateway got, as Istio does."""
    try_timeout_seconds: NotRequired[int]
    """With several meshes, for HTTP: seconds in which the answer to each try has to begin; by default no limit."""


class EgressArgs(TypedDict):
    """A gateway of a mesh that its calls to peers leave through. It does not open their TLS: a peer sees the caller."""

    gateway: str
    """Name of its Deployment and Service: one of `gateways` of this mesh's data plane's document."""
    namespace: NotRequired[str]
    """Its namespace; by default the mesh's own, `mesh-<name>`."""
    port: NotRequired[int]
    """Port of its Service, which must lead to the same port of its Pods. It tells peers apart by the server name."""
    ports: NotRequired[dict[str, int]]
    """Other ports, by peer: for peers that serve one name, such as several meshes of one import."""


class PeerArgs(TypedDict):
    """One mesh of the federation: public facts, what it exports and what it imports."""

    mesh: str
    """Its name."""
    trust_domain: NotRequired[str]
    """Its trust domain; by default `<mesh>.mesh.local`."""
    network: NotRequired[str]
    """Istio's name of its network; by default the mesh's name."""
    gateway: EastWestGatewayArgs
    """Where it is reached."""
    locality: NotRequired[str]
    """Where its gateway stands, `region/zone`: callers prefer what is near."""
    root_certificate: NotRequired[str]
    """Its root, PEM, public; two while it moves to another. With trust `partial` it is required: the bundle that its
    peers verify it by. With `complete`, roots that differ are found before anything is made."""
    cluster_domain: NotRequired[str]
    """DNS domain of its cluster."""
    exports: NotRequired[list[ExportArgs]]
    """What others may call, and who."""
    imports: NotRequired[list[ImportArgs]]
    """What it calls."""
    egress: NotRequired[EgressArgs]
    """The gateway that its calls leave through; by default none, each caller's proxy connects to the peer's gateway."""


class GroupArgs(TypedDict):
    """Peers that may serve each other. A mesh may be in several groups."""

    name: str
    """The group's name."""
    meshes: list[str]
    """Its meshes."""


class FederationArgs(TypedDict):
    """Meshes that serve each other. All of it is public; every peer may have the same copy."""

    name: str
    """Names what is made, `<name>` or `<name>-<host>`."""
    domain: str
    """DNS suffix of exported services, `<service>.<namespace>.<domain>`. Nobody has to resolve it."""
    trust: NotRequired[str]
    """`complete`: one root signs each mesh's intermediate (stacks `root` and `trust`). `partial`: each mesh has a root
    of its own, and verifies each peer by that peer's `rootCertificate` and for that peer's trust domain alone.
    `changing`: on the way from one to the other, as `partial`, but peers may have roots in common."""
    peers: list[PeerArgs]
    """The meshes. Their order says nothing."""
    groups: NotRequired[list[GroupArgs]]
    """Who may serve whom; by default all of them each other."""


class OfferedServiceArgs(TypedDict):
    """One port of a Service that a peer exports."""

    namespace: str
    """Where it is."""
    service: str
    """Its name there."""
    port: int
    """Its port there, and its port where it is imported."""
    protocol: str
    """What it speaks."""
    host: str
    """What peers call it, and the server name of the TLS connections to it."""
    to: list[AudienceArgs]
    """Who may call it."""


class OfferArgs(TypedDict):
    """What one peer exports, by name: the file that is handed to its peers. All of it is public."""

    federation: str
    """The federation's name."""
    mesh: str
    """Who exports."""
    services: NotRequired[list[OfferedServiceArgs]]
    """What it exports."""


class EdgeArgs(TypedDict):
    """A data plane's cluster whose users publish names."""

    name: str
    """Unique; also who owns its records, so a new name is a new owner."""
    labels: NotRequired[dict[str, str]]
    """What providers select it by."""
    sources: NotRequired[list[str]]
    """What names come from. The kinds must be installed: external-dns does not start without them."""
    api_server: NotRequired[str]
    """Address of its API server as the control plane's Pods reach it, `https://HOST:PORT`; by default the one in the
    edge's kubeconfig."""
    publishes: NotRequired[bool]
    """False for an edge that hosts no user-facing service: nothing runs for it."""


class ZoneArgs(TypedDict):
    """A domain in which edges may publish."""

    name: str
    """The domain. `{edge}` stands for the edge's name: `{edge}.example.com` is another zone for each edge."""
    shared: NotRequired[bool]
    """True lets all edges of the provider publish the same names: all targets are answered, and an edge that leaves
    takes its own. False: a zone has one edge, which owns every name in it."""


class CoreDnsArgs(TypedDict):
    """CoreDNS with its etcd plug-in: records are keys of an etcd."""

    endpoints: list[str]
    """Addresses of etcd, `https://HOST:PORT`."""
    prefix: NotRequired[str]
    """The plug-in's `path`, with a slash at both ends."""


class Rfc2136Args(TypedDict):
    """A name server that takes dynamic updates: BIND, Knot, PowerDNS, Windows."""

    host: str
    """Name or address of the primary server."""
    port: NotRequired[int]
    """Its port."""
    server_zones: list[str]
    """The zones that the server has; those of `zones` lie in them."""
    tsig_key_name: NotRequired[str]
    """Name of the key; its secret is the credential `tsig-secret`. Required unless `authentication: none`."""
    tsig_algorithm: NotRequired[str]
    """Algorithm of the key."""


class Route53Args(TypedDict):
    """Amazon Route 53."""

    zone_type: NotRequired[str]
    """Only public or only private zones; by default both."""
    assume_role: NotRequired[str]
    """ARN of a role to take on."""
    evaluate_target_health: NotRequired[bool]
    """True has aliases follow the health of their targets."""


class GoogleArgs(TypedDict):
    """Google Cloud DNS."""

    project: str
    """The Google project that has the zones."""
    visibility: NotRequired[str]
    """Only public or only private zones; by default both."""


class AzureArgs(TypedDict):
    """Azure DNS."""

    resource_group: str
    """Resource group of the zones."""
    subscription: str
    """Subscription of the zones."""
    private: NotRequired[bool]
    """True for private zones."""


class CloudflareArgs(TypedDict):
    """Cloudflare."""

    proxied: NotRequired[bool]
    """True has answers lead to Cloudflare's proxies."""


class WebhookArgs(TypedDict):
    """A provider that speaks external-dns' webhook interface, which has no authentication."""

    url: str
    """Its address, within the control plane's cluster."""


class OtherArgs(TypedDict):
    """Any other provider of external-dns, passed through."""

    provider: str
    """Its name, as in `--provider`."""
    flags: NotRequired[list[str]]
    """More arguments, `--name=value`. What the bridge sets is refused, and so are secrets: external-dns takes each
    argument as a variable too, `EXTERNAL_DNS_<NAME>`, and those are credentials."""


class DnsProviderArgs(TypedDict):
    """One DNS server, or one account with a DNS service."""

    id: str
    """Unique; also in the names of what is made for it."""
    type: str
    """What it is; its parameters are in the section of that name."""
    project: NotRequired[str]
    """Whose it is, for people; a label of its objects."""
    location: NotRequired[str]
    """Where it is, for people; a label of its objects."""
    authentication: NotRequired[str]
    """`credentials`: the program gives them. `workload-identity`: the cloud knows external-dns by its ServiceAccount.
    `none`: the provider asks for nothing."""
    service_account_annotations: NotRequired[dict[str, str]]
    """Annotations by which the cloud knows the ServiceAccount, with `workload-identity`."""
    owned_domains: NotRequired[list[str]]
    """Domains that the provider is authoritative for; each of `zones` must lie in one. Empty: not checked."""
    zones: NotRequired[list[ZoneArgs]]
    """Where its edges may publish; none for a provider of the program's own records alone."""
    control_plane_zones: NotRequired[list[str]]
    """Where the program itself publishes, its `records`. No edge may: a zone of an edge that lies in one is refused."""
    selector: NotRequired[dict[str, str]]
    """Labels of the edges that publish by it; empty means all."""
    record_selector: NotRequired[dict[str, str]]
    """Labels of the DNSEndpoints that it publishes, as for an internal and an external view; empty means all."""
    policy: NotRequired[str]
    """`upsert-only` never deletes a record."""
    record_types: NotRequired[list[str]]
    """Types that are published."""
    ttl: NotRequired[int]
    """Time to live of records that ask for none, in seconds."""
    answers: NotRequired[str]
    """`weighted` and `geographic` take the weights and regions of the records' own annotations."""
    coredns: NotRequired[CoreDnsArgs]
    """Parameters of `type: coredns`."""
    rfc2136: NotRequired[Rfc2136Args]
    """Parameters of `type: rfc2136`."""
    route53: NotRequired[Route53Args]
    """Parameters of `type: route53`."""
    google: NotRequired[GoogleArgs]
    """Parameters of `type: google`."""
    azure: NotRequired[AzureArgs]
    """Parameters of `type: azure`."""
    cloudflare: NotRequired[CloudflareArgs]
    """Parameters of `type: cloudflare`."""
    webhook: NotRequired[WebhookArgs]
    """Parameters of `type: webhook`."""
    other: NotRequired[OtherArgs]
    """Parameters of `type: other`."""


class ImagesArgs(TypedDict):
    """What runs on the control plane."""

    external_dns: NotRequired[str]
    """Image of external-dns, v0.21."""
    python: NotRequired[str]
    """Any image with python3 (3.11 or later) on PATH; the edges' writers run in it."""


class DnsBridgeArgs(TypedDict):
    """The DNS bridge: edges, providers, and what runs between them on the control plane."""

    namespace: NotRequired[str]
    """Namespace on the control plane of all that runs."""
    owner: NotRequired[str]
    """Begins the owner of each record, `<owner>.<edge>`: bridges that share a DNS server need different ones."""
    edges: NotRequired[list[EdgeArgs]]
    """Clusters that publish; none where the program alone does."""
    providers: list[DnsProviderArgs]
    """DNS servers and services."""
    interval_seconds: NotRequired[int]
    """How often a provider's records are read anew and put right, in seconds. Changes in an edge do not wait for it."""
    replicas: NotRequired[int]
    """Pods of each publisher and reader; one acts, another takes over when it is gone."""
    lease_seconds: NotRequired[int]
    """How long a Pod that is gone is waited for before another takes over, in seconds."""
    nameservers: NotRequired[list[str]]
    """Addresses of the name servers that are asked whether a name is answered yet; by default the control plane's
    cluster's own."""
    images: NotRequired[ImagesArgs]
    """Images of what runs."""
    wait_until_ready: NotRequired[bool]
    """False does not wait for the Pods, nor notice that they do not start."""


class RevisionTemplateArgs(TypedDict):
    """A revision of each mesh's istiod; see the mesh document for what each field does."""

    name: NotRequired[str]
    """Istio's revision. An override's revision of the same name changes it, one of another name is added."""
    host: NotRequired[str]
    """DNS name of istiod, with `{cluster}` or `{mesh}` in it: no two meshes may have one name."""
    exposure: NotRequired[ExposureArgs]
    """How data planes reach it; by default a load balancer for the cluster's `sourceRanges`, which also replace those
    given here. An override's exposure replaces this one whole."""
    charts: NotRequired[ChartsArgs]
    """Where Istio's charts and images come from, and their version."""
    istiod: NotRequired[IstiodArgs]
    """How many Pods, how large, where, and their settings."""
    features: NotRequired[FeaturesArgs]
    """What it may do beside the least; `dataPlane.access.features` grants each."""
    proxies: NotRequired[ProxiesArgs]
    """Settings of all proxies that it serves."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the istiod chart on the control plane."""


class DataPlaneTemplateArgs(TypedDict):
    """What is made on each data plane; see the mesh document's memberships."""

    namespaces: NotRequired[list[str]]
    """Members: namespaces that are made there, labelled for sidecars of the first revision, and removed with the mesh
    and all that is in them. Those that exist already are labelled by their owners (`injectionLabels`)."""
    access: NotRequired[AccessArgs]
    """What istiod may do there. `apiServer` and `certificateAuthority` are a cluster's, and `token` stays
    `long-lived`."""
    webhooks: NotRequired[WebhooksArgs]
    """Injection and validation."""
    gateways: NotRequired[list[GatewayArgs]]
    """Gateways to run there; texts such as annotations may have `{cluster}` and `{mesh}` in them."""
    cluster_domain: NotRequired[str]
    """DNS domain of the cluster."""
    crds: NotRequired[CrdsArgs]
    """Istio's custom resource definitions."""
    chart_values: NotRequired[dict[str, Any]]
    """More values for the istiod chart with the remote profile."""


class MeshTemplateArgs(TypedDict):
    """A mesh without what is one cluster's alone. In its texts `{cluster}` and `{mesh}` stand for names."""

    name: NotRequired[str]
    """Each mesh's name, with `{cluster}` in it; by default `<deployment>-{cluster}`."""
    trust_domain: NotRequired[str]
    """Each mesh's trust domain; by default `{mesh}.mesh.local`."""
    network: NotRequired[str]
    """Istio's name of each cluster's network; by default `{mesh}`."""
    trust: NotRequired[TrustArgs]
    """Certificate authorities and lifetimes. Each mesh has a root of its own."""
    revisions: NotRequired[list[RevisionTemplateArgs]]
    """The revisions of istiod; the template needs one at least."""
    tags: NotRequired[dict[str, str]]
    """Names for revisions."""
    cross_network: NotRequired[str]
    """`none`: proxies are told of workloads of their own network only. `gateways`: of all, for workloads on other
    networks, such as virtual machines."""
    data_plane: NotRequired[DataPlaneTemplateArgs]
    """What is made on each data plane."""


class DeploymentClusterArgs(TypedDict):
    """A cluster that may get a mesh."""

    name: str
    """Its name, in names of meshes too; unique."""
    labels: NotRequired[dict[str, str]]
    """What `select` chooses by."""
    cluster: NotRequired[DataPlaneCluster]
    """Where it is."""
    api_server: NotRequired[pulumi.Input[str]]
    """Address of its API server as istiod's Pods reach it, `https://HOST:PORT`; by default the kubeconfig's."""
    certificate_authority: NotRequired[pulumi.Input[str]]
    """PEM certificates that verify that address; by default the kubeconfig's."""
    source_ranges: NotRequired[list[str]]
    """Addresses under which its nodes and its API server leave: who may connect to its istiod, in CIDR form."""


class SelectionArgs(TypedDict):
    """Which clusters get a mesh: those that are named, and those that have all of the labels."""

    names: NotRequired[list[str]]
    """Names of clusters."""
    labels: NotRequired[dict[str, str]]
    """Labels with their values. They must match a cluster: a typing error here would remove every mesh."""


class OverrideArgs(TypedDict):
    """What differs in some clusters: only what is given."""

    name: NotRequired[str]
    """Each mesh's name, with `{cluster}` in it; by default `<deployment>-{cluster}`."""
    trust_domain: NotRequired[str]
    """Each mesh's trust domain; by default `{mesh}.mesh.local`."""
    network: NotRequired[str]
    """Istio's name of each cluster's network; by default `{mesh}`."""
    trust: NotRequired[TrustArgs]
    """Certificate authorities and lifetimes. Each mesh has a root of its own."""
    revisions: NotRequired[list[RevisionTemplateArgs]]
    """The revisions of istiod; the template needs one at least."""
    tags: NotRequired[dict[str, str]]
    """Names for revisions."""
    cross_network: NotRequired[str]
    """`none`: proxies are told of workloads of their own network only. `gateways`: of all, for workloads on other
    networks, such as virtual machines."""
    data_plane: NotRequired[DataPlaneTemplateArgs]
    """What is made on each data plane."""
    clusters: list[str]
    """Names of the clusters; each must be chosen."""


class DeploymentArgs(TypedDict):
    """One template of a mesh for many clusters: each gets a mesh of its own, all have one control plane's cluster."""

    name: str
    """Begins the meshes' names, `<name>-<cluster>`."""
    control_plane: NotRequired[ControlPlaneArgs]
    """The control plane's cluster, the same for all, and the NetworkPolicy of each mesh's namespace there."""
    template: MeshTemplateArgs
    """What each mesh is."""
    clusters: list[DeploymentClusterArgs]
    """The clusters that there are. Their order says nothing."""
    select: NotRequired[SelectionArgs]
    """Which of them get a mesh; by default all."""
    overrides: NotRequired[list[OverrideArgs]]
    """What differs where; of two for one cluster the later wins."""
