"""Which edge may write which names, by which provider, with which rights."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pulumi_hosted_mesh.dns.arguments import provider_arguments, publisher_arguments, reader_arguments
from pulumi_hosted_mesh.dns.manifests import records_label
from pulumi_hosted_mesh.dns.plan import Pair, exact_pattern, own_pairs, pairs, parents, pattern
from pulumi_hosted_mesh.dns.rights import PUBLISHER, WRITER, reader_rules
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge, Source
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.dns.documents import RFC2136, document, provider


def bridge_of(*providers: dict[str, Any], **fields: Any) -> DnsBridge:
    return read_document(DnsBridge, document(*providers, **fields))


def found(*providers: dict[str, Any], **fields: Any) -> dict[str, Pair]:
    return {pair.name: pair for pair in pairs(bridge_of(*providers, **fields))}


def test_selectors_choose_edges_and_edges_may_not_publish() -> None:
    one, two = provider(selector={"region": "north"}), provider(RFC2136)
    assert list(found(one, two)) == ["north-inner", "north-outer", "south-outer"]
    given = document(one, two)
    given["edges"][0]["publishes"] = False
    assert [pair.name for pair in pairs(read_document(DnsBridge, given))] == ["south-outer"]


def test_each_edge_has_a_zone_of_its_own() -> None:
    both = found()
    assert both["north-inner"].include == ("north.example.com",)
    assert both["north-inner"].admits("a.north.example.com")
    for name in ("a.south.example.com", "example.com", "anorth.example.com", "north.example.com.evil.org"):
        assert not both["north-inner"].admits(name), name


def test_a_zone_of_two_edges_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        pairs(bridge_of(provider(zones=[{"name": "example.com"}])))
    assert str(caught.value.problems[0]).startswith(
        "providers[0].zones[0]: example.com would be written by the edges north and south, so its names have no"
    )
    # One edge alone may have it, and a zone that says so is everybody's.
    assert pairs(bridge_of(provider(zones=[{"name": "example.com"}]), edges=("north",)))
    assert pairs(bridge_of(provider(zones=[{"name": "example.com", "shared": True}])))


def test_a_zone_that_another_entry_shares_is_still_two_edges() -> None:
    zones = [{"name": "{edge}.example.com"}, {"name": "north.example.com", "shared": True}]
    with pytest.raises(InvalidInputError, match=r"north\.example\.com would be written by the edges north and south"):
        pairs(bridge_of(provider(zones=zones)))


def test_an_edges_zone_is_cut_out_of_the_zone_that_it_lies_in() -> None:
    """All edges share example.com, and each has a part that no other writes to."""
    zones = [{"name": "{edge}.example.com"}, {"name": "example.com", "shared": True}]
    north = found(provider(zones=zones))["north-inner"]
    assert north.exclude == ("south.example.com",)
    assert north.admits("www.example.com")
    assert north.admits("www.north.example.com")
    assert not north.admits("www.south.example.com")
    arguments = publisher_arguments(bridge_of(provider(zones=zones)), north)
    assert any(one.startswith("--regex-domain-exclusion=") and "south" in one for one in arguments)


@pytest.mark.parametrize(
    ("name", "admitted"),
    [
        ("a.north.example.com", True),
        ("*.north.example.com", True),
        ("north.example.com", True),
        ("a-owner.any.north.example.com", True),
        ("bücher.north.example.com", True),
        ("a.northxexample.com", False),
        ("a.*.north.example.com", False),
        # What a provider that writes text would take for another's record.
        ("x.south.example.com. 60 IN A 192.0.2.1 ;.north.example.com", False),
        ("x.south.example.com.\n.north.example.com", False),
        ("x/../south.north.example.com", False),
        ("north.example.com\n", False),
    ],
)
def test_the_pattern_takes_whole_names_alone(name: str, admitted: bool) -> None:
    # As RE2 reads it: classes of Unicode, and `$` at the end of the text only.
    written = pattern(["north.example.com"]).replace(r"\p{L}\p{N}\p{M}", r"\w").removesuffix("$") + r"\Z"
    assert bool(re.match(written, name)) is admitted


def test_arguments_of_a_publisher() -> None:
    both = found(provider(RFC2136, policy="upsert-only", ttl=30, recordSelector={"view": "outer"}))
    assert publisher_arguments(bridge_of(provider(RFC2136)), both["north-outer"]) == [
        "--source=crd",
        "--kubeconfig=/run/hosted-mesh/kubeconfig",
        "--interval=500ms",
        "--kube-api-request-timeout=0s",
        "--metrics-address=:7979",
        "--log-format=json",
        "--log-level=warning",
        "--policy=upsert-only",
        "--managed-record-types=A",
        "--managed-record-types=AAAA",
        "--managed-record-types=CNAME",
        "--min-ttl=30s",
        "--label-filter=view=outer",
        r"--regex-domain-filter=^(\*\.)?([-_\p{L}\p{N}\p{M}]+\.)*(north\.example\.com)$",
        "--registry=txt",
        "--txt-owner-id=hosted-mesh.north",
        "--txt-prefix=%{record_type}-owner.",
        "--txt-wildcard-replacement=any",
        "--provider=webhook",
        "--webhook-provider-url=http://127.0.0.1:8889",
        "--webhook-provider-read-timeout=10m",
        "--webhook-provider-write-timeout=10m",
    ]
    assert provider_arguments(bridge_of(provider(RFC2136)), both["north-outer"]) == [
        "--webhook-server",
        "--source=connector",
        "--managed-record-types=A",
        "--managed-record-types=AAAA",
        "--managed-record-types=CNAME",
        r"--regex-domain-filter=^(\*\.)?([-_\p{L}\p{N}\p{M}]+\.)*(north\.example\.com)$",
        "--registry=txt",
        "--txt-owner-id=hosted-mesh.north",
        "--txt-prefix=%{record_type}-owner.",
        "--txt-wildcard-replacement=any",
        "--webhook-provider-read-timeout=10m",
        "--webhook-provider-write-timeout=10m",
        "--metrics-address=:7980",
        "--log-format=json",
        "--provider=rfc2136",
        "--rfc2136-host=ns1.example.com",
        "--rfc2136-port=53",
        "--rfc2136-zone=example.com",
        "--rfc2136-tsig-axfr",
        "--rfc2136-tsig-keyname=bridge",
        "--rfc2136-tsig-secret-alg=hmac-sha256",
    ]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (
            {"type": "route53", "route53": {"zoneType": "private", "assumeRole": "arn:x"}},
            ["--provider=aws", "--aws-zone-match-parent", "--aws-zone-type=private", "--aws-assume-role=arn:x"],
        ),
        (
            {"type": "google", "google": {"project": "p", "visibility": "public"}},
            ["--provider=google", "--google-project=p", "--google-zone-visibility=public"],
        ),
        (
            {"type": "azure", "azure": {"resourceGroup": "g", "subscription": "s", "private": True}},
            [
                "--provider=azure-private-dns",
                "--azure-resource-group=g",
                "--azure-subscription-id=s",
                "--azure-config-file=/etc/hosted-mesh/credentials/azure.json",
            ],
        ),
        ({"type": "cloudflare", "cloudflare": {"proxied": True}}, ["--provider=cloudflare", "--cloudflare-proxied"]),
        (
            {"type": "webhook", "authentication": "none", "webhook": {"url": "http://hook:8888"}},
            ["--provider=webhook", "--webhook-provider-url=http://hook:8888"],
        ),
        (
            {"type": "other", "other": {"provider": "ns1", "flags": ["--ns1-min-ttl=5"]}},
            ["--provider=ns1", "--ns1-min-ttl=5"],
        ),
    ],
)
def test_arguments_of_each_type(section: dict[str, Any], expected: list[str]) -> None:
    bridge = bridge_of(provider({"id": "p", **section}))
    arguments = provider_arguments(bridge, pairs(bridge)[0])
    assert arguments[arguments.index(expected[0]) :] == expected
    assert "--domain-filter=north.example.com" in publisher_arguments(bridge, pairs(bridge)[0])
    # The filter of these three also selects zones, by their own names.
    by_filter = section["type"] in ("google", "azure", "cloudflare")
    admitted = rf"{pattern(['north.example.com'])}|^(com|example\.com)$"
    written = f"--regex-domain-filter={admitted}" if by_filter else "--domain-filter=north.example.com"
    assert [one for one in arguments if "domain" in one] == [written]


def test_the_zones_above_are_admitted_by_their_own_names_alone() -> None:
    assert parents(["a.b.example.com", "example.org"]) == ["b.example.com", "com", "example.com", "org"]
    written = exact_pattern(parents(["north.example.com"]))
    assert [bool(re.fullmatch(written, one)) for one in ("example.com", "x.example.com", "south.example.com")] == [
        True,
        False,
        False,
    ]


def test_a_reader_reads_and_hands_on() -> None:
    bridge = bridge_of()
    assert reader_arguments(bridge.edges[0])[:2] == ["--source=istio-gateway", "--source=service"]
    assert "--provider=webhook" in reader_arguments(bridge.edges[0])
    # A watch is a request too: by default external-dns would end and begin each one twice a minute.
    assert "--kube-api-request-timeout=0s" in reader_arguments(bridge.edges[0])


def test_rights_are_few() -> None:
    for rule in (*PUBLISHER, *WRITER, *reader_rules(Source)):
        assert "secrets" not in rule.resources
        assert "*" not in (*rule.resources, *rule.verbs, rule.group)
        if set(rule.verbs) - {"list", "watch"}:
            assert rule.group == "externaldns.k8s.io"
    assert {resource for rule in PUBLISHER for resource in rule.resources} == {"dnsendpoints"}


def test_the_control_planes_zone_is_no_edges() -> None:
    """Also not at another provider, which may be the same server, and not below an edge's or a shared zone."""
    inner = provider(controlPlaneZones=["mesh.example.com"])
    for zones in ([{"name": "mesh.example.com"}], [{"name": "{edge}.mesh.example.com"}]):
        with pytest.raises(
            InvalidInputError, match=r"providers\[1\]\.zones\[0\]: .*mesh\.example\.com lies in a contr"
        ):
            pairs(bridge_of(inner, provider(RFC2136, zones=zones), edges=("north",)))
    shared = provider(id="third", zones=[{"name": "example.com", "shared": True}])
    both = found(inner, shared)
    assert both["north-third"].admits("web.example.com")
    assert not both["north-third"].admits("istiod.mesh.example.com")
    assert not both["north-inner"].admits("istiod.mesh.example.com")
    excluded = next(
        one for one in publisher_arguments(bridge_of(inner, shared), both["north-third"]) if "exclusion" in one
    )
    assert re.fullmatch(excluded.partition("=")[2].replace(r"\p{L}\p{N}\p{M}", "a-z0-9"), "istiod.mesh.example.com")
    with pytest.raises(InvalidInputError, match="edges: has one called control-plane"):
        pairs(bridge_of(inner, edges=("control-plane",)))


