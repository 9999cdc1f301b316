"""The `controlPlane` part of the document: the cluster, and the mesh's namespace in it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.fields import Cidr, DnsLabel, Model, Port, Switch
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.issuer_ranges import PrivateRange
from pulumi_hosted_mesh.spec.reasons import Reason


class NetworkPolicy(Model):
    """Allowed connections to istiod inside the cluster, and from istiod."""

    api_server_ranges: tuple[Cidr, ...] = ()
    """Addresses of the data planes' API servers, in CIDR form. An empty list allows any address on their ports."""
    fetch_jwks: Switch = True
    """True allows connections to port 443 of any public address: istiod fetches the keys of the token issuers that a
    RequestAuthentication names. Set false if each RequestAuthentication contains its keys (`jwks`)."""
    issuer_ranges: tuple[PrivateRange, ...] = ()
    """Private ranges with token issuers that istiod may fetch keys from, in CIDR form. All other private addresses are
    blocked, by istiod and by the NetworkPolicy; loopback and link-local ones always are."""
    metrics_from: tuple[DnsLabel, ...] = ()
    """Namespaces with access to istiod's metrics (port 15014), for example the namespace of Prometheus."""
    dns_ports: tuple[Port, ...] = (53,)
    """Ports of the cluster's DNS Pods, UDP and TCP. A NetworkPolicy applies to the Pod's port, not to the Service's:
    add 5353 on OpenShift."""

    @field_validator("dns_ports")
    @classmethod
    def _some(cls, ports: tuple[int, ...]) -> tuple[int, ...]:
        if not ports:
            raise RuleBrokenError("is empty, but istiod resolves API servers by DNS", "Add a port, or leave it out")
        return ports


class ControlPlane(Model):
    """The settings that all revisions of a mesh share in the control plane's cluster."""

    cluster: ClusterReference | None = None
    """The control plane's cluster. Required by stacks with resources there."""
    network_policy: NetworkPolicy = NetworkPolicy()
    """The NetworkPolicy of the mesh's namespace."""
    egress_ranges: tuple[Cidr, ...] = ()
    """Source addresses of istiod's connections outside of the control plane's network, such as its NAT gateways', in
    CIDR form. The output `api_server_clients` has them, for the owners of the data planes' API servers."""
    priority: Annotated[int, Field(strict=True, ge=-1_000_000, le=1_000_000_000)] | None = None
    """Creates a PriorityClass with this value for the mesh's istiods, with the namespace's name. Pods of a higher value
    are scheduled first; they evict no others. By default there is none."""
    remove_in_use: dict[RevisionName, Reason] = {}
    """Revisions that `pulumi up` and `pulumi destroy` may remove while proxies are connected or webhooks point to them,
    each with the reason: `{default: the data plane's cluster is gone}`. Without an entry such a removal is rejected."""
