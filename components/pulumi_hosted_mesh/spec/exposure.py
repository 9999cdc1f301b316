"""How the data plane reaches istiod: one model per way, told apart by `kind`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Cidr, HostName, Model, QualifiedName, Text, covers_every_address

LOAD_BALANCER: Final = "load-balancer"
EXTERNAL: Final = "external"


class Allowed(Model):
    """Who may connect."""

    source_ranges: tuple[Cidr, ...] = ()
    """Addresses that may connect, in CIDR form."""
    open_to_all: Annotated[bool, Field(strict=True)] = False
    """True admits every address. It must be said: no source ranges alone is refused."""

    @model_validator(mode="after")
    def _open_only_if_said(self) -> Self:
        refuse_unlimited(self.source_ranges, self.open_to_all)
        return self


class WebhookExposure(Allowed):
    """The webhooks on a load balancer of their own, for the API server alone."""

    host: HostName
    """DNS name of the webhooks: two load balancers need two names. Also in istiod's certificate."""


class LoadBalancerExposure(Allowed):
    """A Service of type LoadBalancer of the revision's own: ports 15012 (xDS and CA, mTLS) and 15017 (webhooks, TLS).

    TLS ends in istiod. `sourceRanges` are those under which the data plane's nodes and its API server leave.
    """

    kind: Literal["load-balancer"] = LOAD_BALANCER
    """`load-balancer`. The other kind is `external`, for which nothing is made, and which takes no other field: an
    integrator leads the host to ports 15012 and 15017 of istiod's Service."""
    webhooks: WebhookExposure | None = None
    """Puts port 15017 on a second Service with ranges of its own: those of the API server. `sourceRanges` are then the
    nodes' alone. By default both ports share one load balancer."""
    publish_name: Annotated[bool, Field(strict=True)] = True
    """True asks external-dns, by its annotation, to publish the host with the load balancer's address."""
    annotations: dict[QualifiedName, Text] = {}
    """More annotations for the Service, where a cloud's load balancer wants some."""
    load_balancer_class: QualifiedName | None = None
    """`spec.loadBalancerClass` of the Service."""
    allocate_node_ports: Annotated[bool, Field(strict=True)] = False
    """True where the load balancer sends to NodePorts. Those are not limited by `sourceRanges`."""


class ExternalExposure(Model):
    """Nothing is made: an integrator leads the host to ports 15012 and 15017 of istiod's Service, TLS untouched."""

    kind: Literal["external"]
    """`external`."""


def kind_of(value: Any) -> str:
    """The tag of an exposure; a load balancer's may be left out."""
    found = value.get("kind", LOAD_BALANCER) if isinstance(value, dict) else getattr(value, "kind", LOAD_BALANCER)
    return str(found)


Exposure = Annotated[
    Annotated[LoadBalancerExposure, Tag(LOAD_BALANCER)] | Annotated[ExternalExposure, Tag(EXTERNAL)],
    Discriminator(kind_of),
]
"""How the data plane reaches istiod."""


def refuse_unlimited(ranges: Sequence[str], open_to_all: bool) -> None:
    """Raises RuleBrokenError for ranges that limit nothing, unless that is said."""
    if not ranges and not open_to_all:
        raise RuleBrokenError(
            "sourceRanges is empty, which would let every address connect",
            "List the data plane's ranges, or set openToAll: true if that is meant",
        )
    if ranges and open_to_all:
        raise RuleBrokenError("openToAll contradicts sourceRanges", "Remove one of the two")
    if covers_every_address(ranges):
        raise RuleBrokenError(
            "sourceRanges together admit every address",
            "List the data plane's ranges alone, or remove all and set openToAll: true if that is meant",
        )
