"""What an operator of the control plane's carries to another cluster goes to a data plane, for the oracle too."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_analysis.prove.engine import planned
from hosted_mesh_analysis.prove.verdict import Kind, Verdict
from hosted_mesh_analysis.runner.places import Known, Side
from hosted_mesh_analysis.runner.values import UNKNOWN

from tests.corpus.world import World, password
from tests.unit.analysis.prove.fake_pulumi import provider, resource, written
from tests.unit.analysis.prove.in_process import SERVERS, proven
from tests.unit.plan.carried_objects import AWAY, HERE, TAKEN

KNOWN = Known((SERVERS["cp"], "hub-*"), (SERVERS["dp"],))
RUN = [how for how in AWAY if how != "argo, not known yet"]
"""A program's run knows all values; of a preview there is a test of its own."""


def _carrier(world: World, kind: str, spec: dict[str, Any], value: Any) -> None:
    inner = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "agent"}, "stringData": {"token": value}}
    world.object("cp", kind, "carrier", {"spec": {**spec, "manifests": [inner]}})


def _made_for(how: dict[str, tuple[str, dict[str, Any]]], name: str, *, kept: bool) -> Verdict:
    def program(world: World) -> None:
        made = password("made").output("result")
        itself = {"metadata": {"name": "itself"}, "spec": {"credentials": {"source": "InjectedIdentity"}}}
        world.object("cp", "kubernetes.crossplane.io/v1alpha1:ProviderConfig", "itself", itself)
        if kept:
            world.secret("cp", "kept", {"token": made})
        _carrier(world, *how[name], made.apply(lambda text: text[::-1]))

    return proven(program, rounds=1, known=KNOWN)


@pytest.mark.parametrize("how", RUN)
def test_a_secret_of_the_control_planes_is_a_leak(how: str) -> None:
    [leak] = _made_for(AWAY, how, kept=True).of(Kind.LEAK)
    assert (leak.resource.partition(" ")[2], leak.path) == ("cp-carrier", "spec.manifests[0].stringData.token")
    assert leak.secrets == ("RandomPassword made",)


@pytest.mark.parametrize("how", RUN)
def test_the_other_clusters_own_is_none(how: str) -> None:
    found = _made_for(AWAY, how, kept=False)
    assert (found.exit_code, [one.kind for one in found.findings]) == (0, [Kind.OWN])


@pytest.mark.parametrize("how", HERE)
def test_what_stays_in_the_operators_own_cluster_is_not_judged(how: str) -> None:
    found = _made_for(HERE, how, kept=True)
    assert (found.exit_code, found.findings) == (0, [])


@pytest.mark.parametrize("how", TAKEN)
@pytest.mark.parametrize("kept", [True, False])
def test_what_an_operators_object_refers_to_goes_along(how: str, *, kept: bool) -> None:
    kind, spec = TAKEN[how]
    about = {"name": "values", "namespace": "remote" if how == "kubefleet" else "shop", "labels": {"to": "shop"}}

    def program(world: World) -> None:
        made = password("made").output("result")
        world.object("cp", kind, "carrier", {"metadata": {"namespace": "shop"}, "spec": spec})
        world.object("cp", "v1:Secret", "values", {"metadata": about, "stringData": {"token": made}})
        if kept:
            world.secret("cp", "beside", {"token": made}, namespace="shop")

    found = proven(program, rounds=1)
    assert (found.exit_code, [one.resource for one in found.of(Kind.LEAK)]) == (
        (1, ["Secret cp-values"]) if kept else (0, [])
    )


def test_where_it_is_carried_is_told_with_whose_that_is() -> None:
    def program(world: World) -> None:
        for name in ("argo", "argo, by name"):
            world.object("cp", AWAY[name][0], str(len(name)), {"spec": AWAY[name][1]})

    found = proven(program, rounds=1)
    assert found.sides[SERVERS["dp"]] == Side.DATA_PLANE.value
    assert found.sides["shop"] == Side.UNKNOWN.value


def test_a_tenants_token_goes_to_the_tenant_and_to_nobody_else() -> None:
    def program(world: World) -> None:
        theirs = world.object("dp", "v1:Secret", "minted", {"type": "Opaque"}).output("data")
        world.object("cp", AWAY["argo"][0], "back", {"spec": {**AWAY["argo"][1], "values": theirs}})
        world.object("cp", AWAY["flux"][0], "other", {"spec": {**AWAY["flux"][1], "values": theirs}})

    assert {one.resource for one in proven(program, rounds=1).of(Kind.LEAK)} == {"HelmRelease cp-other"}


def test_a_preview_takes_along_what_a_name_that_is_not_known_yet_may_mean() -> None:
    flux = {"kubeConfig": {"secretRef": {"name": UNKNOWN}}, "valuesFrom": [{"kind": "Secret", "name": UNKNOWN}]}
    release = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "spec": flux}
    kinds = "kubernetes:helm.toolkit.fluxcd.io/v2:HelmRelease", "kubernetes:core/v1:Secret"
    urns = [f"urn:pulumi:dev::shop::{kind}::{name}" for kind, name in zip(kinds * 2, "abcd", strict=True)]
    plan = written(
        [
            provider("ours"),
            resource(kinds[0], "a", release, "ours", propertyDependencies={"spec": [urns[1]]}),
            resource(kinds[1], "b", {"data": {}}, "ours"),
            resource(kinds[1], "d", {"data": {}}, "ours"),
        ]
    )
    found = planned.captured(plan, {}, (), Known(("ours",)))
    assert [found.side(urns[at]) for at in (0, 1, 3)] == [Side.UNKNOWN, Side.UNKNOWN, Side.CONTROL_PLANE]
