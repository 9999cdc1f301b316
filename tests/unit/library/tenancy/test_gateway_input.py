"""Bad input for the shared gateway: one clear error each, with the field, the rule and the fix."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.control_plane.gateway_hosts import require_gateway
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.gateway import GatewayFacts, GatewaySettings
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import document
from tests.unit.library.tenancy.gateway_documents import FACTS, GATEWAY, HOOKS, behind

EXPOSURE = "revisions[0].exposure"
BAD_MESHES: list[tuple[str, dict[str, Any], str, str]] = [
    ("wildcard host", behind({"revisions.0.host": "*.meshes.example.com"}), "revisions[0].host", "must be a DNS name"),
    (
        "wildcard for the webhooks",
        behind(webhooks={**HOOKS, "host": "*.meshes.example.com"}),
        f"{EXPOSURE}.webhooks.host",
        "must be a DNS name",
    ),
    ("no ranges", behind(sourceRanges=None), EXPOSURE, "would let every address connect"),
    ("ranges that admit all", behind(sourceRanges=["0.0.0.0/1", "128.0.0.0/1"]), EXPOSURE, "admit every address"),
    ("all addresses in one range", behind(sourceRanges=["0.0.0.0/0"]), f"{EXPOSURE}.sourceRanges[0]", "every address"),
    (
        "webhooks' ranges that admit all",
        behind(webhooks={"host": "hooks.demo.meshes.example.com"}),
        f"{EXPOSURE}.webhooks",
        "would let every address connect",
    ),
    ("one name on one port", behind(webhooks=None), EXPOSURE, "the server name alone separates"),
    ("one name twice", behind({"revisions.0.host": HOOKS["host"]}), "(document)", "two with one host"),
    ("field of a load balancer", behind(loadBalancerClass="example.com/x"), f"{EXPOSURE}.loadBalancerClass", "not a"),
    ("no connections", behind(connections=0), f"{EXPOSURE}.connections", "at least 1"),
    (
        "external with one name on one port",
        document({"revisions.0.exposure": {"kind": "external", "xdsPort": 443, "webhookPort": 443}}),
        EXPOSURE,
        "the server name alone separates",
    ),
]
BAD_GATEWAYS: list[tuple[str, dict[str, Any], str, str]] = [
    ("no zones", {"zones": []}, "zones", "Give one entry"),
    ("wildcard zone", {"zones": ["*.example.com"]}, "zones[0]", "must be a DNS domain"),
    ("top-level zone", {"zones": ["com"]}, "zones[0]", "has one label"),
    ("no ranges", {"openToAll": False}, "(document)", "would let every address connect"),
    ("both", {"sourceRanges": ["203.0.113.0/24"]}, "(document)", "contradicts"),
    ("unknown port", {"ports": [8443]}, "ports[0]", "must be one of 443, 15012, 15017"),
    ("no port", {"ports": []}, "ports", "Give one entry"),
    ("any peer sends PROXY headers", {"proxyProtocolFrom": ["0.0.0.0/0"]}, "proxyProtocolFrom[0]", "every address"),
]


@pytest.mark.parametrize(("given", "field", "words"), [pytest.param(*rest, id=name) for name, *rest in BAD_MESHES])
def test_a_mesh_with_one_clear_error(given: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_document(Mesh, given)
    (problem,) = caught.value.problems
    assert problem.field == field
    assert words in str(problem)


@pytest.mark.parametrize(("changes", "field", "words"), [pytest.param(*rest, id=name) for name, *rest in BAD_GATEWAYS])
def test_a_gateway_with_one_clear_error(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_document(GatewaySettings, {**GATEWAY, **changes})
    (problem,) = caught.value.problems
    assert problem.field == field
    assert words in str(problem)


@pytest.mark.parametrize(
    ("given", "facts", "field", "words"),
    [
        pytest.param(behind(), None, "gateway", "references.gateway", id="no gateway"),
        pytest.param(
            behind(),
            {"zones": ["other.example.com"]},
            "revisions[0].host",
            "is outside of the gateway's zones. Choose a host below other.example.com",
            id="host outside of the zones",
        ),
        pytest.param(
            behind({"revisions.0.host": "xmeshes.example.com"}, webhooks=None, webhookPort=15017),
            {"ports": [443, 15017]},
            "revisions[0].host",
            "is outside",
            id="a name that only ends like the zone",
        ),
        pytest.param(
            behind(xdsPort=15012),
            {},
            "revisions[0].exposure.xdsPort",
            "is a port without a listener at the gateway. Choose one of 443",
            id="port without a listener",
        ),
    ],
)
def test_a_mesh_that_the_gateway_cannot_serve(
    given: dict[str, Any], facts: dict[str, Any] | None, field: str, words: str
) -> None:
    found = None if facts is None else read_document(GatewayFacts, {**FACTS, **facts})
    with pytest.raises(InvalidInputError) as caught:
        require_gateway(read_document(Mesh, given), found)
    assert caught.value.problems[0].field == field
    assert words in str(caught.value.problems[0])


def test_a_mesh_without_the_gateway_needs_none() -> None:
    require_gateway(read_document(Mesh, document()), None)
