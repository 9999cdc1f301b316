"""Mistakes in intents: each is one line with field, rule and fix, before any object exists."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.intents.compiler import compile_intents
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.intents.documents import INBOUND, INTRA, OUTBOUND, REVIEWS, document, intents, inventory

TCP = {"name": "reviews", "namespace": "books", "protocol": "TCP"}
HTTP_OUT = {"host": "api.example.org", "protocol": "HTTP", "port": 80}
ROUTED = {"timeout": "3s"}
INTER = {**INTRA, "type": "inter-cluster"}

DOCUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "TCP without a port": (document({**INTRA, "service": TCP}), "without service.port"),
    "a name used twice": (document(INTRA, {**INTRA}), "name is page-reviews, as"),
    "the service's own name": (document({**INTRA, "name": "reviews"}), "has the name of its service"),
    "a prefix that is no label": (document({**INBOUND, "externalPrefix": "a.b"}), "must be a Kubernetes name"),
    "an unknown mesh": (document({**INTRA, "serviceMesh": "linkerd"}), "must be one of 'istio' or 'gateway-api'"),
    "an IP for a name": (document({**OUTBOUND, "external": {"host": "192.0.2.1"}}), "is an IP address where a name"),
    "no clients": (document({**INTRA, "clients": []}), "has no clients"),
    "accounts that are an empty list": (
        document({**INTRA, "clients": [{"service": "page", "serviceAccounts": []}]}),
        "is empty",
    ),
    "another project's intents": (
        {"project": "shop", "application": "a", "groups": [{"name": "g", "project": "other", "intents": []}]},
        "is of project other",
    ),
    "weights that do not add up": (document({**INTRA, "weights": [{"version": "v1", "weight": 90}]}), "add up to 90"),
    "a tunnel for HTTP": (
        document({**OUTBOUND, "external": {**HTTP_OUT, "proxy": {"host": "proxy.example.org"}}}),
        "Istio's tunnel carries TLS and TCP only",
    ),
    "TLS without a CA": (document({**OUTBOUND, "external": {**HTTP_OUT, "tls": {}}}), "needs caCertificates"),
    "inbound without a domain": (
        {"project": "s", "application": "a", "groups": [{"name": "g", "intents": [INBOUND]}]},
        "domain is missing",
    ),
    "retries of the Gateway API": (
        document({**INTRA, "serviceMesh": "gateway-api", "retries": {}}),
        "standard channel has no field",
    ),
    "methods of TCP": (
        document({**INTRA, "service": {**TCP, "port": 1}, "access": [{"methods": ["GET"]}]}),
        "has methods, paths, hosts or claims with protocol TCP",
    ),
    "claims without an issuer": (
        document({**INTRA, "access": [{"claims": {"role": ["admin"]}}]}),
        "claims without jwt",
    ),
    "a caller outside": (document({**INTRA, "clients": [{"host": "a.example.com"}]}), "outside of the meshes"),
    "a caller that is two": (document({**INTRA, "clients": [{"service": "a", "host": "a.b"}]}), "needs either service"),
    "an egress for inbound": (document({**INBOUND, "egressGateway": {}}), "its calls leave no cluster"),
}

CONFLICTS: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "a service that is nowhere": (
        ({**INTRA, "clients": [{"service": "nobody"}]},),
        "clients[0] (page-reviews): names service books/nobody, which is nowhere in the inventory",
    ),
    "a principal outside of the trust domains": (
        ({**INTRA, "clients": [{"service": "page", "serviceAccounts": ["evil.example/ns/books/sa/page"]}]},),
        "names a principal of trust domain evil.example",
    ),
    "HTTPRoute and VirtualService on one host": (
        ({**INTRA, **ROUTED}, {**INTRA, **ROUTED, "name": "other", "serviceMesh": "gateway-api"}),
        "intents[1].serviceMesh (other): makes an HTTPRoute for a host with a VirtualService of intent page-reviews",
    ),
    "two routes of one host": (
        ({**INTRA, **ROUTED}, {**INTRA, **ROUTED, "name": "other"}),
        "claims shop routes of host reviews.books.svc.cluster.local, and so does intent other",
    ),
    "two inbound hosts": (
        ({**INBOUND, "externalPrefix": "www"}, {**INBOUND, "name": "two", "externalPrefix": "www"}),
        "claims shop host www.example.com port 80 of gateway mesh-shop/ingress, and so does intent shop",
    ),
    "two outbound hosts": (
        (OUTBOUND, {**OUTBOUND, "name": "two"}),
        "claims shop host api.example.org port 443, and so does intent catalogue",
    ),
    "an allow that a deny voids": (
        (INTRA, {**INTRA, "name": "never", "access": [{"action": "DENY"}]}),
        "intents[0].clients (page-reviews): allows calls that intent never denies, so it is void",
    ),
    "an egress that no gateway serves": (
        ({**OUTBOUND, "egressGateway": {"name": "out"}},),
        "names gateway out, which mesh shop does not have: its egress gateways are egress",
    ),
    "meshes that no federation joins": (
        ({**INTER, "clients": [{"service": "lonely"}]},),
        "has callers in mesh alone (books/lonely), and no federation joins it to shop",
    ),
    "callers in another cluster": (
        ({**INTRA, "clients": [{"service": "ratings"}]},),
        "clients[0].service (page-reviews): runs in no cluster of books/reviews",
    ),
    "weights of an unknown version": (
        ({**INTRA, "weights": [{"version": "v9", "weight": 100}]},),
        "weights[0].version (page-reviews): names version v9, which reviews does not have",
    ),
    "weights by clusters of two meshes": (
        (
            {
                **INTRA,
                "service": {**REVIEWS, "name": "shared"},
                "weights": [{"cluster": "east", "weight": 50}, {"cluster": "west", "weight": 50}],
            },
        ),
        "weights (page-reviews): name cluster west of another mesh, for calls in mesh shop, which has no endpoints",
    ),
    "weights between meshes": (
        (
            {
                **INTER,
                "service": {**REVIEWS, "name": "ratings"},
                "weights": [{"cluster": "west", "weight": 100}],
            },
        ),
        "weights (page-reviews): has weights for callers of another mesh",
    ),
    "a gateway that is missing": (
        ({**INBOUND, "gateway": "door"},),
        "names gateway door, and of role ingress cluster east has ingress",
    ),
    "routes between meshes": (
        ({**INTER, "service": {**REVIEWS, "name": "ratings"}, "timeout": "1s"},),
        "timeout (page-reviews): has timeout for callers of another mesh",
    ),
    "limits of connections between meshes": (
        ({**INTER, "service": {**REVIEWS, "name": "ratings"}, "circuitBreaking": {"maxConnections": 5}},),
        "circuitBreaking (page-reviews): has circuitBreaking for callers of another mesh",
    ),
    "nearness between meshes": (
        ({**INTER, "service": {**REVIEWS, "name": "ratings"}, "locality": {"failover": {"a": "b"}}},),
        "locality (page-reviews): has locality for callers of another mesh",
    ),
    "a dedicated gateway between meshes": (
        ({**INTER, "service": {**REVIEWS, "name": "ratings"}, "egressGateway": {"dedicated": True}},),
        "egressGateway (page-reviews): makes a dedicated gateway for callers of another mesh",
    ),
}


@pytest.mark.parametrize("given", DOCUMENTS)
def test_a_document_with_a_mistake_is_rejected(given: str) -> None:
    content, rule = DOCUMENTS[given]
    with pytest.raises(InvalidInputError) as error:
        read_document(Intents, content, "the intents")
    one_line(error.value.problems, rule)


@pytest.mark.parametrize("given", CONFLICTS)
def test_a_contradiction_is_rejected_and_names_the_intents(given: str) -> None:
    those, rule = CONFLICTS[given]
    with pytest.raises(InvalidInputError) as error:
        compile_intents(intents(*those), inventory())
    one_line(error.value.problems, rule)


def one_line(problems: tuple[Problem, ...], rule: str) -> None:
    found = [one for one in problems if rule in str(one)]
    assert len(found) == 1, [str(one) for one in problems]
    assert "\n" not in str(found[0])
    assert found[0].field
    assert found[0].fix
