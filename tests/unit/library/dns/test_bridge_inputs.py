"""What a program gives the bridge beside its document, and what the bridge runs: computed without Pulumi."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.plan import Plan
from pulumi_hosted_mesh.dns.validated_inputs import BridgeInputs
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.dns.documents import RFC2136, document, provider

CLOUD = {
    "id": "cloud",
    "type": "route53",
    "authentication": "workload-identity",
    "zones": [{"name": "{edge}.example.com"}],
}
CREDENTIALS = {"inner": {"password": "x"}, "outer": {"tsig-secret": "x"}}
EDGES = {"north": "x", "south": "x"}


def bridge_of(*providers: dict[str, Any], **fields: Any) -> DnsBridge:
    return read_document(DnsBridge, document(*(providers or (provider(), provider(RFC2136))), **fields))


def refused(bridge: DnsBridge, *given: Any) -> list[str]:
    with pytest.raises(InvalidInputError) as error:
        BridgeInputs(*given).require_whole(bridge, Plan.of(bridge))
    return [f"{one.field}: {one.rule}" for one in error.value.problems]


def test_all_that_is_missing_or_unknown_is_named_at_once() -> None:
    found = refused(
        bridge_of(), {"north": "x"}, {}, {"inner": {"password": "x"}, "other": {"x": "y"}}, {"a.b": ["192.0.2.1"]}
    )
    assert found == [
        "records.a.b: lies in none of the control plane's zones (there are none)",
        "reader_kubeconfigs: has none for edge north",
        "publisher_kubeconfigs: has none for edge south",
        "reader_kubeconfigs: has none for edge south",
        "credentials.outer: is required: provider outer has authentication credentials",
        "credentials.other: belongs to no provider",
    ]


def test_of_an_edge_for_which_nothing_runs_nothing_is_asked() -> None:
    bridge = bridge_of(provider(selector={"region": "north"}))
    BridgeInputs({"north": "x"}, {"north": "x"}, {"inner": CREDENTIALS["inner"]}, {}).require_whole(
        bridge, Plan.of(bridge)
    )


def test_what_runs_is_the_edges_pairs_and_the_control_planes_own() -> None:
    plan = Plan.of(
        bridge_of(provider(selector={"region": "north"}), provider(RFC2136, controlPlaneZones=["m.example.com"]))
    )
    assert [one.name for one in plan.pairs] == ["north-inner", "north-outer", "south-outer"]
    assert [one.name for one in plan.own] == ["control-plane-outer"]
    assert list(plan.edges) == ["north", "south"]
    assert list(plan.providers) == ["inner", "outer"]
    assert [one.name for one in plan.pairs_of("north")] == ["north-inner", "north-outer"]
    # The control plane's zones are no edge's.
    assert plan.zones == {"north": ["north.example.com"], "south": ["south.example.com"]}


def test_a_provider_that_selects_nobody_runs_for_nobody() -> None:
    plan = Plan.of(bridge_of(provider(selector={"region": "nowhere"})))
    assert (plan.edges, plan.providers, plan.zones) == ({}, {}, {})


def test_each_pod_has_the_account_of_what_it_does() -> None:
    """With an identity of its own the provider's; else of who reads the program's own records, or of nobody."""
    zones = {"controlPlaneZones": ["mesh.example.org"]}
    plan = Plan.of(bridge_of({**CLOUD, **zones}, provider(**zones), edges=("north",)))
    assert {one.name: manifests.account_of(one) for one in (*plan.pairs, *plan.own)} == {
        "north-cloud": "dns-provider-cloud",
        "north-inner": "dns-bridge",
        "control-plane-cloud": "dns-provider-cloud",
        "control-plane-inner": "dns-records",
    }


def test_labels_say_whose_it_is_only_where_the_document_does() -> None:
    given = document(provider(project="shop"), edges=("north",))
    given["edges"][0]["project"] = "shop"
    plan = Plan.of(read_document(DnsBridge, given))
    assert manifests.pair_labels(plan.pairs[0]) == {
        "hosted-mesh.io/dns-edge": "north",
        "hosted-mesh.io/dns-provider": "inner",
        "hosted-mesh.io/project": "shop",
    }


@pytest.mark.parametrize("fixed", [True, False])
def test_pods_have_no_ids_of_users_where_the_cluster_assigns_them(fixed: bool) -> None:
    """OpenShift's restricted-v2 rejects ids outside of the namespace's range."""
    bridge = bridge_of(provider(controlPlaneZones=["mesh.example.org"]), fixedUser=fixed)
    plan = Plan.of(bridge)
    pods = [manifests.publisher_pod(bridge, pair, ()) for pair in (*plan.pairs, *plan.own)]
    pods += [manifests.reader_pod(bridge, edge) for edge in bridge.edges]
    for pod in pods:
        context = pod["securityContext"]
        assert context["runAsNonRoot"] is True
        assert len({"runAsUser", "runAsGroup", "fsGroup"} & context.keys()) == (3 if fixed else 0)
        assert all("runAsUser" not in one["securityContext"] for one in pod["containers"])


def test_images_are_pinned_by_digest() -> None:
    images = bridge_of(provider()).images
    assert all("@sha256:" in one for one in (images.external_dns, images.python))
