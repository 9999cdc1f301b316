"""What is wrong with a bridge's document or credentials is said in one line: the field, the rule, the fix."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.dns import credentials, plan
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsProvider
from pulumi_hosted_mesh.spec.load import read

from tests.unit.library.dns.documents import COREDNS, RFC2136, document, provider

ROUTE53 = {"id": "cloud", "type": "route53"}
OTHER = {"id": "ns1", "type": "other", "other": {"provider": "ns1"}}
HIDDEN = "c2VjcmV0LXZhbHVl"
SERVER: dict[str, Any] = {"host": "ns1.example.com", "serverZones": ["example.com"], "tsigKeyName": "bridge"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "zone not owned": (
        provider(ownedDomains=["example.org"]),
        "has the zone {edge}.example.com, which is in none of its domains: example.org",
    ),
    "zone outside the server's": (
        provider(RFC2136, zones=[{"name": "shop.other.org"}]),
        "has the zone shop.other.org, which is in none of its domains: example.com",
    ),
    "wildcard": (
        provider(zones=[{"name": "*.example.com"}]),
        "providers[0].zones[0].name: is a wildcard, but a zone is all that is below a domain. Leave out `*.`.",
    ),
    "no domain": (provider(zones=[{"name": "Shop_"}]), "providers[0].zones[0].name: must be a DNS domain"),
    "address": (provider(zones=[{"name": "10.0.0.1"}]), "providers[0].zones[0].name: is an address"),
    "host": (
        provider(RFC2136 | {"rfc2136": SERVER | {"host": "ns1 example"}}),
        "providers[0].rfc2136.host: must be a host name in lower case or an IP address",
    ),
    "TTL too long": (provider(ttl=604801), "providers[0].ttl: must be at most 604800. Change its value."),
    "TTL zero": (provider(ttl=0), "providers[0].ttl: must be at least 1. Change its value."),
    "credentials": (
        provider(credentials={"password": HIDDEN}),
        "providers[0]: has credentials in plain text, and documents are stored and shown as they are. Remove it now,",
    ),
    "secret in a section": (
        provider(RFC2136 | {"rfc2136": SERVER | {"tsigSecret": HIDDEN}}),
        "providers[0]: has tsigSecret in plain text",
    ),
    "password in a URL": (
        provider(coredns={"endpoints": [f"https://root:{HIDDEN}@etcd:2379"]}),
        "providers[0].coredns.endpoints[0]: holds a user or a password",
    ),
    "secret as a flag": (
        provider(OTHER | {"other": {"provider": "pdns", "flags": [f"--pdns-api-key={HIDDEN}"]}}),
        "providers[0].other.flags[0]: --pdns-api-key looks like a secret, and arguments are stored and shown in plain "
        "text. Give it among the provider's credentials as EXTERNAL_DNS_PDNS_API_KEY.",
    ),
    "flag of the boundary": (
        provider(OTHER | {"other": {"provider": "ns1", "flags": ["--domain-filter=all.example"]}}),
        "providers[0].other.flags[0]: --domain-filter is set by the bridge",
    ),
    "no section": (provider({"id": "a", "type": "rfc2136"}), "providers[0]: has type rfc2136 and no section rfc2136"),
    "another section": (provider(ROUTE53, google={"project": "p"}), "providers[0]: has type route53 and a section goo"),
    "weights": (
        provider(answers="weighted"),
        "providers[0]: has answers weighted, which external-dns cannot make with coredns. Use a provider of type",
    ),
    "shared where one owns": (
        provider(RFC2136, zones=[{"name": "example.com", "shared": True}]),
        "providers[0]: has a shared zone, but with rfc2136 one record has one owner",
    ),
    "nobody asks": (provider(ROUTE53, authentication="none"), "providers[0]: has authentication none, but route53"),
    "no cloud": (provider(authentication="workload-identity"), "providers[0]: has authentication workload-identity"),
    "key without a name": (
        provider(RFC2136 | {"rfc2136": {"host": "ns1", "serverZones": ["example.com"]}}),
        "providers[0]: has no rfc2136.tsigKeyName. Name the key, or set authentication: none.",
    ),
    "no zones": (provider(zones=[]), "providers[0]: has neither zones nor controlPlaneZones"),
    "unknown": (provider(policy="delete"), "providers[0].policy: must be one of 'sync' or 'upsert-only'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name: str) -> None:
    bad, message = BAD[name]
    with pytest.raises(InvalidInputError) as caught:
        read(DnsBridge, document(bad))
    assert [message in str(one) for one in caught.value.problems] == [True]
    assert "\n" not in str(caught.value)
    assert HIDDEN not in str(caught.value)


def test_names_are_unique() -> None:
    with pytest.raises(InvalidInputError, match="providers has two called inner"):
        read(DnsBridge, document(provider(), provider()))
    with pytest.raises(InvalidInputError, match="edges has two called north"):
        read(DnsBridge, document(edges=("north", "north")))


def test_a_selector_that_matches_nothing_is_a_warning() -> None:
    bridge = read(DnsBridge, document(provider(selector={"region": "west"})))
    assert plan.pairs(bridge) == []
    assert [f"{one.field}: {one.rule}" for one in plan.warnings(bridge)] == [
        "providers[0].selector: matches no edge, so inner publishes nothing",
        "edges[0].labels: no provider selects north, so its names are not published",
        "edges[1].labels: no provider selects south, so its names are not published",
    ]


@pytest.mark.parametrize(
    ("one", "keys", "message"),
    [
        (provider(), None, "credentials.inner: is required: provider inner has authentication credentials"),
        (provider(), {"user"}, "credentials.inner.user: is no credential of coredns. The keys are ca.crt, password"),
        (provider(RFC2136), {"tsig-secret", "x"}, "credentials.outer.x: is no credential of rfc2136"),
        (provider(ROUTE53), {"access-key-id"}, "credentials.cloud.secret-access-key: is required"),
        (provider(OTHER), {"ns1-key"}, "credentials.ns1.ns1-key: must be the name of an environment variable"),
        (provider(authentication="none"), {"password"}, "credentials.inner: is given, but the provider has authen"),
    ],
)
def test_credentials_fit_their_provider(one: dict[str, object], keys: set[str] | None, message: str) -> None:
    (problem,) = credentials.problems(read(DnsProvider, one), keys)
    assert str(problem).startswith(message)


def test_a_credential_is_a_variable_from_the_secret_or_a_file() -> None:
    coredns = read(DnsProvider, provider(COREDNS))
    keys = {"password", "username", "ca.crt"}
    assert credentials.problems(coredns, keys) == []
    assert credentials.environment(coredns, "its-secret", keys) == [
        {"name": "ETCD_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "its-secret", "key": "password"}}},
        {"name": "ETCD_USERNAME", "valueFrom": {"secretKeyRef": {"name": "its-secret", "key": "username"}}},
        {"name": "ETCD_CA_FILE", "value": "/etc/hosted-mesh/credentials/ca.crt"},
        {"name": "ETCD_URLS", "value": "https://etcd.dns.test:2379"},
    ]
