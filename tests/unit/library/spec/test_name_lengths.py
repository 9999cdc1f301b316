"""Names that are too long for the objects made of them are refused with the longest allowed, and the longest is not."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.plan import Plan
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust.names import require_short_common_name

from tests.unit.library.dns import documents as dns
from tests.unit.library.documents import document

TOGETHER = "name and the revision's name must have at most 47 characters together, but have 48"
UNMANAGED = {"trust.management": "unmanaged"}


def refusal(model: Any, given: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read_document(model, given)
    (problem,) = caught.value.problems
    return problem.rule


CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "a mesh's Service",
        {"name": "m" * 48},
        {"name": "m" * 49},
        "name must have at most 48 characters, but have 49: the Service 'istiod-exposed-",
    ),
    ("a mesh's longest", {"name": "m" * 48}, {"name": "m" * 58}, "at most 48 characters, but have 58"),
    (
        "mesh and revision",
        {"name": "m" * 24, "revisions.0.name": "r" * 23},
        {"name": "m" * 24, "revisions.0.name": "r" * 24},
        TOGETHER,
    ),
    (
        "mesh and membership",
        {"name": "m" * 31, "memberships.0.name": "e" * 31},
        {"name": "m" * 32, "memberships.0.name": "e" * 31},
        "name and the membership's name must have at most 62 characters together, but have 63: the label",
    ),
]


@pytest.mark.parametrize(("fits", "excessive", "words"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_names_made_of_names(fits: dict[str, Any], excessive: dict[str, Any], words: str) -> None:
    read_document(Mesh, document({**UNMANAGED, **fits}))
    assert words in refusal(Mesh, document({**UNMANAGED, **excessive}))


def test_webhooks_of_their_own_have_a_longer_service() -> None:
    exposure = {
        "kind": "load-balancer",
        "sourceRanges": ["192.0.2.0/24"],
        "webhooks": {"host": "w.example.com", "sourceRanges": ["192.0.2.0/24"]},
    }
    for length, is_refused in ((39, False), (40, True)):
        given = document({**UNMANAGED, "name": "m" * length, "revisions.0.exposure": exposure})
        if is_refused:
            assert "at most 39 characters" in refusal(Mesh, given)
        else:
            read_document(Mesh, given)


def federation(name: int, **export: Any) -> dict[str, Any]:
    one = {"namespace": "n", "service": "s", "port": 80, "to": [{"mesh": "west", "identities": ["a/b"]}], **export}
    peers = [
        {"mesh": mesh, "gateway": {"address": f"{mesh}.example.com"}, "exports": [one] if mesh == "east" else []}
        for mesh in ("east", "west")
    ]
    return {"name": "f" * name, "domain": "example.com", "peers": peers}


def test_objects_of_a_federation_are_named_by_it_and_the_host() -> None:
    host = ".".join(["a" * 63] * 3 + ["com"])  # 195 characters
    read_document(Federation, federation(54, host=host))
    words = "name and the host of exports[0] of east must have at most 249 characters together, but have 250"
    assert words in refusal(Federation, federation(55, host=host))


def test_a_domain_that_only_one_cluster_resolves() -> None:
    given = {**federation(1), "domain": "svc.cluster.local"}
    assert "is a name that only one cluster resolves" in refusal(Federation, given)
    assert "labels of at most 63" in refusal(Federation, {**given, "domain": f"{'a' * 64}.example.com"})


@pytest.mark.parametrize(
    ("component", "suffix", "longest"), [("MeshRoot", " root", 59), ("MeshTrust", " intermediate", 51)]
)
def test_common_names(component: str, suffix: str, longest: int) -> None:
    require_short_common_name(component, "m" * longest, suffix)
    with pytest.raises(InvalidInputError, match=f"must have at most {longest} characters, but have {longest + 1}"):
        require_short_common_name(component, "m" * (longest + 1), suffix)


LONG = ".".join(["z" * 63] * 3 + ["z" * 40])  # 232 characters


def bridge(edge: str, provider: str, **fields: Any) -> dict[str, Any]:
    return dns.document(dns.provider(id=provider, **fields), edges=(edge,))


BRIDGES = {
    "publisher": (
        bridge("e" * 20, "p" * 28),
        bridge("e" * 20, "p" * 29),
        "edges[0].name and providers[0].id must have at most 48 characters together, but have 49: the label "
        f"'dns-publisher-{'e' * 20}-{'p' * 29}' may have 63",
    ),
    "own records": (
        bridge("e", "p" * 35, controlPlaneZones=["own.example.com"]),
        bridge("e", "p" * 36, controlPlaneZones=["own.example.com"]),
        "providers[0].id must have at most 35 characters, but have 36: the label 'dns-publisher-control-plane-",
    ),
    "zone": (
        bridge("e" * 20, "p", zones=[{"name": f"{{edge}}.{LONG}"}]),
        bridge("e" * 21, "p", zones=[{"name": f"{{edge}}.{LONG}"}]),
        "edges[0].name must have at most 20 characters, but have 21: the zone",
    ),
}


@pytest.mark.parametrize(("fits", "excessive", "words"), BRIDGES.values(), ids=BRIDGES)
def test_objects_of_the_dns_bridge(fits: dict[str, Any], excessive: dict[str, Any], words: str) -> None:
    """Refused with the document, before the edges' tokens are made."""
    read = read_document(DnsBridge, fits)
    for pair in (plan := Plan.of(read)).pairs + plan.own:
        name = manifests.publisher_name(pair)
        labels = manifests.deployment(read, name, {}, {}, {})["template"]["metadata"]["labels"]
        assert max(map(len, labels.values())) == len(name) <= 63
        assert len(manifests.reader_name(pair.edge.name)) < len(name)
    assert words in refusal(DnsBridge, excessive)


def test_an_edge_that_no_provider_selects_makes_no_name() -> None:
    read_document(DnsBridge, bridge("e" * 63, "p" * 63, selector={"region": "elsewhere"}))
    silent = bridge("e" * 63, "p" * 63)
    silent["edges"][0]["publishes"] = False
    read_document(DnsBridge, silent)
