"""Attacks on `dataPlaneTenants` that fail: what it says of some clusters opens no others, and not the control plane.

Each program is previewed and updated, for the first time and again. What is refused in a preview is not updated. The
setting is contradicted, and taken to where owners are called by other names: operators' destinations, proxies,
authorities, meshes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hosted_mesh_plan.vocabulary import DATA_PLANE_OWNED_ANNOTATION, MESH_LABEL
from hosted_mesh_policies.configuration import UnusableConfigurationError, check_settings

from tests.corpus import literals
from tests.corpus.world import World, key, password, self_signed
from tests.unit.policies.rules.tenants_clusters import (
    CP,
    DP,
    OTHER,
    PROXIED,
    THIRD,
    Program,
    cluster,
    clusters,
    given,
    leaks,
    said,
    token,
)

ONE = [f"alder={OTHER}", f"alder={DP}"]


def _carried(source: str, to: str) -> Program:
    """An operator of the control plane's takes a Secret along to the cluster that it calls so."""

    def program(world: World) -> None:
        clusters(world)
        world.secret("cp", "values", {"token": token(world, source)})
        taken = {"valuesFrom": [{"kind": "Secret", "name": "values"}], "kubeConfig": {"secretRef": {"name": to}}}
        world.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "agent", {"spec": taken})

    return program


def _authority(*sides: str) -> Program:
    """One authority, of which each cluster says that its owner's istiod signs with it."""
    said = {DATA_PLANE_OWNED_ANNOTATION: "the istiod of this cluster's owner signs with it"}

    def program(world: World) -> None:
        clusters(world)
        private = key("authority")
        certificate = self_signed("authority", private, authority=True)
        data = {"ca-key.pem": private.output("privateKeyPem"), "ca-cert.pem": certificate.output("certPem")}
        for side in sides:
            world.secret(side, "cacerts", data, annotations=said)

    return program


def _meshes(shared: Callable[[], Any], *sides: str) -> Program:
    """A mesh in each cluster, all in namespaces of one name, and one secret that each has."""

    def program(world: World) -> None:
        clusters(world)
        value = shared()
        for side in sides:
            about = {"name": "istio-shop", "labels": {MESH_LABEL: f"mesh-{side}"}}
            world.object(side, "v1:Namespace", "istio-shop", {"metadata": about})
            world.secret(side, "own", {"value": value}, namespace="istio-shop")
            world.config_map(side, "meant", {"host": "istiod.istio-shop.svc"}, namespace="istio-shop")

    return program


def _behind_proxy(world: World) -> None:
    for side, server in zip("ab", PROXIED, strict=True):
        cluster(world, side, server)
    world.secret("b", "cluster-second", {"bearer": token(world, "a")})


def _with_authority(world: World, side: str, server: str, authority: str) -> None:
    text = literals.kubeconfig(server, literals.opaque(side, 40))
    told = text.replace(f"server: {server}", f"certificate-authority-data: {authority}\n    server: {server}")
    world._providers[side] = world.named_provider(f"{side}-cluster", told)


def _by_two_addresses(first: str) -> Program:
    """One cluster, as its authority tells; the second address has what the first one made."""

    def program(world: World) -> None:
        for side, server in (("first", first), ("third", THIRD)):
            _with_authority(world, side, server, "LS0tLS1CRUdJTg==")
        world.secret("dp", "cluster-second", {"bearer": token(world, "third")})
        world.secret("third", "copy", {"bearer": token(world, "first")})

    return program


def _password() -> Any:
    return password("shared").output("result")


def _key() -> Any:
    return key("shared").output("privateKeyPem")


