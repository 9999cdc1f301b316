"""Facts of peers from other stacks' outputs: only what the document lacks, and refusals that name the stack."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi_hosted_mesh.federation.peer_outputs import (
    filled_document,
    gateway_address_of,
    peers_without_address,
    peers_without_root,
    with_placeholders,
)
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.federation.documents import document, federation


def without(*meshes: str, **gateway: Any) -> dict[str, Any]:
    """The document without these peers' addresses."""
    given = copy.deepcopy(document())
    for peer in given["peers"]:
        if peer["mesh"] in meshes:
            peer["gateway"] = gateway
    return given


def test_only_what_the_document_lacks_is_filled() -> None:
    given = without("west", port=15444)
    assert (peers_without_address(given), peers_without_root(given)) == (["west"], ["east", "west"])
    addresses = {"east": "not.used.example.com", "west": "192.0.2.7"}
    found = federation(filled_document(given, addresses, {"west": CERTIFICATE}))
    east, west = found.peers
    assert (east.gateway.address, east.root_certificate) == ("eastwest.east.example.com", None)
    assert (west.gateway.address, west.gateway.port) == ("192.0.2.7", 15444)
    assert west.root_certificate is not None
    assert "address" not in given["peers"][1]["gateway"]


def test_the_address_is_of_the_gateway_in_the_document() -> None:
    addresses = {"mesh-west/eastwest": ["192.0.2.7", "192.0.2.8"], "ways-in/shared": ["lb.example.com"]}
    assert gateway_address_of(without("west"), "west", addresses) == "192.0.2.7"
    named = without("west", name="shared", namespace="ways-in")
    assert gateway_address_of(named, "west", addresses) == "lb.example.com"
    without_any: tuple[dict[str, list[str]], ...] = ({}, {"mesh-west/eastwest": []})
    for none in without_any:
        with pytest.raises(InvalidInputError) as error:
            gateway_address_of(without("west"), "west", none)
        assert "gateway.address of west: is missing, and the stack data-plane of west has no address" in str(
            error.value
        )


@pytest.mark.parametrize("content", [None, [], {}, {"peers": None}, {"peers": ["west", {"mesh": 1}]}])
def test_what_is_no_document_stays_for_the_reader_to_refuse(content: Any) -> None:
    assert peers_without_address(content) == []
    assert filled_document(content, {"west": "a"}, {}) == content
    assert with_placeholders(content, ["west"], ["west"]) is content


def test_a_check_without_the_engine_takes_outputs_as_given() -> None:
    given = without("west")
    assert with_placeholders(given, [], []) is given
    checked = federation(with_placeholders(given, ["west"], []))
    assert checked.peer("west").gateway.address == "west.output.invalid"
    partial = {**given, "trust": "partial"}
    assert federation(with_placeholders(partial, ["west"], ["east", "west"])).name == "shops"
    with pytest.raises(InvalidInputError, match="rootCertificate of east, west is missing"):
        federation(with_placeholders(partial, ["west"], []))
