"""The observability document of a mesh: the collector of its metrics and traces, Prometheus, Kiali, access logs."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.exposure import (
    EXTERNAL,
    GATEWAY,
    LOAD_BALANCER,
    Exposure,
    GatewayExposure,
    LoadBalancerExposure,
)
from pulumi_hosted_mesh.spec.fields import (
    ApiServer,
    Cpu,
    DnsLabel,
    Domain,
    HostName,
    LabelValue,
    Memory,
    MeshName,
    Model,
    PemCertificate,
    Port,
    Setter,
    Switch,
    TenantName,
    Text,
    amount,
)
from pulumi_hosted_mesh.spec.name_lengths import LIMITS
from pulumi_hosted_mesh.vocabulary import (
    COLLECTOR_PORT,
    DEBUG_PROXY_PORT,
    control_plane_namespace_of,
    default_trust_domain,
    namespace_of,
    owner_of,
)

RESERVED_PORTS: Final = frozenset({15010, 15012, 15014, 15017, 15090})
_IMAGE = re.compile(r"[a-z0-9][\w.:/-]*(?::[\w.-]+|@sha256:[0-9a-f]{64})")
KIALI_HOME: Final = "control-plane"
"""Kiali's name of the control plane's cluster. Another than any CLUSTER_ID of istiod: that is a data plane's."""
_DURATION = re.compile(r"[1-9][0-9]*(s|m)")
_RECEIVER = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?:[1-9][0-9]{0,4}")
_SERVICE = re.compile(r"[a-z0-9][-a-z0-9]*\.(?P<namespace>[a-z0-9][-a-z0-9]*)\.svc(\.cluster\.local)?")


class Placement(StrEnum):
    """Cluster of a part."""

    CONTROL_PLANE = "control-plane"
    DATA_PLANE = "data-plane"
    NONE = "none"


class MetricsSource(StrEnum):
    """The part of a proxy that counts requests."""

    ACCESS_LOGGER = "access-logger"
    STATS_FILTER = "stats-filter"
    ACCESS_LOG = "access-log"


class GatewayLogs(StrEnum):
    """Proxies with an access log by this document; `proxies.accessLog` of the mesh document is for all of them."""

    NONE = "none"
    GATEWAYS = "gateways"


class KialiLogin(StrEnum):
    """Kiali's authentication strategy. It decides the view."""

    ANONYMOUS = "anonymous"
    TOKEN = "token"  # noqa: S105 (a name)


def collector_port(value: int) -> int:
    if value in RESERVED_PORTS:
        raise RuleBrokenError("is a port of istiod or of the collector's own metrics", f"Use {COLLECTOR_PORT}")
    return value


def pinned_image(value: str) -> str:
    if not _IMAGE.fullmatch(value):
        raise RuleBrokenError(
            "must be an image with a tag or a digest", "Write it like registry.example.com/mesh/collector:1.2.3"
        )
    return value


def duration(value: str) -> str:
    if not _DURATION.fullmatch(value):
        raise RuleBrokenError("must be a number of seconds or minutes", "Write it like 15s or 1m")
    return value


def receiver(value: str) -> str:
    if not _RECEIVER.fullmatch(value) or canonical.host_and_port(value) is None:
        raise RuleBrokenError("must be HOST:PORT of an OTLP receiver (gRPC)", "Write it like traces.example.com:4317")
    return value


