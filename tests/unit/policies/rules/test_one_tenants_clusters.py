"""Two data planes that are said to be one tenant's are one owner; others, and the control plane, are not of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hosted_mesh_policies.prove.places import Known
from hosted_mesh_policies.prove.verdict import Kind

from tests.corpus import literals
from tests.corpus.simulated_engine import SERVERS, run
from tests.corpus.world import World, key, password
from tests.unit.policies.prove.in_process import proven

OTHER, THIRD = "https://other.example.com:6443", "https://third.example.com:6443"
ONE = ["alder=https://Other.example.com:6443/", f"alder={SERVERS['dp']}"]
Program = Callable[[World], Any]


def _clusters(world: World) -> None:
    for name, server in (("other", OTHER), ("third", THIRD)):
        world._providers[name] = world.named_provider(f"{name}-cluster", _kubeconfig(server, name))


def _kubeconfig(server: str, name: str) -> str:
    return literals.kubeconfig(server, literals.opaque(name, 40))


def _token(world: World, side: str) -> Any:
    about = {"annotations": {"kubernetes.io/service-account.name": "argocd-manager"}}
    body = {"type": "kubernetes.io/service-account-token", "metadata": about}
    return world.object(side, "v1:Secret", f"token-{side}", body).output("data").apply(lambda data: data["token"])


def _given(to: str, made: Callable[[World], Any]) -> Program:
    def program(world: World) -> None:
        _clusters(world)
        world.secret("cp", "beside", {"token": password("hubs").output("result")})
        world.secret(to, "cluster-second", {"bearer": made(world)})

    return program


def _kept_by_both(world: World) -> None:
    _clusters(world)
    shared = key("signing").output("privateKeyPem")
    for side in ("dp", "other"):
        world.secret(side, "signing", {"key": shared})


ITS_OWN = {
    "a token of its other cluster's": _given("dp", lambda w: _token(w, "other")),
    "the other way": _given("other", lambda w: _token(w, "dp")),
    "a key of both": _kept_by_both,
}
OTHERS = {
    "a token of another's": _given("dp", lambda w: _token(w, "third")),
    "its token at another's": _given("third", lambda w: _token(w, "dp")),
    "a token of the control plane's": _given("other", lambda w: _token(w, "cp")),
}


def _said(program: Program, tenants: list[str], *, again: bool = False) -> list[str]:
    state: dict[str, Any] = {}
    told = {"dataPlaneServers": [SERVERS["dp"], OTHER, THIRD], "dataPlaneTenants": tenants}
    if again:
        run(program, preview=False, state=state, rules=(), more=told)
    _, said, evidence, _ = run(program, preview=True, state=state, more=told)
    if said:
        return [one.message for one in said]
    refused, said, *_ = run(program, preview=False, state=state, evidence=evidence, more=told)
    return [one.message for one in (*refused, *said)]


def _leaks(program: Program, tenants: list[str]) -> int:
    servers = (SERVERS["dp"], OTHER, THIRD)
    return len(proven(program, rounds=1, known=Known((SERVERS["cp"],), servers, tuple(tenants))).of(Kind.LEAK))


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", ITS_OWN)
def test_what_one_cluster_of_a_tenant_makes_another_of_it_may_have(name: str, again: bool) -> None:
    assert _said(ITS_OWN[name], ONE, again=again) == []


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_anothers_stays_there(name: str, again: bool) -> None:
    assert _said(OTHERS[name], ONE, again=again)


@pytest.mark.parametrize(
    ("tenants", "asked"),
    [
        ([], True),
        (ONE[:1], True),
        ([ONE[0], f"birch={SERVERS['dp']}"], False),
        ([*ONE, f"birch={OTHER}"], True),
        ([ONE[0], f"alder={THIRD}"], True),
    ],
    ids=["of nobody", "one of both", "of two", "both said", "of others"],
)
def test_clusters_that_are_not_said_to_be_one_tenants_are_apart(tenants: list[str], asked: bool) -> None:
    """asked: whether somebody may have forgotten to say it."""
    program = ITS_OWN["a token of its other cluster's"]
    (said,) = _said(program, tenants)
    assert said.startswith("stringData: a secret of another data plane flows here: ")
    assert said.endswith(". If both clusters are one tenant's, name them in dataPlaneTenants") is asked
    assert _leaks(program, tenants) == 1


def test_a_control_plane_is_of_no_tenant() -> None:
    """Not by its address: what says two things of one cluster says nothing."""
    program = OTHERS["a token of the control plane's"]
    assert _said(program, [*ONE, f"alder={SERVERS['cp']}"])


def test_prove_takes_a_tenants_clusters_for_one_owner() -> None:
    assert [_leaks(program, []) > 0 for program in ITS_OWN.values()] == [True, True, True]
    assert [_leaks(program, ONE) for program in ITS_OWN.values()] == [0, 0, 0]
    assert [_leaks(program, ONE) > 0 for program in OTHERS.values()] == [True, True, True]
