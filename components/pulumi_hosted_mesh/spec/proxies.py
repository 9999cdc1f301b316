"""Settings of all proxies of a revision: a typed part of Istio's mesh config."""

from __future__ import annotations

from enum import StrEnum

from pulumi_hosted_mesh.spec.fields import Cpu, DnsLabel, HostName, Memory, Model, Switch, Text
from pulumi_hosted_mesh.spec.observability import CollectorPort, MetricsSource
from pulumi_hosted_mesh.vocabulary import COLLECTOR_PORT


class LogEncoding(StrEnum):
    """Encoding of an access log."""

    TEXT = "TEXT"
    JSON = "JSON"


class AccessLog(Model):
    """Envoy's access log in sidecars and gateways."""

    file: Text = "/dev/stdout"
    """Path in the proxy's container."""
    encoding: LogEncoding = LogEncoding.TEXT
    """`TEXT` or `JSON`."""
    format: Text | None = None
    """Envoy's format of a line; by default Istio's format."""


class PushedMetrics(Model):
    """The collector that proxies push their metrics to; part of their bootstrap. Traces go to the same address.

    They are on if the observability document has `traces`."""

    host: HostName
    """DNS name of the collector, and the name that proxies require in its certificate."""
    port: CollectorPort = COLLECTOR_PORT
    """Its port."""
    source: MetricsSource = MetricsSource.ACCESS_LOGGER
    """As in the observability document."""


class OutboundTraffic(StrEnum):
    """A proxy's reaction to a request to a host outside of the mesh's registry."""

    ALLOW_ANY = "ALLOW_ANY"
    REGISTRY_ONLY = "REGISTRY_ONLY"


class ProxyResources(Model):
    """CPU and memory of each sidecar, as Kubernetes quantities; by default the chart's values."""

    cpu_request: Cpu | None = None
    """Requested CPU."""
    memory_request: Memory | None = None
    """Requested memory."""
    cpu_limit: Cpu | None = None
    """CPU limit."""
    memory_limit: Memory | None = None
    """Memory limit."""


class Proxies(Model):
    """Settings of all proxies."""

    access_log: AccessLog | None = None
    """Access logs of sidecars and gateways; by default off."""
    outbound_traffic: OutboundTraffic = OutboundTraffic.ALLOW_ANY
    """`REGISTRY_ONLY` blocks requests to hosts outside of the mesh's registry."""
    hold_application: Switch = False
    """True: a Pod's application starts after its proxy is ready."""
    resources: ProxyResources = ProxyResources()
    """CPU and memory of each sidecar."""
    image_pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of Secrets with registry credentials. They must exist in each namespace with sidecars."""
    metrics: PushedMetrics | None = None
    """Where proxies push their metrics; by default nowhere. A change counts for Pods that start after it."""
