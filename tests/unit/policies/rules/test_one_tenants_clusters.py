"""Two data planes that are said to be one tenant's are one owner; others, and the control plane, are not of it."""

from __future__ import annotations

import pytest

from tests.corpus.world import World, key
from tests.unit.policies.rules.tenants_clusters import CP, DP, OTHER, THIRD, clusters, given, leaks, said

ONE = ["alder=https://Other.example.com:6443/", f"alder={DP}"]


def _kept_by_both(world: World) -> None:
    clusters(world)
    shared = key("signing").output("privateKeyPem")
    for side in ("dp", "other"):
        world.secret(side, "signing", {"key": shared})


ITS_OWN = {
    "a token of its other cluster's": given("other", "dp"),
    "the other way": given("dp", "other"),
    "a key of both": _kept_by_both,
}
OTHERS = {
    "a token of another's": given("third", "dp"),
    "its token at another's": given("dp", "third"),
    "a token of the control plane's": given("cp", "other"),
}


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", ITS_OWN)
def test_what_one_cluster_of_a_tenant_makes_another_of_it_may_have(name: str, again: bool) -> None:
    assert said(ITS_OWN[name], ONE, again=again) == []


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_anothers_stays_there(name: str, again: bool) -> None:
    assert said(OTHERS[name], ONE, again=again)


@pytest.mark.parametrize(
    ("tenants", "asked"),
    [
        ([], True),
        (ONE[:1], True),
        ([ONE[0], f"birch={DP}"], False),
        ([*ONE, f"birch={OTHER}"], True),
        ([ONE[0], f"alder={THIRD}"], True),
    ],
    ids=["of nobody", "one of both", "of two", "both said", "of others"],
)
def test_clusters_that_are_not_said_to_be_one_tenants_are_apart(tenants: list[str], asked: bool) -> None:
    """asked: whether somebody may have forgotten to say it."""
    program = ITS_OWN["a token of its other cluster's"]
    (message,) = said(program, tenants)
    assert message.startswith("stringData: a secret of another data plane flows here: ")
    assert message.endswith(". If both clusters are one tenant's, name them in dataPlaneTenants") is asked
    assert leaks(program, tenants) == 1


def test_a_control_plane_is_of_no_tenant() -> None:
    """Not by its address: what says two things of one cluster says nothing."""
    program = OTHERS["a token of the control plane's"]
    assert said(program, [*ONE, f"alder={CP}"])


def test_prove_takes_a_tenants_clusters_for_one_owner() -> None:
    assert [leaks(program, []) > 0 for program in ITS_OWN.values()] == [True, True, True]
    assert [leaks(program, ONE) for program in ITS_OWN.values()] == [0, 0, 0]
    assert [leaks(program, ONE) > 0 for program in OTHERS.values()] == [True, True, True]
