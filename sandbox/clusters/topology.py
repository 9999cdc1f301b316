"""The clusters of a sandbox: plain data, checked on construction. addresses.py computes their addresses."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from sandbox.clusters.network.addresses import MOST_CLUSTERS, MOST_NODES, WAN, WAN_SUBNET

Role = Literal["control-plane", "data-plane"]
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,13}[a-z0-9])?")
_SMALLEST_PODS = 22  # prefix length: each of ten nodes still has 64 addresses
_LARGEST_SERVICES, _SMALLEST_SERVICES = 12, 24  # prefix lengths; the first is kube-apiserver's limit


def _link_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in (WAN, "lo"):
        raise ValueError(
            f"{name!r} cannot be a cluster's name: it becomes a context, a host name and a network link, so at most 15 "
            f"lower-case letters, digits and dashes, a letter first, and neither {WAN!r} nor 'lo'"
        )
    return name


class ClusterSpec(BaseModel, extra="forbid", frozen=True):
    """One cluster.

    name: also its context, its network and part of its host name. role: exactly one cluster is the control plane's, the
    others are data planes. pods, services: IPv4 ranges; other clusters may have the same ones. zones: one node for
    each entry, labelled with that zone; an entry may appear twice. region: of all its nodes.
    """

    name: Annotated[str, AfterValidator(_link_name)]
    role: Role = "data-plane"
    pods: IPv4Network = IPv4Network("10.89.0.0/16")
    services: IPv4Network = IPv4Network("10.97.0.0/16")
    zones: tuple[str, ...] = Field(default=("a",), min_length=1, max_length=MOST_NODES)
    region: str = "sandbox"

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if self.pods.prefixlen > _SMALLEST_PODS:
            raise ValueError(f"cluster {self.name}: pods {self.pods} must be /{_SMALLEST_PODS} or larger")
        if not _LARGEST_SERVICES <= self.services.prefixlen <= _SMALLEST_SERVICES:
            raise ValueError(f"cluster {self.name}: services {self.services} must be between /12 and /24")
        for one, other in ((self.pods, self.services), (self.pods, WAN_SUBNET), (self.services, WAN_SUBNET)):
            if one.overlaps(other):
                raise ValueError(
                    f"cluster {self.name}: {one} overlaps {other}: choose ranges apart from each other and from "
                    f"{WAN_SUBNET}, the network between the clusters"
                )
        return self


class Topology(BaseModel, extra="forbid", frozen=True):
    """The clusters of one sandbox: exactly one control plane, and data planes. A cluster's place decides its addresses.

    Raises pydantic.ValidationError, which names the field, the rule and the fix.
    """

    clusters: tuple[ClusterSpec, ...] = Field(max_length=MOST_CLUSTERS)

    @classmethod
    def of(cls, clusters: int = 2) -> Topology:
        """That many: `control-plane`, `data-plane`, `data-plane-2` and so on. Data planes share a Pod range."""
        control_plane = ClusterSpec(
            name="control-plane",
            role="control-plane",
            pods=IPv4Network("10.88.0.0/16"),
            services=IPv4Network("10.96.0.0/16"),
        )
        names = ["data-plane", *(f"data-plane-{number}" for number in range(2, clusters))][: clusters - 1]
        return cls(clusters=(control_plane, *(ClusterSpec(name=name) for name in names)))

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [one.name for one in self.clusters]
        if len(names) != len(set(names)):
            raise ValueError(f"clusters {', '.join(names)}: each needs a name of its own")
        if [one.role for one in self.clusters].count("control-plane") != 1:
            raise ValueError(f"clusters {', '.join(names)}: exactly one has the role control-plane")
        return self

    def begins_with(self, other: Topology) -> bool:
        """Whether this topology begins with the other's clusters, unchanged: then their addresses stay the same."""
        return self.clusters[: len(other.clusters)] == other.clusters

    def __str__(self) -> str:
        return ", ".join(one.name for one in self.clusters)
