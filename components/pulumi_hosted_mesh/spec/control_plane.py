"""The `controlPlane` part of the document: istiod in the provider's cluster, and its exposure to the data plane."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.fields import (
    Cidr,
    Cpu,
    HostName,
    LogLevels,
    Memory,
    Model,
    QualifiedName,
    Text,
    Variable,
    VariableValue,
    amount,
    covers_every_address,
)

CHARTS_ENVIRONMENT = frozenset(
    {
        "CLUSTER_ID",
        "EXTERNAL_ISTIOD",
        "GOMAXPROCS",
        "KUBECONFIG",
        "PILOT_CERT_PROVIDER",
        "PILOT_ENABLE_ANALYSIS",
        "PILOT_TRACE_SAMPLING",
        "PLATFORM",
        "POD_NAME",
        "POD_NAMESPACE",
        "REVISION",
        "SERVICE_ACCOUNT",
    }
)
"""What Istio's chart sets in istiod's environment. It would add a name a second time, and API servers refuse that."""
OUR_ENVIRONMENT = frozenset(
    {
        "DEFAULT_WORKLOAD_CERT_TTL",
        "INJECTION_WEBHOOK_CONFIG_NAME",
        "ISTIOD_CUSTOM_HOST",
        "MAX_WORKLOAD_CERT_TTL",
        "PILOT_ENABLE_CA_CRL",
        "PILOT_ENABLE_GATEWAY_API",
        "PILOT_ENABLE_IP_AUTOALLOCATE",
        "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER",
        "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION",
        "PILOT_ENABLE_XDS_IDENTITY_CHECK",
        "PILOT_MAX_REQUESTS_PER_SECOND",
        "PILOT_MULTICLUSTER_KUBECONFIG_PATH",
        "USE_REMOTE_CERTS",
        "VALIDATION_WEBHOOK_CONFIG_NAME",
    }
)
"""What this library sets there, see `istiod_values.environment`."""


def unreserved(name: str) -> str:
    if name in CHARTS_ENVIRONMENT | OUR_ENVIRONMENT:
        raise RuleBrokenError("is set already, by Istio's chart or for the split", "Leave it out")
    return name


class ExposureKind(StrEnum):
    """How the data plane reaches istiod."""

    LOAD_BALANCER = "load-balancer"


class Exposure(Model):
    """The way from the data plane to istiod: ports 15012 (mTLS) and 15017 (TLS, webhooks), nothing else."""

    kind: ExposureKind = ExposureKind.LOAD_BALANCER
    """`load-balancer`: a Service of type LoadBalancer of the mesh's own; TLS ends in istiod."""
    source_ranges: tuple[Cidr, ...] = ()
    """Addresses that may connect, in CIDR form: those under which the data plane's nodes and API server leave."""
    open_to_all: Annotated[bool, Field(strict=True)] = False
    """True admits every address. It must be said: no source ranges alone is refused."""
    publish_name: Annotated[bool, Field(strict=True)] = True
    """True asks external-dns, by its annotation, to publish `host` with the load balancer's address."""
    annotations: dict[QualifiedName, Text] = {}
    """More annotations for the Service, where a cloud's load balancer wants some."""
    load_balancer_class: QualifiedName | None = None
    """`spec.loadBalancerClass` of the Service."""
    allocate_node_ports: Annotated[bool, Field(strict=True)] = False
    """True where the load balancer sends to NodePorts. Those are not limited by `sourceRanges`."""

    @model_validator(mode="after")
    def _open_only_if_said(self) -> Self:
        if not self.source_ranges and not self.open_to_all:
            raise RuleBrokenError(
                "sourceRanges is empty, which would let every address connect",
                "List the data plane's ranges, or set openToAll: true if that is meant",
            )
        if self.source_ranges and self.open_to_all:
            raise RuleBrokenError("openToAll contradicts sourceRanges", "Remove one of the two")
        if covers_every_address(self.source_ranges):
            raise RuleBrokenError(
                "sourceRanges together admit every address",
                "List the data plane's ranges alone, or remove all and set openToAll: true if that is meant",
            )
        return self


class Resources(Model):
    """CPU and memory of istiod's Pod, as Kubernetes quantities. The limits also size the namespace's quota."""

    cpu_request: Cpu = "250m"
    """CPU that is reserved."""
    memory_request: Memory = "512Mi"
    """Memory that is reserved."""
    cpu_limit: Cpu = "2"
    """CPU that is not exceeded; istiod takes its number of threads from it."""
    memory_limit: Memory = "2Gi"
    """Memory that is not exceeded."""

    @model_validator(mode="after")
    def _requests_within_limits(self) -> Self:
        for name, request, limit in (
            ("cpu", self.cpu_request, self.cpu_limit),
            ("memory", self.memory_request, self.memory_limit),
        ):
            if amount(request) > amount(limit):
                defaults = [type(self).model_fields[f"{name}_{kind}"].default for kind in ("request", "limit")]
                raise RuleBrokenError(
                    f"{name}Request is more than {name}Limit (where not given they are {' and '.join(defaults)})",
                    f"Lower {name}Request or raise {name}Limit",
                )
        return self


class Istiod(Model):
    """The Deployment of istiod."""

    replicas: Annotated[int, Field(strict=True, ge=1, le=20)] = 2
    """Number of Pods. From 2 on they are spread over nodes, and a PodDisruptionBudget keeps one. With 1, whatever takes
    its node stops the creation of injected Pods in the user's cluster, for the webhooks fail closed."""
    resources: Resources = Resources()
    """CPU and memory of each Pod."""
    requests_per_second: Annotated[int, Field(strict=True, ge=1, le=10000)] = 50
    """New xDS connections that one Pod accepts per second; more wait. Keeps one mesh's storm from starving others."""
    log_level: LogLevels = "default:info"
    """Istio's log levels, `scope:level` separated by commas; none, error, warn, info, debug or fatal."""
    environment: dict[Annotated[Variable, AfterValidator(unreserved)], VariableValue] = {}
    """More environment variables of istiod. Those that its chart or the split sets are refused."""
    wait_until_ready: Annotated[bool, Field(strict=True)] = True
    """False lets `pulumi up` end before istiod runs: for clusters without nodes, as the engine tests have."""


class NetworkPolicy(Model):
    """What istiod may connect to beside the DNS. Ranges of addresses, for a NetworkPolicy knows no names."""

    api_server_ranges: tuple[Cidr, ...] = ()
    """Addresses of the user's API server, in CIDR form. Empty admits any address on that server's port."""
    fetch_jwks: Annotated[bool, Field(strict=True)] = True
    """True opens port 443 of any address: there istiod fetches the keys of token issuers that a RequestAuthentication
    of the user's names. False where those hold the keys themselves (`jwks`) or there are none."""


class ControlPlane(Model):
    """What is made in the provider's cluster."""

    cluster: ClusterReference | None = None
    """The provider's cluster. Not needed by the stacks `access` and `data-plane`."""
    host: HostName
    """DNS name under which the data plane reaches istiod. Also in its certificate."""
    exposure: Exposure
    """How istiod is reached, and by whom."""
    network_policy: NetworkPolicy = NetworkPolicy()
    """What istiod may connect to."""
    istiod: Istiod = Istiod()
    """How many Pods of it, how large, and their settings."""
