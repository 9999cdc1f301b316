"""What an operator of the control plane's carries to another cluster is in that cluster."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import Secret
from hosted_mesh_plan.vocabulary import DATA_PLANE_OWNED_ANNOTATION, DECLASSIFY_ANNOTATION
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.credentials import FLOW, SHAPE, VALUE
from hosted_mesh_policies.rules.unproven import UNPROVEN

from tests.corpus import literals
from tests.corpus.simulated_engine import run
from tests.corpus.world import World, password
from tests.unit.plan.carried_objects import (
    AWAY,
    HERE,
    TAKEN,
)

OURS = Provider("urn:pulumi:s::p::pulumi:providers:kubernetes::ours", "pulumi:providers:kubernetes", "ours", {})
SETTINGS = Settings(
    clusters=ClusterConfig(
        control_plane_providers=("ours", "hub-*"),
        control_plane_servers=("https://cp.example.com:6443",),
        data_plane_servers=("https://dp.example.com:6443",),
    )
)
TOKEN = literals.opaque("carried", 40)
PASSWORD = "random:index/randomPassword:RandomPassword"
MADE = Resource(f"urn:pulumi:s::p::{PASSWORD}::one", PASSWORD, "one", {}, {"result": Secret(TOKEN)})


def _object(kind: str, name: str, body: Any, *, made: bool = False) -> Resource:
    found = {"metadata": {"name": name, "namespace": "shop"}, **body}
    dependencies = dict.fromkeys(body, (MADE.urn,)) if made else {}
    token = f"kubernetes:{kind}"
    return Resource(f"urn:pulumi:s::p::{token}::{name}", token, name, found, found, None, OURS, dependencies)


KEPT = _object("core/v1:Secret", "kept", {"stringData": {"token": Secret(TOKEN)}}, made=True)


def _said(*resources: Resource) -> list[str]:
    context = Context(Stack("s", resources), SETTINGS)
    return [
        f"{one.urn.rpartition('::')[2]} {one.rule}" for rule in (FLOW, VALUE, SHAPE) for one in judge(rule, context)
    ]


def _secret(value: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "agent"}, "stringData": {"token": value}}


ITSELF = _object(
    "kubernetes.crossplane.io/v1alpha1:ProviderConfig",
    "itself",
    {"spec": {"credentials": {"source": "InjectedIdentity"}}},
)


def _carrier(kind: str, spec: dict[str, Any], value: Any = None) -> Resource:
    return _object(kind, "carrier", {"spec": {**spec, "manifests": [_secret(Secret(value or TOKEN))]}}, made=True)


@pytest.mark.parametrize("how", AWAY)
def test_a_secret_of_the_control_planes_is_refused(how: str) -> None:
    assert _said(MADE, KEPT, _carrier(*AWAY[how])) == [f"carrier {rule.name}" for rule in (FLOW, VALUE)]


@pytest.mark.parametrize("how", AWAY)
def test_the_other_clusters_own_passes(how: str) -> None:
    assert _said(MADE, _carrier(*AWAY[how])) == []


@pytest.mark.parametrize("how", HERE)
def test_what_stays_in_the_operators_own_cluster_passes(how: str) -> None:
    assert _said(MADE, KEPT, ITSELF, _carrier(*HERE[how])) == []


def _config(group: str, kind: str, namespace: str = "shop", provider: Provider = OURS) -> Resource:
    body = {"metadata": {"name": "itself", "namespace": namespace}, "spec": {"credentials": INJECTED}}
    return replace(_object(f"{group}/v1:{kind}", "itself", body), provider=provider)


INJECTED = {"source": "InjectedIdentity"}
OTHER_HUB = Provider(OURS.urn.replace("::ours", "::hub-2"), OURS.type, "hub-2", {})


@pytest.mark.parametrize(
    ("config", "group", "reference", "stays"),
    [
        (_config("kubernetes.crossplane.io", "ProviderConfig"), "kubernetes.crossplane.io", {}, True),
        (_config("helm.crossplane.io", "ProviderConfig"), "kubernetes.crossplane.io", {}, False),
        (
            _config("kubernetes.crossplane.io", "ProviderConfig", provider=OTHER_HUB),
            "kubernetes.crossplane.io",
            {},
            False,
        ),
        (_config("kubernetes.m.crossplane.io", "ClusterProviderConfig"), "kubernetes.m.crossplane.io", {}, True),
        (_config("kubernetes.m.crossplane.io", "ProviderConfig"), "kubernetes.m.crossplane.io", {}, False),
        (
            _config("kubernetes.m.crossplane.io", "ProviderConfig"),
            "kubernetes.m.crossplane.io",
            {"kind": "ProviderConfig"},
            True,
        ),
        (
            _config("kubernetes.m.crossplane.io", "ProviderConfig", "other"),
            "kubernetes.m.crossplane.io",
            {"kind": "ProviderConfig"},
            False,
        ),
    ],
)
def test_a_providers_configuration_leads_home_for_those_that_mean_it(
    config: Resource, group: str, reference: dict[str, str], stays: bool
) -> None:
    """The same name may be another provider's, another cluster's, another namespace's."""
    carrier = _carrier(f"{group}/v1:Object", {"providerConfigRef": {"name": "itself", **reference}})
    assert (_said(MADE, KEPT, config, carrier) == []) is stays


