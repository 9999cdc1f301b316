"""Two providers with one server: their zones are apart, or the document is rejected."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.dns.plan import own_pairs, pairs
from pulumi_hosted_mesh.dns.servers import one_server
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsProvider
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.dns.documents import COREDNS, POWERDNS, RFC2136, document, provider

GOOGLE = {"id": "g", "type": "google", "google": {"project": "shop"}}
AZURE = {"id": "a", "type": "azure", "azure": {"resourceGroup": "Zones", "subscription": "S"}}
ROUTE53 = {"id": "r", "type": "route53"}
CLOUDFLARE = {"id": "c", "type": "cloudflare"}
OTHER = {"id": "o", "type": "other", "other": {"provider": "ns1"}}
ELSEWHERE = {"endpoints": ["https://etcd.other.test:2379"]}


def changed(base: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The section of a provider's type, with other fields."""
    return {base["type"]: {**base[base["type"]], **fields}}


def bridge_of(*providers: dict[str, Any], **fields: Any) -> DnsBridge:
    return read_document(DnsBridge, document(*providers, **fields))


def problems(*providers: dict[str, Any], **fields: Any) -> list[str]:
    with pytest.raises(InvalidInputError) as caught:
        pairs(bridge_of(*providers, **fields))
    return list(map(str, caught.value.problems))


def test_two_views_of_one_zone_on_one_server_are_refused() -> None:
    """Their publishers have one owner id: each would delete the records that only the other's selector selects."""
    inside, outside = (provider(id=view, recordSelector={"view": view}) for view in ("inside", "outside"))
    assert problems(inside, outside, edges=("north",)) == [
        "providers[1].zones[0]: north.example.com would be written for edge north through outside and inside "
        "(providers[0]), which write to one server, so each deletes records. Merge the two providers, or give each a "
        "zone or a server of its own."
    ]
    # Also if the zone is shared: that is between edges.
    shared = [{"name": "example.com", "shared": True}]
    assert (
        "example.com would be written for edge north"
        in problems(inside | {"zones": shared}, outside | {"zones": shared})[0]
    )
    # Another server, or another zone, is another view.
    assert len(pairs(bridge_of(inside, outside | {"coredns": ELSEWHERE}, edges=("north",)))) == 2
    assert len(pairs(bridge_of(inside, outside | {"zones": [{"name": "example.org"}]}, edges=("north",)))) == 2


def test_an_unshared_zone_of_two_edges_through_two_providers_is_refused() -> None:
    zone = [{"name": "shop.example.com"}]
    first, second = (provider(id=name, selector={"region": name}, zones=zone) for name in ("north", "south"))
    assert problems(first, second) == [
        "providers[1].zones[0]: shop.example.com would be written by the edges north and south through south and "
        "north (providers[0]), which write to one server. Give each edge a zone of its own ({edge}.<domain>), or set "
        "shared: true at both."
    ]
    half = first | {"zones": [{"name": "shop.example.com", "shared": True}]}
    assert len(problems(half, second)) == 1
    assert len(pairs(bridge_of(half, second | {"zones": half["zones"]}))) == 2
    assert len(pairs(bridge_of(first, second | {"coredns": ELSEWHERE}))) == 2


def test_a_zone_below_anothers_is_excluded_from_it_on_the_same_server_only() -> None:
    outer = provider(id="outer", zones=[{"name": "example.com"}], selector={"region": "north"})
    inner = provider(id="inner", zones=[{"name": "in.example.com"}])
    both = {one.name: one for one in pairs(bridge_of(outer, inner | {"selector": {"region": "south"}}))}
    assert both["north-outer"].exclude == ("in.example.com",)
    both = {one.name: one for one in pairs(bridge_of(outer, inner | {"selector": {"region": "north"}}))}
    assert both["north-outer"].exclude == ("in.example.com",)
    apart = inner | {"selector": {"region": "south"}, "coredns": ELSEWHERE}
    assert next(one for one in pairs(bridge_of(outer, apart)) if one.name == "north-outer").exclude == ()


def test_the_control_planes_zone_has_one_provider_of_a_server() -> None:
    first, second = (provider(id=name, controlPlaneZones=["mesh.example.com"], zones=[]) for name in ("one", "two"))
    assert problems(first, second) == [
        "providers[1].controlPlaneZones: has mesh.example.com, as providers[0], and both write to one server. Remove "
        "it from one of them."
    ]
    assert len(own_pairs(bridge_of(first, second | {"coredns": ELSEWHERE}))) == 2
    below = second | {"controlPlaneZones": ["in.mesh.example.com"]}
    assert [one.exclude for one in own_pairs(bridge_of(first, below))] == [("in.mesh.example.com",), ()]


@pytest.mark.parametrize(
    ("base", "same", "other"),
    [
        (COREDNS, {"id": "x"}, changed(COREDNS, prefix="/other/")),
        (
            RFC2136,
            changed(RFC2136, tsigKeyName="k"),
            changed(RFC2136, port=54),
        ),
        (POWERDNS, {"answers": "weighted"}, changed(POWERDNS, serverId="other")),
        (GOOGLE, {"google": {"project": "shop", "visibility": "public"}}, {"google": {"project": "other"}}),
        (
            AZURE,
            {"azure": {"resourceGroup": "zones", "subscription": "s"}},
            changed(AZURE, private=True),
        ),
        (ROUTE53, {"route53": {"zoneType": "private"}}, {"route53": {"assumeRole": "arn:x"}}),
        (ROUTE53 | {"project": "a"}, {"id": "x"}, {"project": "b"}),
        (CLOUDFLARE, {"cloudflare": {"proxied": True}}, {"project": "b"}),
        (OTHER, {"id": "x"}, {"other": {"provider": "pdns"}}),
    ],
)
def test_servers_that_are_one(base: dict[str, Any], same: dict[str, Any], other: dict[str, Any]) -> None:
    first = read_document(DnsProvider, provider(base))
    assert one_server(first, read_document(DnsProvider, provider(base, **same)))
    assert not one_server(first, read_document(DnsProvider, provider(base, **other)))


def test_private_and_public_zones_of_an_account_are_apart() -> None:
    private, public = (
        read_document(DnsProvider, provider(ROUTE53, route53={"zoneType": one})) for one in ("private", "public")
    )
    assert not one_server(private, public)
