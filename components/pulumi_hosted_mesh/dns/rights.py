"""The bridge's rights on an edge: two accounts with the least rights. Pure data.

`publisher` reads DNSEndpoints; its Pod also has a provider's credentials. `reader` finds names and writes them as
DNSEndpoints. Neither may read Secrets, Pods or ConfigMaps, and they may write DNSEndpoints only.
"""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_hosted_mesh.spec.dns import Source
from pulumi_hosted_mesh.spec.features import READ, Rule

DNS_GROUP = "externaldns.k8s.io"
PUBLISHER = (Rule(DNS_GROUP, ("dnsendpoints",), READ),)
OWN_PUBLISHER = (*PUBLISHER, Rule(DNS_GROUP, ("dnsendpoints/status",), ("update",)))
"""On the control plane, for the program's own records and their conditions."""
READER = (
    Rule(DNS_GROUP, ("dnsendpoints",), READ),
    Rule(DNS_GROUP, ("dnsendpoints/status",), ("update",)),
)
"""In addition to the rights for its sources: conditions on every DNSEndpoint, also users' own."""
WRITER = (Rule(DNS_GROUP, ("dnsendpoints",), ("create", "update", "delete")),)
"""Only in the bridge's own namespace on the edge."""

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
    # With --service-type-filter=LoadBalancer it reads neither Pods nor nodes.
    Source.SERVICE: (Rule("", ("services",), READ),),
}


def reader_rules(sources: Iterable[Source]) -> list[Rule]:
    """Rules of the reader's ClusterRole."""
    found = dict.fromkeys(rule for source in sources for rule in _SOURCES[source])
    return [*found, *READER]
