"""What a deployment plans for each cluster, and what it refuses: a pure function of its document."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_hosted_mesh.assembly.deployment_plan import planned
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.load import read_document, read_text
from pulumi_hosted_mesh.spec.mesh import Mesh

Document = dict[str, Any]
RANGES = ["203.0.113.0/24"]


def cluster(name: str, **fields: Any) -> Document:
    return {"name": name, "sourceRanges": RANGES, **fields}


def document(**fields: Any) -> Document:
    template = {"revisions": [{"host": "istiod.{cluster}.example.com"}]}
    clusters = [cluster("berlin", labels={"tier": "production"}), cluster("tokyo", labels={"tier": "test"})]
    return copy.deepcopy({"name": "fleet", "template": template, "clusters": clusters, **fields})


def meshes(given: Document) -> dict[str, Mesh]:
    return {one.cluster.name: one.mesh for one in planned(read_document(Deployment, given, "the deployment"))}


def test_the_pages_document_is_whole() -> None:
    text = (Path(__file__).parents[4] / "docs/components/deployment.md").read_text()
    (written,) = re.findall(r"```yaml\n(name: fleet\n.*?)```", text, re.DOTALL)
    found = {one.cluster.name: one for one in planned(read_text(Deployment, written, "the page"))}
    assert {name: one.mesh.trust.workload_lifetime_hours for name, one in found.items()} == {"berlin": 24, "tokyo": 12}


def test_each_cluster_gets_a_mesh_with_names_of_its_own() -> None:
    found = meshes(document())
    assert [(one.name, one.domain, one.network(one.memberships[0])) for one in found.values()] == [
        ("fleet-berlin", "fleet-berlin.mesh.local", "fleet-berlin"),
        ("fleet-tokyo", "fleet-tokyo.mesh.local", "fleet-tokyo"),
    ]
    assert found["tokyo"].revisions[0].host == "istiod.tokyo.example.com"


def test_networks_are_apart_unless_the_template_or_an_override_says_otherwise() -> None:
    def said(**fields: Any) -> list[str]:
        return [one.cross_network.value for one in meshes(document(**fields)).values()]

    assert said() == ["none", "none"]
    override = {"clusters": ["tokyo"], "crossNetwork": "gateways"}
    assert said(overrides=[override]) == ["none", "gateways"]
    template = {**hosted(), "crossNetwork": "gateways"}
    override["crossNetwork"] = "none"
    assert said(template=template, overrides=[override]) == ["gateways", "none"]
    assert said(template=template) == ["gateways", "gateways"]


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (None, ["berlin", "tokyo"]),
        ({"names": ["tokyo"]}, ["tokyo"]),
        ({"labels": {"tier": "production"}}, ["berlin"]),
        ({"names": ["tokyo"], "labels": {"tier": "production"}}, ["berlin", "tokyo"]),
    ],
)
def test_clusters_are_chosen_by_name_and_by_labels(select: Document | None, names: list[str]) -> None:
    assert list(meshes(document(select=select))) == names


def test_an_override_changes_its_clusters_alone_and_only_what_it_gives() -> None:
    template = {
        "revisions": [{"host": "istiod.{cluster}.example.com", "istiod": {"replicas": 3, "logLevel": "default:info"}}],
        "dataPlane": {"namespaces": ["shop"], "webhooks": {"timeoutSeconds": 5}},
    }
    changed = {
        "clusters": ["tokyo"],
        "trustDomain": "asia.example.com",
        "revisions": [{"istiod": {"replicas": 1}}, {"name": "canary", "host": "canary.{cluster}.example.com"}],
        "dataPlane": {"namespaces": ["books", "shop"]},
    }
    given = document(template=template, overrides=[changed])
    berlin, tokyo = planned(read_document(Deployment, given))
    assert (berlin.mesh.revisions[0].istiod.replicas, berlin.namespaces) == (3, ("shop",))
    assert len(berlin.mesh.revisions) == 1
    stable, canary = tokyo.mesh.revisions
    assert (stable.istiod.replicas, stable.istiod.log_level, stable.host) == (
        1,
        "default:info",
        "istiod.tokyo.example.com",
    )
    assert (canary.name, canary.host) == ("canary", "canary.tokyo.example.com")
    assert (tokyo.namespaces, tokyo.mesh.domain) == (("books", "shop"), "asia.example.com")
    assert tokyo.mesh.memberships[0].webhooks.timeout_seconds == 5


def test_names_stand_in_every_text_of_the_template() -> None:
    hostname = "external-dns.alpha.kubernetes.io/hostname"
    gateway = {"name": "eastwest", "service": {"annotations": {hostname: "eastwest.{cluster}.{mesh}.example.com"}}}
    template = {**document()["template"], "dataPlane": {"gateways": [gateway]}}
    found = meshes(document(template=template))["berlin"].memberships[0].gateways[0]
    assert found.service.annotations[hostname] == "eastwest.berlin.fleet-berlin.example.com"


def test_a_cluster_s_ranges_say_who_may_connect() -> None:
    exposure = {"sourceRanges": ["198.51.100.0/24"], "annotations": {"example.com/tier": "gold"}}
    template = {"revisions": [{"host": "istiod.{cluster}.example.com", "exposure": exposure}]}
    clusters = [cluster("berlin"), {"name": "tokyo"}]
    found = {
        name: one.revisions[0].exposure for name, one in meshes(document(template=template, clusters=clusters)).items()
    }
    ranges = {name: one.arguments()["source_ranges"] for name, one in found.items()}
    assert ranges == {"berlin": RANGES, "tokyo": ["198.51.100.0/24"]}
    assert all(one.arguments()["annotations"] == exposure["annotations"] for one in found.values())


def test_an_override_s_exposure_replaces_the_template_s_whole() -> None:
    exposure = {"sourceRanges": ["198.51.100.0/24"], "annotations": {"example.com/tier": "gold"}}
    changed = {"clusters": ["tokyo"], "revisions": [{"exposure": {"kind": "external"}}]}
    given = document(
        template=hosted(exposure=exposure), clusters=[cluster("berlin"), {"name": "tokyo"}], overrides=[changed]
    )
    found = meshes(given)
    assert found["tokyo"].revisions[0].exposure.arguments() == {"kind": "external"}
    assert found["berlin"].revisions[0].exposure.arguments()["annotations"] == exposure["annotations"]


def test_components_are_gateways_with_the_ports_of_their_purpose() -> None:
    own = {"name": "shop"}
    template = {**hosted(), "dataPlane": {"components": ["ingress", "eastwest", "egress"], "gateways": [own]}}
    found = meshes(document(template=template))["tokyo"].memberships[0].gateways
    assert [(one.name, one.service.type and one.service.type.value) for one in found] == [
        ("ingress", None),
        ("eastwest", None),
        ("egress", "ClusterIP"),
        ("shop", None),
    ]
    assert [[port.port for port in one.service.ports] for one in found] == [[], [15021, 15443], [15021, 15443], []]


def test_a_profile_is_of_one_revision() -> None:
    changed = {"clusters": ["tokyo"], "revisions": [{"profile": "demo"}]}
    found = meshes(document(overrides=[changed]))
    assert [one.revisions[0].profile.value for one in found.values()] == ["default", "demo"]


def hosted(host: str = "istiod.{cluster}.example.com", **fields: Any) -> Document:
    return {"revisions": [{"host": host, **fields}]}


BAD: dict[str, tuple[Document, list[str]]] = {
    "labels that match nothing": (
        {"select": {"labels": {"tier": "prod"}}},
        ["select.labels: matches none of the clusters (tier: prod). Correct these labels"],
    ),
    "an empty selection": ({"select": {}}, ["select: chooses no cluster. Add names or labels"]),
    "a name that is not there": (
        {"select": {"names": ["berln"]}},
        ["select.names: names berln, which is none of the clusters. Did you mean berlin?"],
    ),
    "two clusters of one name": (
        {"clusters": [cluster("berlin"), cluster("berlin")]},
        ["clusters: has two of one name, berlin. Give each its own name"],
    ),
    "no cluster": ({"clusters": []}, ["clusters: is empty. Add one"]),
    "an override for a cluster that is not chosen": (
        {"select": {"names": ["berlin"]}, "overrides": [{"clusters": ["tokyo"]}]},
        ["overrides[0].clusters: names tokyo, which select does not choose, so it would have no effect. Choose it"],
    ),
    "an override for no cluster": (
        {"overrides": [{"clusters": ["paris"]}]},
        ["overrides[0].clusters: names paris, which is none of the clusters. The clusters are berlin, tokyo"],
    ),
    "an override of an unknown field": (
        {"overrides": [{"clusters": ["tokyo"], "revisions": [{"hots": "x"}]}]},
        ["overrides[0].revisions[0].hots: is not a field of the document. Did you mean host?"],
    ),
    "one host for two": (
        {"template": hosted("istiod.example.com")},
        ["template.revisions[0].host: would be istiod.example.com for both berlin and tokyo. Put {cluster} into it"],
    ),
    "one host for two by an override": (
        {"overrides": [{"clusters": ["tokyo"], "revisions": [{"host": "istiod.berlin.example.com"}]}]},
        ["template.revisions[0].host: would be istiod.berlin.example.com for both berlin and tokyo"],
    ),
    "one name for two": (
        {"template": {**hosted(), "name": "shop"}},
        [
            "template.name: would be shop for both berlin and tokyo",
            "template.trustDomain: would be shop.mesh.local",
            "template.network: would be shop for both",
        ],
    ),
    "one trust domain for two": (
        {"template": {**hosted(), "trustDomain": "example.com"}},
        ["template.trustDomain: would be example.com for both berlin and tokyo"],
    ),
    "one network for two": (
        {"template": {**hosted(), "network": "lan"}},
        ["template.network: would be lan for both berlin and tokyo"],
    ),
    "a cluster that is called like another with its revision": (
        {
            "clusters": [cluster("berlin"), cluster("berlin-canary")],
            "overrides": [
                {"clusters": ["berlin"], "revisions": [{"name": "canary", "host": "canary.berlin.example.com"}]}
            ],
        },
        ["clusters: berlin and berlin-canary with their revisions make one name, berlin-canary. Rename one"],
    ),
    "a placeholder of no meaning": (
        {"template": hosted("istiod.{region}.example.com")},
        ["template.revisions[0].host: has the unknown placeholder {region}. Use {cluster} or {mesh}"],
    ),
    "no host": ({"template": {"revisions": [{}]}}, ["template.revisions[0].host: is required"]),
    "no revision": ({"template": {}}, ["template.revisions: is empty. Add one"]),
    "nobody may connect": (
        {"clusters": [{"name": "berlin"}]},
        ["clusters[0].sourceRanges: is required if the template has no exposure"],
    ),
    "ranges that limit nothing": (
        {"template": hosted(exposure={"kind": "external"}), "clusters": [cluster("berlin")]},
        ["clusters[0].sourceRanges: has no effect: its mesh's exposure is external. Leave it out"],
    ),
    "a value that only one cluster gets": (
        {"overrides": [{"clusters": ["tokyo"], "revisions": [{"host": "192.0.2.1"}]}]},
        ["template.revisions[0].host, as overridden for tokyo: is an IP address"],
    ),
    "a mesh name that is too long": (
        {"clusters": [cluster("b" * 55)]},
        ["template.name: must have at most 58 characters"],
    ),
    "an address for all": (
        {"template": {**hosted(), "dataPlane": {"access": {"apiServer": "https://api.example.com"}}}},
        ["template.dataPlane: access.apiServer and access.certificateAuthority differ by cluster"],
    ),
    "another provider": (
        {"template": {**hosted(), "provider": "linkerd"}},
        ["template.provider: must be one of 'istio'"],
    ),
    "a profile of the other side": (
        {"template": hosted(profile="remote")},
        ["template.revisions[0].profile: must be one of 'default', 'demo' or 'preview'"],
    ),
    "a profile that sizes istiod, beside a size": (
        {"template": hosted(profile="demo", istiod={"autoscaling": {"maxReplicas": 3}})},
        ["template.revisions[0]: istiod.autoscaling has no effect with profile: demo, which sets istiod's size. Leave"],
    ),
    "a component that is a gateway too": (
        {"template": {**hosted(), "dataPlane": {"components": ["ingress"], "gateways": [{"name": "ingress"}]}}},
        ["template.dataPlane: gateways and components both have ingress. Leave it out of components, or rename"],
    ),
    "a component twice": (
        {"template": {**hosted(), "dataPlane": {"components": ["ingress", "ingress"]}}},
        ["template.dataPlane.components: names ingress twice. Name it once"],
    ),
    "a shared root with another lifetime for one": (
        {
            "root": "shared",
            "overrides": [{"clusters": ["tokyo"], "trust": {"intermediate": {"lifetimeDays": 100}}}],
        },
        ["template.trust.intermediate: differs between berlin and tokyo, but they share one root. Leave it out of"],
    ),
    "a shared root and brought intermediates": (
        {"root": "shared", "template": {**hosted(), "trust": {"management": "brought"}}},
        [
            "root: is shared, but the mesh of berlin has trust.management: brought. Leave root out",
            "root: is shared, but the mesh of tokyo has trust.management: brought. Leave root out",
        ],
    ),
    "a token that nobody renews": (
        {"template": {**hosted(), "dataPlane": {"access": {"token": "bounded"}}}},
        ["template.dataPlane: access.token is `bounded`, but a deployment does not renew tokens"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_deployed_is_refused_by_field_rule_and_fix(case: str) -> None:
    changes, words = BAD[case]
    with pytest.raises(InvalidInputError) as refused:
        meshes(document(**changes))
    said = [str(one) for one in refused.value.problems]
    assert len(said) == len(words)
    assert [one for one, start in zip(said, words, strict=True) if not one.startswith(start)] == []


NAMES = st.lists(st.from_regex(r"[a-z]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True), min_size=2, max_size=6, unique=True)
REVISIONS = st.sampled_from([[], ["a"], ["canary", "b"], ["1-31"]])


@settings(max_examples=150, deadline=None)
@given(names=NAMES, revisions=st.lists(REVISIONS, min_size=6, max_size=6), labelled=st.sets(st.integers(0, 5)))
def test_names_never_collide_and_a_cluster_more_changes_nothing_of_the_others(
    names: list[str], revisions: list[list[str]], labelled: set[int]
) -> None:
    clusters = [cluster(name, labels={"in": "yes" if at in labelled else "no"}) for at, name in enumerate(names)]
    overrides: list[Document] = [
        {
            "clusters": [name],
            "revisions": [{"name": one, "host": f"{one}.istiod.{{cluster}}.example.com"} for one in more],
        }
        for name, more in zip(names, revisions, strict=False)
        if more
    ]
    whole = document(clusters=clusters, overrides=overrides)
    try:
        found = meshes(whole)
    except InvalidInputError as refused:
        # Only a cluster that is called like another with its revision, which Pulumi could not tell apart.
        assert all("make one name" in str(one) for one in refused.problems)
        made = [
            name if one == "" else f"{name}-{one}"
            for name, more in zip(names, revisions, strict=False)
            for one in ("", *more)
        ]
        assert len(set(made)) < len(made)
        return
    assert list(found) == sorted(names)
    for values in (
        [one.name for one in found.values()],
        [one.namespace for one in found.values()],
        [one.domain for one in found.values()],
        [one.network(one.memberships[0]) for one in found.values()],
        [revision.host for one in found.values() for revision in one.revisions],
    ):
        assert len(set(values)) == len(values)
    last = names[-1]
    rest = [one for one in overrides if one["clusters"] != [last]]
    assert meshes(document(clusters=clusters[:-1], overrides=rest)) == {
        name: one for name, one in found.items() if name != last
    }
    if labelled & set(range(len(names))):
        wanted = sorted(names[at] for at in labelled if at < len(names))
        others = [one for one in overrides if one["clusters"][0] in wanted]
        some = meshes(document(clusters=clusters, overrides=others, select={"labels": {"in": "yes"}}))
        assert some == {name: found[name] for name in wanted}