def percent(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 100:
        raise RuleBrokenError("must be a number above 0, at most 100", "Write it like 1 or 0.1")
    return value


Percent = Annotated[float, BeforeValidator(percent), Field(json_schema_extra={"exclusiveMinimum": 0, "maximum": 100})]
CollectorPort = Annotated[Port, AfterValidator(collector_port)]
Receiver = Annotated[Text, AfterValidator(receiver)]
Image = Annotated[Text, AfterValidator(pinned_image)]
Duration = Annotated[Text, AfterValidator(duration)]


class CollectorLimits(Model):
    """Bounds of the tenant. Surplus series are dropped and counted in the collector's own metrics."""

    series: Annotated[int, Field(strict=True, ge=100, le=2_000_000)] = 50_000
    """Series of all proxies; a histogram counts as one."""
    proxy_series: Annotated[int, Field(strict=True, ge=10, le=100_000)] = 5_000
    """Series of one proxy."""
    streams: Annotated[int, Field(strict=True, ge=1, le=20_000)] = 2_000
    """Open streams, one for each proxy."""
    bytes_per_second: Annotated[int, Field(strict=True, ge=2**16, le=2**30)] = 8 * 2**20
    """Received bytes per second; four times as many may arrive at once."""

    @model_validator(mode="after")
    def _proxy_within_tenant(self) -> Self:
        if self.proxy_series > self.series:
            raise RuleBrokenError("proxySeries is more than series", "Lower proxySeries or raise series")
        return self


class PartResources(Model):
    """CPU and memory of a Pod, as Kubernetes quantities."""

    cpu_request: Cpu = "100m"
    """CPU that is reserved."""
    memory_request: Memory = "256Mi"
    """Memory that is reserved."""
    cpu_limit: Cpu = "1"
    """CPU that is not exceeded."""
    memory_limit: Memory = "1Gi"
    """Memory that is not exceeded."""

    @model_validator(mode="after")
    def _requests_within_limits(self) -> Self:
        for name in ("cpu", "memory"):
            if amount(getattr(self, f"{name}_request")) > amount(getattr(self, f"{name}_limit")):
                raise RuleBrokenError(f"{name}Request is more than {name}Limit", f"Lower {name}Request")
        return self


class Collector(Model):
    """The collector: proxies push to it over mTLS, Prometheus reads it."""

    placement: Placement = Placement.CONTROL_PLANE
    """Its cluster. With `data-plane` the user runs it, and `serverSecret` is required; `none` creates no collector."""
    host: HostName | None = None
    """DNS name that proxies connect to, and the name in its certificate. Required unless `none`."""
    port: CollectorPort = COLLECTOR_PORT
    """Port of the collector."""
    exposure: Exposure | None = None
    """How proxies reach it, as with istiod's. Required with `control-plane`."""
    image: Image | None = None
    """Image of `agents/metrics_collector`, built for your registry. Required unless `none`."""
    source: MetricsSource = MetricsSource.ACCESS_LOGGER
    """`access-logger`: Envoy's own statistics logger, by EnvoyFilter. `stats-filter`: Istio's filter, which the
    istio-proxy image has and a plain Envoy rejects. `access-log`: OTLP access logs by Telemetry, no EnvoyFilter. The
    mesh document has the same."""
    server_secret: DnsLabel | None = None
    """Name of an existing Secret in the namespace: `tls.crt`, `tls.key` for `host`, and `ca.crt` with the mesh's root.
    By default the component signs one with `cacerts`."""
    limits: CollectorLimits = CollectorLimits()
    """Bounds of the tenant."""
    resources: PartResources = PartResources()
    """CPU and memory of its Pod."""

    @property
    def is_signed(self) -> bool:
        """Whether the component signs its certificate."""
        return self.placement is Placement.CONTROL_PLANE and self.server_secret is None

    @model_validator(mode="after")
    def _is_reachable(self) -> Self:
        if self.placement is Placement.NONE:
            return self
        for name in ("host", "image"):
            if getattr(self, name) is None:
                raise RuleBrokenError(f"{name} is required by a collector", f"Add {name}, or set placement: none")
        if self.placement is Placement.CONTROL_PLANE and self.exposure is None:
            rule = "exposure is required on the control plane: without it no proxy reaches the collector"
            raise RuleBrokenError(rule, f"Add exposure with sourceRanges, or with kind: {EXTERNAL}")
        if self.placement is Placement.DATA_PLANE and self.server_secret is None:
            rule = "serverSecret is required on the data plane: a key signed on the control plane must not go there"
            raise RuleBrokenError(rule, "Create the Secret there, and name it")
        return self


class Prometheus(Model):
    """Prometheus of this mesh, with rules and alerts. It reads this mesh's collector only."""

    placement: Placement = Placement.CONTROL_PLANE
    """Its cluster: the collector's. `none` creates no Prometheus."""
    image: Image = "docker.io/prom/prometheus:v2.42.0"
    """Its image."""
    retention_days: Annotated[int, Field(strict=True, ge=1, le=400)] = 15
    """Days that series are kept."""
    scrape_interval: Duration = "15s"
    """Time between two readings. Envoy pushes every 10 s."""
    storage: Memory | None = None
    """Size of a PersistentVolumeClaim. By default series are lost with the Pod."""
    resources: PartResources = PartResources(memory_request="512Mi", memory_limit="2Gi")
    """CPU and memory of its Pod."""
    readers: tuple[DnsLabel, ...] = ()
    """Namespaces whose Pods may query it (port 9090)."""
    dashboard: Switch = True
    """A ConfigMap with a dashboard, which Grafana's sidecar finds by the label `grafana_dashboard`."""


class DebugProxy(Model):
    """The debug proxy: istioctl of the data plane's user reads the state of their proxies through it."""

    placement: Placement = Placement.CONTROL_PLANE
    """Its cluster: `control-plane`, where istiod is; `none` creates no debug proxy."""
    host: HostName | None = None
    """DNS name for `istioctl --xds-address`, and the name in its certificate. Required unless `none`."""
    port: CollectorPort = DEBUG_PROXY_PORT
    """Port of the debug proxy, TLS."""
    exposure: Exposure | None = None
    """How istioctl reaches it: `load-balancer` or `external`, with the ranges of the users' machines. Required unless
    `none`."""
    image: Image | None = None
    """Image of `agents/debug_proxy`, built for your registry. Required unless `none`."""
    server_secret: DnsLabel | None = None
    """Name of an existing Secret in the namespace: `tls.crt` and `tls.key` for `host`. By default the component signs
    one with `cacerts`."""
    resources: PartResources = PartResources(cpu_request="50m", memory_request="128Mi", memory_limit="512Mi")
    """CPU and memory of its Pod."""

    @property
    def is_signed(self) -> bool:
        """Whether the component signs its certificate."""
        return self.placement is Placement.CONTROL_PLANE and self.server_secret is None

    @model_validator(mode="after")
    def _is_reachable_beside_istiod(self) -> Self:
        if self.placement is Placement.NONE:
            return self
        if self.placement is Placement.DATA_PLANE:
            rule = "placement must be control-plane: istiod's debug port is not reachable from a data plane"
            raise RuleBrokenError(rule, "Set placement: control-plane, or none")
        for name in ("host", "image"):
            if getattr(self, name) is None:
                raise RuleBrokenError(f"{name} is required by a debug proxy", f"Add {name}, or set placement: none")
        if self.exposure is None:
            rule = "exposure is required: without it no istioctl reaches the debug proxy"
            raise RuleBrokenError(rule, f"Add exposure with sourceRanges, or with kind: {EXTERNAL}")
        if isinstance(self.exposure, GatewayExposure):
            rule = f"exposure.kind {GATEWAY} is for istiod's hosts alone"
            raise RuleBrokenError(rule, f"Set kind: {LOAD_BALANCER} or {EXTERNAL}")
        if isinstance(self.exposure, LoadBalancerExposure) and self.exposure.webhooks is not None:
            raise RuleBrokenError("exposure.webhooks is for istiod alone", "Remove it")
        return self


class Kiali(Model):
    """Kiali's server and page for this mesh, on the control plane. It reads, and never writes."""

    placement: Placement = Placement.CONTROL_PLANE
    """Its cluster: the control plane, or `none`."""
    image: Image = "quay.io/kiali/kiali:v1.89.8"
    """Its image."""
    login: KialiLogin = KialiLogin.ANONYMOUS
    """`anonymous`: the provider's view. Only `readers` reach Kiali: put your own login there. Its home is the control
    plane, and data planes are remote clusters. `token`: the user's view. Users log in with a token of their own
    cluster, which is the only one that Kiali reads."""
    data_planes: tuple[LabelValue, ...] = ()
    """Istio's names of the data planes' clusters. By default the mesh's own, `clusterId`."""
    api_server: ApiServer | None = None
    """Address of the mesh's own data plane's API server for Kiali's Pod, `https://HOST:PORT`; by default that of
    `dataPlane`. As `access.apiServer` of the mesh document."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify that address; by default those of `dataPlane`."""
    readers: tuple[DnsLabel, ...] = ()
    """Namespaces whose Pods may connect to it (port 20001). Required with `login: anonymous`."""
    resources: PartResources = PartResources(memory_request="128Mi")
    """CPU and memory of its Pod."""

    @model_validator(mode="after")
    def _is_behind_a_login(self) -> Self:
        if self.placement is Placement.DATA_PLANE:
            rule = "placement data-plane is not possible: Kiali runs beside Prometheus and its kubeconfigs"
            raise RuleBrokenError(rule, "Set placement: control-plane, or none")
        if self.placement is Placement.CONTROL_PLANE and self.login is KialiLogin.ANONYMOUS and not self.readers:
            rule = "readers is required with login: anonymous: everyone who reaches Kiali sees everything"
            raise RuleBrokenError(rule, "Add the namespace of the proxy with your login, or set login: token")
        if len(set(self.data_planes)) < len(self.data_planes):
            raise RuleBrokenError("dataPlanes has a name twice", "Remove one")
        if self.login is KialiLogin.TOKEN and len(self.data_planes) > 1:
            rule = "dataPlanes has several names, but a token is valid in one cluster"
            raise RuleBrokenError(rule, "Name one data plane, or set login: anonymous")
        if KIALI_HOME in self.data_planes:
            raise RuleBrokenError(f"dataPlanes has {KIALI_HOME}, Kiali's name of its own cluster", "Rename the cluster")
        return self


class Traces(Model):
    """Proxies send spans to the collector, which forwards them."""

    to: Receiver
    """The receiver, `HOST:PORT`: OTLP by gRPC. Jaeger, Tempo and OpenTelemetry's collector have it at 4317. With
    `plaintext`, NAME.NAMESPACE.svc:PORT."""
    sampling_percent: Percent = 1.0
    """Requests with a trace, per 100. A request that arrives with the decision of an earlier proxy follows it."""
    plaintext: Switch = False
    """True connects without TLS. Only for a Service of the collector's own cluster."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify the receiver's; by default the public authorities of the image."""
    bytes_per_second: Annotated[int, Field(strict=True, ge=2**16, le=2**30)] = 2**20
    """Received bytes per second, apart from those of metrics; four times as many may arrive at once."""
    queue_bytes: Annotated[int, Field(strict=True, ge=2**20, le=2**28)] = 16 * 2**20
    """Memory of the collector for spans while the receiver is away. Surplus spans are lost, and counted."""

    @property
    def namespace(self) -> str | None:
        """Namespace of the receiver, if it is a Service of the collector's own cluster."""
        found = _SERVICE.fullmatch(self._address[0])
        return found["namespace"] if found else None

    @property
    def port(self) -> int:
        """The receiver's port."""
        return self._address[1]

    @property
    def _address(self) -> tuple[str, int]:
        found = canonical.host_and_port(self.to)
        assert found is not None, "the validator of `to`"
        return found

    @model_validator(mode="after")
    def _is_encrypted_outside(self) -> Self:
        if self.plaintext and self.namespace is None:
            rule = "plaintext is for a Service of the collector's own cluster, and to is none"
            raise RuleBrokenError(rule, "Remove plaintext, or write to like jaeger.tracing.svc:4317")
        if self.plaintext and self.certificate_authority is not None:
            rule = "certificateAuthority has no effect with plaintext"
            raise RuleBrokenError(rule, "Remove one of the two")
        return self


class Observability(Model):
    """The view from outside on one mesh. Each part is on or off, and has a cluster."""

    setter = Setter.OPERATOR

    mesh: MeshName
    """Name of the mesh; also the label `tenant` of each series, as `<tenant>--<mesh>` with a tenant."""
    tenant: TenantName | None = None
    """The mesh document's `tenant`."""
    trust_domain: Domain | None = None
    """Trust domain of accepted identities; by default the mesh's default, `<mesh>.mesh.local`, or
    `<mesh>.<tenant>.mesh.local`."""
    cluster_id: LabelValue | None = None
    """Istio's name of the data plane's cluster; by default the mesh's name."""
    network: LabelValue = ""
    """Istio's name of the data plane's network."""
    namespace: DnsLabel | None = None
    """Namespace of collector, Prometheus and Kiali, created by the component; by default `obs-<mesh>`, or
    `obs--<tenant>--<mesh>` with a tenant."""
    collector: Collector = Collector(placement=Placement.NONE)
    """The collector; by default none."""
    prometheus: Prometheus = Prometheus(placement=Placement.NONE)
    """Prometheus; by default none."""
    kiali: Kiali = Kiali(placement=Placement.NONE)
    """Kiali; by default none."""
    access_logs: GatewayLogs = GatewayLogs.NONE
    """`gateways`: all gateways of the data plane, and no sidecar, write an access log to stdout."""
    traces: Traces | None = None
    """Traces; by default none."""
    debug_proxy: DebugProxy = DebugProxy(placement=Placement.NONE)
    """The debug proxy for istioctl; by default none."""
    wait_until_ready: Switch = True
    """False does not wait for the Pods and the load balancer."""

    @property
    def domain(self) -> str:
        """Trust domain of accepted identities."""
        return self.trust_domain or default_trust_domain(self.mesh, self.tenant)

    @property
    def owner(self) -> str:
        """The mesh's name, with its tenant's if it has one: unique on the control plane."""
        return owner_of(self.mesh, self.tenant)

    @property
    def istiods_namespace(self) -> str:
        """Namespace of istiod on the control plane."""
        return control_plane_namespace_of(self.mesh, self.tenant)

    @property
    def cluster_name(self) -> str:
        """Istio's name of the data plane's cluster."""
        return self.cluster_id or self.mesh

    @property
    def own_namespace(self) -> str:
        """Namespace of collector and Prometheus."""
        # No mesh's name begins with a hyphen, so no mesh without a tenant has this one.
        return self.namespace or (f"obs--{self.owner}" if self.tenant else f"obs-{self.mesh}")

    @property
    def kiali_data_planes(self) -> tuple[str, ...]:
        """Istio's names of the clusters that Kiali reads beside its own."""
        return self.kiali.data_planes or (self.cluster_name,)

    def placed(self, placement: Placement) -> bool:
        """Whether collector, Prometheus or the debug proxy has this placement."""
        return placement in (self.collector.placement, self.prometheus.placement, self.debug_proxy.placement)

    @property
    def has_data_plane_objects(self) -> bool:
        """Whether the data plane gets Istio objects."""
        pushes = self.collector.placement is not Placement.NONE
        return self.access_logs is GatewayLogs.GATEWAYS or (
            pushes and (self.collector.source is not MetricsSource.STATS_FILTER or self.traces is not None)
        )

    @model_validator(mode="after")
    def _prometheus_reads_a_collector(self) -> Self:
        if self.prometheus.placement is Placement.NONE:
            return self
        if self.collector.placement is Placement.NONE:
            rule = "prometheus has nothing to read without a collector"
            raise RuleBrokenError(rule, "Add collector, or set prometheus.placement: none")
        if self.prometheus.placement is not self.collector.placement:
            rule = "prometheus and collector have different placements, and the collector's metrics are not exposed"
            raise RuleBrokenError(rule, f"Set prometheus.placement: {self.collector.placement}")
        return self

    @model_validator(mode="after")
    def _traces_pass_the_collector(self) -> Self:
        if self.traces is None or self.collector.placement is not Placement.NONE:
            return self
        raise RuleBrokenError("traces has no collector to send spans to", "Add collector, or remove traces")

    @model_validator(mode="after")
    def _kiali_reads_prometheus(self) -> Self:
        if self.kiali.placement is Placement.NONE:
            return self
        if self.prometheus.placement is not Placement.CONTROL_PLANE:
            rule = "kiali has no traffic to show without prometheus on the control plane"
            raise RuleBrokenError(rule, "Set prometheus.placement: control-plane, or kiali.placement: none")
        if self.cluster_name == KIALI_HOME:
            rule = f"clusterId is {KIALI_HOME}, Kiali's name of its own cluster"
            raise RuleBrokenError(rule, "Choose another clusterId, or set kiali.placement: none")
        return self

    @model_validator(mode="after")
    def _has_a_part(self) -> Self:
        on = self.placed(Placement.CONTROL_PLANE) or self.placed(Placement.DATA_PLANE)
        if not on and self.access_logs is GatewayLogs.NONE:
            raise RuleBrokenError("has no part that is on", "Add collector, or set accessLogs: gateways")
        return self

    @model_validator(mode="after")
    def _one_load_balancer_has_a_name(self) -> Self:
        parts = [one for one in (self.collector, self.debug_proxy) if one.placement is not Placement.NONE]
        balanced = [one.host for one in parts if isinstance(one.exposure, LoadBalancerExposure)]
        if len(balanced) > len(set(balanced)):
            rule = "collector and debugProxy have one host, and a load balancer each"
            raise RuleBrokenError(rule, "Give debugProxy a host of its own")
        return self

    @model_validator(mode="after")
    def _namespace_is_its_own(self) -> Self:
        if len(self.own_namespace) > LIMITS["namespace"]:
            rule = f"namespace would be {self.own_namespace}, longer than {LIMITS['namespace']} characters"
            raise RuleBrokenError(rule, "Set namespace")
        if self.own_namespace in (namespace_of(self.mesh), self.istiods_namespace):
            raise RuleBrokenError("namespace is the mesh's, with a quota for istiod alone", "Choose another namespace")
        return self


class ObservabilityStack(Model):
    """The stack `observability`: the document, and the clusters of its parts."""

    setter = Setter.OPERATOR

    control_plane: ClusterReference | None = None
    """The control plane's cluster. Required by parts that are placed there."""
    data_plane: ClusterReference | None = None
    """The data plane's cluster. Its Istio objects are left out without it."""
    observability: Observability
    """The parts."""