def test_the_programs_own_records_are_read_in_one_namespace_by_the_pods_account() -> None:
    bridge = bridge_of(provider(controlPlaneZones=["mesh.example.com"], recordSelector={"view": "inner"}))
    (own,) = own_pairs(bridge)
    assert own.admits("istiod.mesh.example.com")
    assert not own.admits("north.example.com")
    arguments = publisher_arguments(bridge, own)
    assert "--namespace=hosted-mesh-dns" in arguments
    assert "--txt-owner-id=hosted-mesh.control-plane" in arguments
    assert not [one for one in arguments if one.startswith(("--kubeconfig", "--label-filter"))]
    edges = [publisher_arguments(bridge, pair) for pair in pairs(bridge)]
    assert all("--label-filter=view=inner" in one and "--namespace=hosted-mesh-dns" not in one for one in edges)
    assert own_pairs(bridge_of()) == []


def test_a_publisher_that_is_renamed_or_moved_has_the_same_records() -> None:
    def label(*providers: dict[str, Any], **fields: Any) -> str:
        bridge = bridge_of(*providers, **fields)
        (value,) = records_label(bridge, pairs(bridge)[0]).values()
        assert re.fullmatch("[0-9a-f]{40}", value)
        return value

    first = label(provider())
    assert label(provider(id="renamed"), namespace="elsewhere") == first
    others = [
        label(provider(), edges=("south", "north")),
        label(provider(), owner="other"),
        label(provider(zones=[{"name": "{edge}.example.org"}])),
        label(provider(coredns={"endpoints": ["https://etcd.other.test:2379"]})),
    ]
    assert len({first, *others}) == 5
