"""The `controlPlane` part of the document: the cluster, and the mesh's namespace in it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.fields import Cidr, DnsLabel, Model


class NetworkPolicy(Model):
    """Who may connect to istiod inside the cluster, and what istiod may connect to beside the DNS."""

    api_server_ranges: tuple[Cidr, ...] = ()
    """Addresses of the data planes' API servers, in CIDR form. Empty admits any address on those servers' ports."""
    fetch_jwks: Annotated[bool, Field(strict=True)] = True
    """True opens port 443 of any address: there istiod fetches the keys of token issuers that a RequestAuthentication
    of the data plane names. False where those hold the keys themselves (`jwks`) or there are none."""
    metrics_from: tuple[DnsLabel, ...] = ()
    """Namespaces whose Pods may read istiod's metrics (port 15014), for example Prometheus'."""
    dns_ports: tuple[Annotated[int, Field(strict=True, ge=1, le=65535)], ...] = (53,)
    """Ports at which istiod may ask the DNS, UDP and TCP. A NetworkPolicy sees a connection once the Service sent it to
    a Pod, so where the Pods of the DNS listen at another port it has to be here: 5353 on OpenShift."""

    @field_validator("dns_ports")
    @classmethod
    def _some(cls, ports: tuple[int, ...]) -> tuple[int, ...]:
        if not ports:
            raise RuleBrokenError("is empty, and istiod finds API servers by name", "Add a port, or leave it out")
        return ports


class ControlPlane(Model):
    """What the control plane's cluster has once per mesh, whatever its revisions."""

    cluster: ClusterReference | None = None
    """The control plane's cluster. Not needed by stacks that do not touch it."""
    network_policy: NetworkPolicy = NetworkPolicy()
    """The NetworkPolicy of the mesh's namespace."""