HELD: dict[str, tuple[Program, Sequence[str]]] = {
    "the control plane's own address": (given("cp", "dp"), [*ONE, f"alder={CP}"]),
    "its address, the other way": (given("dp", "cp"), [*ONE, f"alder={CP}"]),
    "two tenants that differ by a letter's case": (given("other", "dp"), [f"Alder={OTHER}", f"alder={DP}"]),
    "a tenant called as an owner": (given("third", "dp"), [f"tenant={THIRD}", f"alder={DP}"]),
    "the control plane's, carried to a tenant": (_carried("cp", OTHER), ONE),
    "a tenant's, carried to another's": (_carried("dp", THIRD), ONE),
    "a tenant's, carried to the control plane's address": (_carried("dp", CP), [*ONE, f"alder={CP}"]),
    "carried to what is called as the tenant": (_carried("dp", "alder"), ONE),
    "carried to what is called as a data plane": (_carried("dp", "a data plane"), ONE),
    "carried to a name that nobody says": (_carried("dp", "other-cluster"), ONE),
    "an authority in another's cluster": (_authority("dp", "third"), ONE),
    "an authority in all data planes": (_authority("dp", "other", "third"), ONE),
    "an authority that the control plane has": (_authority("dp", "other", "cp"), ONE),
    "a password of two tenants' meshes": (_meshes(_password, "dp", "third"), ONE),
    "one cluster of a proxy": (_behind_proxy, [f"alder={PROXIED[0]}", f"birch={PROXIED[1]}"]),
    "carried to what is spelled as the tenant is": (_carried("dp", "tenant alder"), ONE),
    "the control plane's, carried to a cluster of its name": (_carried("cp", "the control plane"), ONE),
    "a proxy, but no cluster of it": (_behind_proxy, ["alder=https://many.example.com"]),
}
PASSING: dict[str, tuple[Program, Sequence[str]]] = {
    "carried to its other cluster": (_carried("dp", OTHER), ONE),
    "by an address in another spelling": (_carried("dp", "https://OTHER.example.com:6443/"), ONE),
    "an authority of both": (_authority("dp", "other"), ONE),
    "namespaces of one name, a password of both": (_meshes(_password, "dp", "other"), ONE),
    "two clusters of a proxy": (_behind_proxy, [f"alder={PROXIED[0]}", f"alder={PROXIED[1]}/"]),
}


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", HELD)
def test_what_the_setting_does_not_say_is_refused(name: str, again: bool) -> None:
    assert said(*HELD[name], again=again)


def test_one_cluster_by_two_addresses_is_its_tenants_by_both_and_never_a_control_planes() -> None:
    told = [f"alder={OTHER}", f"alder={DP}"]
    assert said(_by_two_addresses(OTHER), told, again=False) == []
    found = said(_by_two_addresses(CP), [f"alder={THIRD}", f"alder={DP}"], again=False)
    assert any("flows here: Secret third-token-third" in one for one in found)


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
def test_a_key_of_two_meshes_of_one_tenant_is_refused(again: bool) -> None:
    assert said(_meshes(_key, "dp", "other"), ONE, again=again)


def test_a_contradiction_does_not_hide_the_flow() -> None:
    """That a cluster is said to be both sides' is a finding. It takes nobody's secret out of sight."""
    found = said(*HELD["the control plane's own address"], again=False)
    assert any("flows here: Secret cp-token-cp" in one for one in found)


@pytest.mark.parametrize("name", HELD)
def test_prove_finds_what_the_setting_does_not_say(name: str) -> None:
    assert leaks(*HELD[name])


@pytest.mark.parametrize("name", PASSING)
def test_what_the_setting_says_passes_wherever_owners_are_told_apart(name: str) -> None:
    program, tenants = PASSING[name]
    assert [said(program, tenants, again=again) for again in (False, True)] == [[], []]
    assert leaks(program, tenants) == 0
    assert leaks(program, [])


@pytest.mark.parametrize(
    "entry",
    [
        *("", "=", "alder", "alder=", "=alder-*", "alder=*", "alder=:", "alder=*:*"),
        *("alder =alder-*", "the control plane=alder-*", f"{OTHER}={DP}", f"alder=shop={DP}"),
        *("alder=https://", "alder=https://*.example.com", "alder=own-*", "alder=https://other.example.com:99999"),
        *("alder=ftp://other.example.com", "alder=https://[::1", "alder=https://a b", "alder=https://\u2100.com"),
    ],
)
def test_an_entry_that_says_nothing_is_refused_by_its_place(entry: str) -> None:
    with pytest.raises(UnusableConfigurationError) as refused:
        check_settings({"dataPlaneTenants": [*ONE, entry]})
    assert str(refused.value) == (
        "dataPlaneTenants[2]: must be a tenant and its cluster, such as shop=https://10.0.0.2:6443"
    )
