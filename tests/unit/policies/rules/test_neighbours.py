"""Two tenants' clusters without a mesh's label: a neighbour's kubeconfig, and one secret for both."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus import literals
from tests.corpus.simulated_engine import run
from tests.corpus.world import World, key, password
from tests.unit.policies.rules.tenants_clusters import DP, OTHER, Program, clusters, said, told

ONE = [f"alder={OTHER}", f"alder={DP}"]
TWO = [f"alder={OTHER}", f"birch={DP}"]


def _kubeconfig(server: str) -> Program:
    def program(world: World) -> None:
        clusters(world)
        world.secret("dp", "remote", {"config": literals.kubeconfig(server, literals.opaque("remote", 40))})

    return program


def _both(made: Any) -> Program:
    def program(world: World) -> None:
        clusters(world)
        value = made(world)
        for side in ("dp", "other"):
            world.secret(side, "login", {"password": value}, namespace="default")

    return program


SHARED = {
    "a password": _both(lambda _: password("shared").output("result")),
    "a key": _both(lambda _: key("shared").output("privateKeyPem")),
    "configuration": _both(lambda world: world.configured("shared")),
}


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("tenants", [[], TWO], ids=["not declared", "two tenants"])
def test_a_neighbours_kubeconfig_is_refused(again: bool, tenants: list[str]) -> None:
    found = said(_kubeconfig(OTHER), tenants, again=again)
    assert any(" for another data plane's cluster. If both" in one for one in found)
    assert all("name them in dataPlaneTenants" in one for one in found)


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
def test_that_of_the_tenants_own_cluster_passes(again: bool) -> None:
    assert said(_kubeconfig(OTHER), ONE, again=again) == []
    assert said(_kubeconfig(DP), [], again=again) == []


def _levels(program: Program, tenants: list[str]) -> list[bool]:
    """Of each verdict of a preview, whether it is advisory."""
    _, found, _, _ = run(program, preview=True, state={}, more=told(tenants))
    return [one.advisory for one in found if one.rule == "tenants-are-apart"]


@pytest.mark.parametrize("name", SHARED)
def test_one_secret_for_two_tenants_is_refused_and_for_two_clusters_warned_about(name: str) -> None:
    assert _levels(SHARED[name], TWO) == [False]
    assert _levels(SHARED[name], []) == [True]
    assert _levels(SHARED[name], ONE) == []


@pytest.mark.parametrize("name", SHARED)
def test_the_warning_names_the_other_object_and_the_setting(name: str) -> None:
    (message,) = {one for one in said(SHARED[name], []) if "another data plane" in one}
    assert "has the same secret as Secret:" in message
    assert message.endswith("If both clusters are one tenant's, name them in dataPlaneTenants")


def test_a_public_value_and_a_registry_login_may_be_shared() -> None:
    def program(world: World) -> None:
        clusters(world)
        login = world.configured("registry")
        for side in ("dp", "other"):
            world.secret(side, "pull", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")
            world.secret(side, "facts", {"host": "istiod.example.com", "ca.crt": literals.certificate("ca")})

    assert _levels(program, TWO) == []
