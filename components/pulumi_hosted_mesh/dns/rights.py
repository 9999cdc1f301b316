"""What the bridge may do on an edge: two accounts, each with the least. Pure data.

`publisher` is what reads DNSEndpoints beside a provider's credentials, `reader` what finds names and makes DNSEndpoints
of them. Neither may read a Secret, a Pod or a ConfigMap, and nothing but DNSEndpoints can be written.
"""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_hosted_mesh.spec.dns import Source
from pulumi_hosted_mesh.spec.features import READ, Rule

DNS_GROUP = "externaldns.k8s.io"
PUBLISHER = (Rule(DNS_GROUP, ("dnsendpoints",), READ),)
OWN_PUBLISHER = (*PUBLISHER, Rule(DNS_GROUP, ("dnsendpoints/status",), ("update",)))
"""On the control plane, for the program's own records, and for their conditions too."""
READER = (
    Rule(DNS_GROUP, ("dnsendpoints",), READ),
    Rule(DNS_GROUP, ("dnsendpoints/status",), ("update",)),
)
"""Beside what its sources need: conditions on every DNSEndpoint, those of users too."""
WRITER = (Rule(DNS_GROUP, ("dnsendpoints",), ("create", "update", "delete")),)
"""In the bridge's own namespace on the edge alone."""

_ISTIO = "networking.istio.io"
# external-dns/source/istio_gateway.go: targets are Services' addresses, or an Ingress' that the Gateway names.
_SOURCES: dict[Source, tuple[Rule, ...]] = {
    Source.ISTIO_GATEWAY: (
        Rule(_ISTIO, ("gateways",), READ),
        Rule("", ("services",), READ),
        Rule("networking.k8s.io", ("ingresses",), READ),
    ),
    Source.ISTIO_VIRTUALSERVICE: (
        Rule(_ISTIO, ("gateways", "virtualservices"), READ),
        Rule("", ("services",), READ),
        Rule("networking.k8s.io", ("ingresses",), READ),
    ),
    Source.GATEWAY_HTTPROUTE: (
        Rule("gateway.networking.k8s.io", ("gateways", "httproutes"), READ),
        Rule("", ("namespaces",), READ),
    ),
    Source.GATEWAY_GRPCROUTE: (
        Rule("gateway.networking.k8s.io", ("gateways", "grpcroutes"), READ),
        Rule("", ("namespaces",), READ),
    ),
    # With --service-type-filter=LoadBalancer it asks for neither Pods nor nodes.
    Source.SERVICE: (Rule("", ("services",), READ),),
}


def reader_rules(sources: Iterable[Source]) -> list[Rule]:
    """Rules of the reader's ClusterRole."""
    found = dict.fromkeys(rule for source in sources for rule in _SOURCES[source])
    return [*found, *READER]
