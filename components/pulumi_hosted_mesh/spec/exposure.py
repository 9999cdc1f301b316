"""The data plane's way to istiod: one model for each `kind`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import (
    Cidr,
    HostName,
    Model,
    Port,
    QualifiedName,
    Switch,
    Text,
    covers_every_address,
)
from pulumi_hosted_mesh.vocabulary import HTTPS_PORT, WEBHOOK_PORT, XDS_PORT

LOAD_BALANCER: Final = "load-balancer"
EXTERNAL: Final = "external"
GATEWAY: Final = "gateway"
KINDS: Final = (LOAD_BALANCER, EXTERNAL, GATEWAY)


@dataclass(frozen=True)
class IstiodAddress:
    """The data plane's address of istiod, besides its host. webhook_host: None for the same host."""

    webhook_host: str | None = None
    xds_port: int = XDS_PORT
    webhook_port: int = WEBHOOK_PORT


class Allowed(Model):
    """Allowed client addresses."""

    source_ranges: tuple[Cidr, ...] = ()
    """Allowed client addresses, in CIDR form."""
    open_to_all: Switch = False
    """True allows every address. An empty `sourceRanges` without it is rejected."""

    @model_validator(mode="after")
    def _open_to_all_is_explicit(self) -> Self:
        refuse_unlimited(self.source_ranges, self.open_to_all)
        return self


class WebhookExposure(Allowed):
    """The webhooks' own name and ranges, for the API server alone."""

    host: HostName
    """DNS name of the webhooks, different from the revision's `host`; also in istiod's certificate."""


class LoadBalancerExposure(Allowed):
    """A Service of type LoadBalancer for the revision: ports 15012 (xDS and CA, mTLS) and 15017 (webhooks, TLS).

    istiod terminates TLS. `sourceRanges` are the outgoing addresses of the data plane's nodes and its API server.
    """

    kind: Literal["load-balancer"] = LOAD_BALANCER
    """`load-balancer`: a Service for this revision. `gateway`: a host of the gateway that meshes share. `external`:
    nothing is created, and an integrator routes the host to ports 15012 and 15017 of istiod's Service."""
    webhooks: WebhookExposure | None = None
    """Moves port 15017 to a second Service, with the API server's ranges. `sourceRanges` are then the nodes' alone. By
    default both ports share one load balancer."""
    publish_name: Switch = True
    """True sets external-dns' annotation, which publishes the host with the load balancer's address."""
    annotations: dict[QualifiedName, Text] = {}
    """More annotations for the Service, for example for a cloud's load balancer."""
    load_balancer_class: QualifiedName | None = None
    """`spec.loadBalancerClass` of the Service."""
    allocate_node_ports: Switch = False
    """Set true if the load balancer requires NodePorts. `sourceRanges` do not limit access to NodePorts."""

    @property
    def address(self) -> IstiodAddress:
        """Its ports are those of istiod."""
        return IstiodAddress(self.webhooks.host if self.webhooks else None)


class ExternalExposure(Model):
    """No Service: an integrator routes the host to ports 15012 and 15017 of istiod's Service, TLS untouched."""

    kind: Literal["external"]
    """`external`."""
    webhook_host: HostName | None = None
    """DNS name of the webhooks; by default the revision's `host`. Also in istiod's certificate."""
    xds_port: Port = XDS_PORT
    """Port of xDS and the CA for the data plane."""
    webhook_port: Port = WEBHOOK_PORT
    """Port of the webhooks for the data plane."""

    @property
    def address(self) -> IstiodAddress:
        """As the integrator's route has it."""
        return IstiodAddress(self.webhook_host, self.xds_port, self.webhook_port)

    @model_validator(mode="after")
    def _names_or_ports_differ(self) -> Self:
        refuse_one_name_and_port(self.address)
        return self


class GatewayExposure(Allowed):
    """Hosts of the gateway that the meshes of this control plane's cluster share, TLS untouched.

    The stack `gateway` creates it. `sourceRanges` are the outgoing addresses of the data plane's nodes, and of its API
    server if the webhooks share the host.
    """

    kind: Literal["gateway"]
    """`gateway`."""
    webhooks: WebhookExposure | None = None
    """The webhooks' own host, with the API server's ranges. Required if both ports are the same."""
    xds_port: Port = HTTPS_PORT
    """Port of xDS and the CA, one of the gateway's `ports`."""
    webhook_port: Port = HTTPS_PORT
    """Port of the webhooks, one of the gateway's `ports`."""
    connections: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 2000
    """Open connections to each of its hosts, per Pod of the gateway. Further ones are closed."""
    new_connections_per_second: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 100
    """New connections to each of its hosts in a second, per Pod of the gateway. Further ones are closed."""

    @property
    def address(self) -> IstiodAddress:
        """As the gateway serves it."""
        return IstiodAddress(self.webhooks.host if self.webhooks else None, self.xds_port, self.webhook_port)

    @model_validator(mode="after")
    def _names_or_ports_differ(self) -> Self:
        refuse_one_name_and_port(self.address)
        return self


def kind_of(value: Any) -> str:
    """The kind of an exposure; by default `load-balancer`."""
    found = value.get("kind", LOAD_BALANCER) if isinstance(value, dict) else getattr(value, "kind", LOAD_BALANCER)
    return str(found)


Exposure = Annotated[
    Annotated[LoadBalancerExposure, Tag(LOAD_BALANCER)]
    | Annotated[ExternalExposure, Tag(EXTERNAL)]
    | Annotated[GatewayExposure, Tag(GATEWAY)],
    Discriminator(kind_of),
]
"""The data plane's way to istiod."""


def refuse_one_name_and_port(address: IstiodAddress) -> None:
    """Raises RuleBrokenError if xDS and the webhooks could not be told apart."""
    if address.webhook_host is None and address.xds_port == address.webhook_port:
        raise RuleBrokenError(
            f"has one host and port {address.xds_port} for xDS and the webhooks, which the server name alone separates",
            "Give the webhooks a host of their own, or set another webhookPort",
        )


def refuse_unlimited(ranges: Sequence[str], open_to_all: bool) -> None:
    """Raises RuleBrokenError for ranges without effect, unless open_to_all is set."""
    if not ranges and not open_to_all:
        raise RuleBrokenError(
            "sourceRanges is empty, which would let every address connect",
            "List the data plane's ranges, or set openToAll: true to allow every address",
        )
    if ranges and open_to_all:
        raise RuleBrokenError("openToAll contradicts sourceRanges", "Remove one of the two")
    if covers_every_address(ranges):
        raise RuleBrokenError(
            "sourceRanges together admit every address",
            "List the data plane's ranges alone, or remove all and set openToAll: true to allow every address",
        )