def test_the_name_of_a_providers_configuration_is_no_cluster_of_another_operators() -> None:
    argo = _carrier("argoproj.io/v1alpha1:Application", {"destination": {"name": "itself"}})
    assert _said(MADE, KEPT, ITSELF, argo)


# Before a write


GOES = "kubernetes.crossplane.io/v1alpha2:Object"


def _written(world: World, config: dict[str, Any], reference: str = "itself") -> None:
    kind = "kubernetes.crossplane.io/v1alpha1:ProviderConfig"
    world.object("cp", kind, "itself", {"metadata": {"name": "itself"}, "spec": {"credentials": config}})
    login = password("usage").output("result")
    spec = {"providerConfigRef": {"name": reference}, "forProvider": {"manifest": _secret(login)}}
    world.object("cp", GOES, "usage", {"spec": spec})


def _at_each_moment(preview: Callable[[World], Any], update: Callable[[World], Any]) -> tuple[list[str], list[str]]:
    """What is said of one program's preview, and before the writes of another, which has the first one's evidence."""
    state: dict[str, Any] = {}
    _, said, evidence, _ = run(preview, preview=True, state=state)
    refused, _, _, _ = run(update, preview=False, state=state, evidence=evidence)
    return [one.rule for one in said], [f"{one.urn.rpartition('::')[2]} {one.rule}" for one in refused]


def test_what_stays_in_its_cluster_at_the_preview_is_written() -> None:
    assert _at_each_moment(lambda world: _written(world, INJECTED), lambda world: _written(world, INJECTED)) == ([], [])


def test_what_then_goes_elsewhere_is_not_written() -> None:
    """A program that is another one when it is written."""
    before, after = _at_each_moment(
        lambda world: _written(world, INJECTED), lambda world: _written(world, INJECTED, "shop")
    )
    assert (before, after) == ([], [f"cp-usage {UNPROVEN.name}"])


def test_nor_is_a_configuration_that_then_leads_elsewhere() -> None:
    secret = {"source": "Secret", "secretRef": {"name": "kubeconfig-of-shop", "namespace": "shop", "key": "value"}}
    before, after = _at_each_moment(lambda world: _written(world, INJECTED), lambda world: _written(world, secret))
    assert (before, after) == ([], [f"cp-itself {UNPROVEN.name}"])


def test_without_a_preview_nothing_shows_where_it_goes() -> None:
    refused, *_ = run(lambda world: _written(world, INJECTED), preview=False, state={})
    assert [one.rule for one in refused] == [UNPROVEN.name]


