"""The `controlPlane` part of the document: istiod in the provider's cluster, and its exposure to the data plane."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.fields import Cidr, HostName, Model, Quantity, Text


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
    annotations: dict[str, Text] = {}
    """More annotations for the Service, where a cloud's load balancer wants some."""
    load_balancer_class: Text | None = None
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
        return self


class Resources(Model):
    """CPU and memory of istiod's Pod. The limits also size the namespace's quota."""

    cpu_request: Quantity = "250m"
    """CPU that is reserved."""
    memory_request: Quantity = "512Mi"
    """Memory that is reserved."""
    cpu_limit: Quantity = "2"
    """CPU that is not exceeded; istiod takes its number of threads from it."""
    memory_limit: Quantity = "2Gi"
    """Memory that is not exceeded."""


class Istiod(Model):
    """The Deployment of istiod."""

    replicas: Annotated[int, Field(strict=True, ge=1, le=20)] = 2
    """Number of Pods. From 2 on they are spread over nodes, and a PodDisruptionBudget keeps one. With 1, whatever takes
    its node stops the creation of injected Pods in the user's cluster, for the webhooks fail closed."""
    resources: Resources = Resources()
    """CPU and memory of each Pod."""
    requests_per_second: Annotated[int, Field(strict=True, ge=1, le=10000)] = 50
    """New xDS connections that one Pod accepts per second; more wait. Keeps one mesh's storm from starving others."""
    log_level: Annotated[Text, Field(pattern=r"^[a-z]+:[a-z]+(,[a-z]+:[a-z]+)*$")] = "default:info"
    """Istio's log levels, `scope:level` separated by commas."""
    environment: dict[str, Text] = {}
    """More environment variables of istiod. Those that the split depends on cannot be overridden."""
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
