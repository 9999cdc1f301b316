"""What platform teams set for all proxies of a revision: Istio's mesh config, typed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from pulumi_hosted_mesh.spec.fields import Cpu, DnsLabel, Memory, Model, Text


class LogEncoding(StrEnum):
    """Form of a line of an access log."""

    TEXT = "TEXT"
    JSON = "JSON"


class AccessLog(Model):
    """Envoy's access log, of sidecars and gateways."""

    file: Text = "/dev/stdout"
    """Where it is written, in the proxy's container."""
    encoding: LogEncoding = LogEncoding.TEXT
    """`TEXT` or `JSON`."""
    format: Text | None = None
    """Envoy's format of a line; by default Istio's."""


class OutboundTraffic(StrEnum):
    """What a proxy does with a request to a host that the mesh does not know."""

    ALLOW_ANY = "ALLOW_ANY"
    REGISTRY_ONLY = "REGISTRY_ONLY"


class ProxyResources(Model):
    """CPU and memory of each sidecar, as Kubernetes quantities; by default the chart's."""

    cpu_request: Cpu | None = None
    """CPU that is reserved."""
    memory_request: Memory | None = None
    """Memory that is reserved."""
    cpu_limit: Cpu | None = None
    """CPU that is not exceeded."""
    memory_limit: Memory | None = None
    """Memory that is not exceeded."""


class Proxies(Model):
    """Settings of all proxies."""

    access_log: AccessLog | None = None
    """Access logs of sidecars and gateways; by default off."""
    outbound_traffic: OutboundTraffic = OutboundTraffic.ALLOW_ANY
    """`REGISTRY_ONLY` refuses hosts that the mesh does not know."""
    hold_application: Annotated[bool, Field(strict=True)] = False
    """True starts a Pod's application only once its proxy is ready."""
    resources: ProxyResources = ProxyResources()
    """CPU and memory of each sidecar."""
    image_pull_secrets: tuple[DnsLabel, ...] = ()
    """Names of Secrets with a registry's login, which must exist in each namespace with sidecars."""
