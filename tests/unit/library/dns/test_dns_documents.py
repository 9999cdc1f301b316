"""What is wrong with a bridge's document or credentials is said in one line: the field, the rule, the fix."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.dns import credentials, plan
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsProvider
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.dns.documents import COREDNS, POWERDNS, RFC2136, document, provider

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
        "providers[0].zones[0].name: is a wildcard, but a zone is everything below a domain. Leave out `*.`.",
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
        "text. Set it as EXTERNAL_DNS_PDNS_API_KEY in the provider's credentials.",
    ),
    "flag of the boundary": (
        provider(OTHER | {"other": {"provider": "ns1", "flags": ["--domain-filter=all.example"]}}),
        "providers[0].other.flags[0]: --domain-filter is set by the bridge",
    ),
    "no section": (provider({"id": "a", "type": "rfc2136"}), "providers[0]: has type rfc2136 and no section rfc2136"),
    "another section": (provider(ROUTE53, google={"project": "p"}), "providers[0]: has type route53 and a section goo"),
    "weights": (
        provider(answers="weighted"),
        "providers[0]: has answers weighted, which the bridge cannot make with coredns. Use a provider of type "
        "route53 or powerdns, or answers: plain.",
    ),
    "shared where one owns": (
        provider(RFC2136, zones=[{"name": "example.com", "shared": True}]),
        "providers[0]: has a shared zone, but with rfc2136 one record has one owner",
    ),
    "regions": (
        provider(POWERDNS, answers="geographic"),
        "providers[0]: has answers geographic, which the bridge cannot make with powerdns.",
    ),
    "shared weights": (
        provider(POWERDNS, answers="weighted", zones=[{"name": "example.com", "shared": True}]),
        "providers[0]: has a shared zone, but with powerdns one record has one owner",
    ),
    "open API": (provider(POWERDNS, authentication="none"), "providers[0]: has authentication none, but powerdns requ"),
    "no URL": (
        provider({"id": "p", "type": "powerdns", "powerdns": {"url": "ns1.example.com"}}),
        "providers[0].powerdns.url: must be http:// or https://, a host and a port",
    ),
    "nobody asks": (provider(ROUTE53, authentication="none"), "providers[0]: has authentication none, but route53"),
    "no cloud": (provider(authentication="workload-identity"), "providers[0]: has authentication workload-identity"),
    "SRV": (
        provider(recordTypes=["A", "SRV"]),
        "providers[0]: has SRV in recordTypes, but external-dns v0.21 drops SRV records of DNSEndpoints. Remove SRV.",
    ),
    "MX": (
        provider(RFC2136, recordTypes=["A", "MX"]),
        "providers[0]: has MX in recordTypes, but external-dns cannot read MX records back from rfc2136. Remove MX.",
    ),
    "no client of Azure": (
        provider({"id": "z", "type": "azure", "azure": {"resourceGroup": "g", "subscription": "s"}})
        | {"authentication": "workload-identity"},
        "providers[0]: has authentication workload-identity and no annotation azure.workload.identity/client-id. Add",
    ),
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
        read_document(DnsBridge, document(bad))
    assert [message in str(one) for one in caught.value.problems] == [True]
    assert "\n" not in str(caught.value)
    assert HIDDEN not in str(caught.value)


def test_names_are_unique() -> None:
    with pytest.raises(InvalidInputError, match="providers has two called inner"):
        read_document(DnsBridge, document(provider(), provider()))
    with pytest.raises(InvalidInputError, match="edges has two called north"):
        read_document(DnsBridge, document(edges=("north", "north")))


@pytest.mark.parametrize("field", ["project", "location"])
def test_projects_and_locations_select_edges(field: str) -> None:
    given = document(provider(id="all"), provider(RFC2136, **{field: "a"}))
    message = f"providers\\[1\\].{field} is a, but no edge has this {field}. Set edges\\[\\].{field}, or remove it"
    with pytest.raises(InvalidInputError, match=message):
        read_document(DnsBridge, given)
    given["edges"][1][field] = "a"
    found = plan.pairs(read_document(DnsBridge, given))
    assert [one.name for one in found] == ["north-all", "south-all", "south-outer"]
    # A provider of the program's own records alone serves no edge.
    own = provider(RFC2136, zones=[], controlPlaneZones=["mesh.example.com"], **{field: "b"})
    assert read_document(DnsBridge, document(provider(), own))


def test_a_selector_that_matches_nothing_is_a_warning() -> None:
    bridge = read_document(DnsBridge, document(provider(selector={"region": "west"})))
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
        (provider(POWERDNS), {"ca.crt"}, "credentials.power.api-key: is required"),
        (
            provider(POWERDNS),
            {"api-key", "x"},
            "credentials.power.x: is no credential of powerdns. The keys are api-key, ca",
        ),
        (provider(RFC2136), {"tsig-secret", "x"}, "credentials.outer.x: is no credential of rfc2136"),
        (provider(ROUTE53), {"access-key-id"}, "credentials.cloud.secret-access-key: is required"),
        (provider(OTHER), {"ns1-key"}, "credentials.ns1.ns1-key: must be the name of an environment variable"),
        (provider(authentication="none"), {"password"}, "credentials.inner: is given, but the provider has authen"),
    ],
)
def test_credentials_fit_their_provider(one: dict[str, object], keys: set[str] | None, message: str) -> None:
    (problem,) = credentials.problems(read_document(DnsProvider, one), keys)
    assert str(problem).startswith(message)


def test_route_53_has_a_region_and_azure_a_file() -> None:
    route53 = read_document(DnsProvider, provider(ROUTE53))
    keys = {"access-key-id", "secret-access-key"}
    region = {"name": "AWS_REGION", "value": "us-east-1"}
    assert region in credentials.environment(route53, "s", keys)
    assert region not in credentials.environment(route53, "s", keys | {"region"})
    # A cloud's webhook sets it in the Pod.
    assert credentials.environment(route53, "s", ()) == []
    section = {"id": "z", "type": "azure", "azure": {"resourceGroup": "g", "subscription": "s"}}
    identity = {"serviceAccountAnnotations": {"azure.workload.identity/client-id": "c"}}
    azure = provider(section, authentication="workload-identity", **identity)
    assert list(credentials.settings_files(read_document(DnsProvider, azure))) == ["azure.json"]
    assert credentials.settings_files(read_document(DnsProvider, provider(section))) == {}


def test_a_credential_is_a_variable_from_the_secret_or_a_file() -> None:
    coredns = read_document(DnsProvider, provider(COREDNS))
    keys = {"password", "username", "ca.crt"}
    assert credentials.problems(coredns, keys) == []
    assert credentials.environment(coredns, "its-secret", keys) == [
        {"name": "ETCD_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "its-secret", "key": "password"}}},
        {"name": "ETCD_USERNAME", "valueFrom": {"secretKeyRef": {"name": "its-secret", "key": "username"}}},
        {"name": "ETCD_CA_FILE", "value": "/etc/hosted-mesh/credentials/ca.crt"},
        {"name": "ETCD_URLS", "value": "https://etcd.dns.test:2379"},
    ]


def test_a_name_server_may_have_an_address_of_either_family() -> None:
    found = read_document(DnsBridge, document(nameservers=["10.0.0.53", "2001:DB8::53", "[2001:db8::54]"]))
    assert found.nameservers == ("10.0.0.53", "2001:db8::53", "2001:db8::54")
    with pytest.raises(InvalidInputError, match=r"nameservers\[0\]: must be an IP address"):
        read_document(DnsBridge, document(nameservers=["2001:db8::53:x"]))
