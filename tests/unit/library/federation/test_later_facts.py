"""Addresses and offers that a program has as Outputs: the objects are those of plain values, and wait for them."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.federation.exports import offer
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.unit.library.boundary.endpoint_outputs import GOOD, later
from tests.unit.library.federation.documents import AUDIENCE, HOST, SERVICE, federation, labelled
from tests.unit.library.program import run

ADDRESS = "eastwest.west.example.com"


def plain() -> dict[str, Any]:
    return copy.deepcopy(labelled([AUDIENCE]))


def offered() -> dict[str, Any]:
    found: dict[str, Any] = offer(federation(plain()), "west", [SERVICE]).arguments()
    return found


def made(inputs: Callable[[], tuple[Any, list[Any]]], *, preview: bool = False) -> tuple[dict[str, Any], list[Any]]:
    """The specs of the objects by name, and the hosts. inputs: document and offers, made while the program runs."""
    hosts: list[Any] = []

    def program() -> None:
        document, offers = inputs()
        cluster = hosted_mesh.DataPlaneCluster(kubeconfig=GOOD, identity="data-plane")
        args: Any = {"federation": document, "mesh": "east", "cluster": cluster, "offers": offers}
        component = hosted_mesh.MeshFederation("shops", args)
        component.hosts.apply(hosts.append)

    found = run(program, preview=preview)
    return {one.name: one.inputs["spec"] for one in found if "spec" in one.inputs}, hosts


def with_address(address: Any) -> dict[str, Any]:
    document = plain()
    document["peers"][1]["gateway"] = {"address": address}
    return document


def unknown() -> Any:
    async def nothing() -> str:
        return ""

    async def no() -> bool:
        return False

    return pulumi.Output(set(), nothing(), no())


def test_outputs_make_the_objects_of_plain_values() -> None:
    expected, hosts = made(lambda: (plain(), [offered()]))
    assert (hosts, bool(expected)) == ([[HOST]], True)
    assert made(lambda: (with_address(later(ADDRESS)), [later(offered())])) == (expected, hosts)
    assert made(lambda: ({**plain(), "domain": later("shops.example.com")}, [offered()])) == (expected, hosts)


def test_objects_wait_for_an_unknown_address() -> None:
    assert made(lambda: (with_address(unknown()), [offered()]), preview=True) == ({}, [])


@pytest.mark.parametrize("form", [str, later])
def test_a_later_value_is_checked_as_a_plain_one(form: Callable[[str], Any]) -> None:
    with pytest.raises(InvalidInputError, match=re.escape("peers[1].gateway.address: must be")):
        made(lambda: (with_address(form("no name")), [offered()]))