def test_an_operators_object_inside_anothers_counts() -> None:
    work = {"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "spec": {"m": _secret(TOKEN)}}
    outer = {"providerConfigRef": {"name": "itself"}, "forProvider": {"manifest": work}}
    found = _object("kubernetes.crossplane.io/v1alpha2:Object", "outer", {"spec": outer}, made=True)
    assert f"outer {FLOW.name}" in _said(MADE, KEPT, ITSELF, found)


@pytest.mark.parametrize("how", TAKEN)
def test_what_an_operators_object_refers_to_goes_along(how: str) -> None:
    kind, spec = TAKEN[how]
    carrier = _object(kind, "carrier", {"spec": spec})
    about = {"name": "values", "namespace": "remote" if how == "kubefleet" else "shop", "labels": {"to": "shop"}}
    coded = base64.b64encode(TOKEN.encode()).decode()
    values = _object("core/v1:Secret", "values", {"metadata": about, "data": {"token": Secret(coded)}}, made=True)
    beside = _object("core/v1:Secret", "beside", {"data": {"token": Secret(coded)}}, made=True)
    assert _said(MADE, carrier, values) == []
    assert _said(MADE, carrier, values, beside) == [f"values {rule.name}" for rule in (FLOW, VALUE)]


def test_a_control_planes_kubeconfig_in_a_carried_secret_is_refused() -> None:
    text = literals.kubeconfig("https://cp.example.com:6443")
    spec = {"workload": {"manifests": [_secret(text)]}}
    work = _object("work.open-cluster-management.io/v1:ManifestWork", "carrier", {"spec": spec})
    assert f"carrier {SHAPE.name}" in _said(work)


# Into a store ---------------------------------------------------------------------------------------------------------


def _push(store: str, secret: dict[str, Any], **metadata: Any) -> Resource:
    spec = {"secretStoreRefs": [{"kind": "ClusterSecretStore", "name": store}], "selector": {"secret": secret}}
    body = {"metadata": {"name": "push", "namespace": "shop", **metadata}, "spec": spec}
    return _object("external-secrets.io/v1alpha1:PushSecret", "push", body)


LABELLED = _object(
    "core/v1:Secret",
    "kept",
    {
        "metadata": {"name": "kept", "namespace": "shop", "labels": {"for": "shop"}},
        "stringData": {"token": Secret(TOKEN)},
    },
)
NOTED = {
    "annotations": {DATA_PLANE_OWNED_ANNOTATION: "the shop's agent logs in by it"},
    "name": "kept",
    "namespace": "shop",
}
PUSHED: dict[str, tuple[list[Resource], bool]] = {
    "into a data plane's": ([KEPT, _push("shop-vault", {"name": "kept"})], True),
    "by its label": (
        [LABELLED, _push("shop-vault", {"selector": {"matchLabels": {"for": "shop"}}})],
        True,
    ),
    "another's label": ([LABELLED, _push("shop-vault", {"selector": {"matchLabels": {"for": "mail"}}})], False),
    "of the configuration": (
        [
            _object("core/v1:Secret", "kept", {"stringData": {"token": Secret(TOKEN)}}),
            _push("shop-vault", {"name": "kept"}),
        ],
        True,
    ),
    "into the control plane's": ([KEPT, _push("hub-vault", {"name": "kept"})], False),
    "into one that nobody classified": ([KEPT, _push("vault", {"name": "kept"})], False),
    "another Secret": ([KEPT, _push("shop-vault", {"name": "other"})], False),
    "with a note on the Secret": (
        [
            _object("core/v1:Secret", "kept", {"metadata": NOTED, "stringData": {"token": Secret(TOKEN)}}),
            _push("shop-vault", {"name": "kept"}),
        ],
        False,
    ),
    "declassified": (
        [
            KEPT,
            _push(
                "shop-vault",
                {"name": "kept"},
                annotations={DECLASSIFY_ANNOTATION: "spec.selector.secret: a public key"},
            ),
        ],
        False,
    ),
}


@pytest.mark.parametrize("how", PUSHED)
def test_a_secret_of_the_control_planes_is_copied_into_no_store_of_a_data_planes(how: str) -> None:
    resources, refused = PUSHED[how]
    clusters = replace(SETTINGS.clusters, data_plane_providers=("shop-*",))
    context = Context(Stack("s", tuple(resources)), replace(SETTINGS, clusters=clusters))
    assert [one.urn.rpartition("::")[2] for one in judge(FLOW, context)] == (["push"] if refused else [])


def test_what_a_data_planes_cluster_made_may_be_copied_back_into_its_store() -> None:
    theirs = Provider(
        "urn:pulumi:s::p::pulumi:providers:kubernetes::theirs", "pulumi:providers:kubernetes", "theirs", {}
    )
    made = replace(_object("core/v1:Secret", "token", {}), provider=theirs)
    kept = replace(KEPT, dependencies={"stringData": (made.urn,)})
    clusters = replace(SETTINGS.clusters, data_plane_providers=("shop-*", "theirs"))
    stack = Stack("s", (made, kept, _push("shop-vault", {"name": "kept"})))
    assert not list(judge(FLOW, Context(stack, replace(SETTINGS, clusters=clusters))))
