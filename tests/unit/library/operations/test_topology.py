"""The picture is drawn from resources alone: who is where, what crosses, whom webhooks call, and no value."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hosted_mesh_plan import topology_svg as in_plan
from pulumi_hosted_mesh import topology_svg
from pulumi_hosted_mesh.operations.topology import box_of, drawing, topology

URN = "urn:pulumi:s::hosted-mesh::"


def resource(kind, name, cluster, namespace="mesh-demo", needs=None, **inputs):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "urn": f"{URN}kubernetes:x/v1:{kind}::{name}",
        "type": f"kubernetes:x/v1:{kind}",
        "provider": f"{URN}pulumi:providers:kubernetes::{cluster}-cluster::id",
        "propertyDependencies": needs or {},
        "inputs": {
            "apiVersion": "x/v1",
            "kind": kind,
            **inputs,
            "metadata": {**metadata, **inputs.get("metadata", {})},
        },
    }


KEY = {
    "urn": f"{URN}tls:index/privateKey:PrivateKey::ca",
    "type": "tls:index/privateKey:PrivateKey",
    "inputs": {},
    "provider": f"{URN}pulumi:providers:tls::default_5_2_1::id",
}
CACERTS = resource("Secret", "cacerts", "control-plane", needs={"data": [KEY["urn"]]}, data={"ca-key.pem": "SWORDFISH"})
HOST = {"annotations": {"external-dns.alpha.kubernetes.io/hostname": "istiod.demo.test"}}
EXPOSURE = resource("Service", "istiod-demo", "control-plane", metadata=HOST)
WEBHOOK = resource(
    "MutatingWebhookConfiguration",
    "injector",
    "data-plane",
    namespace="",
    webhooks=[{"name": "a", "clientConfig": {"url": "https://istiod.demo.test:15017/inject"}}],
)
CRDS = [resource("CustomResourceDefinition", f"crd{number}", "data-plane", namespace="") for number in range(14)]


def test_objects_stand_in_their_cluster_and_namespace():
    lines = topology([KEY, CACERTS, EXPOSURE, WEBHOOK]).splitlines()
    control_plane = lines.index('  subgraph control_plane["control plane\'s cluster"]')
    data_plane = lines.index('  subgraph data_plane["data plane\'s cluster"]')
    secret = next(number for number, line in enumerate(lines) if "<b>Secret</b><br/>cacerts" in line)
    webhook = next(number for number, line in enumerate(lines) if "<b>MutatingWebhookConfiguration</b>" in line)
    assert control_plane < secret < data_plane < webhook


def test_arrows_are_what_crosses_and_what_webhooks_call():
    drawn = topology([KEY, CACERTS, EXPOSURE, WEBHOOK])
    assert "engine_PrivateKey -->|data| control_plane_mesh_demo_Secret" in drawn
    called = "-.->|https://istiod.demo.test:15017| control_plane_mesh_demo_Service"
    assert f"data_plane_MutatingWebhookConfiguration {called}" in drawn


def test_a_host_that_the_dns_bridge_publishes_leads_to_the_service_whose_address_it_is():
    exposure = resource("Service", "istiod-demo", "control-plane")
    record = resource("DNSEndpoint", "istiod.demo.test", "control-plane", needs={"spec": [KEY["urn"], exposure["urn"]]})
    called = "-.->|https://istiod.demo.test:15017| control_plane_mesh_demo_Service"
    assert called not in topology([KEY, exposure, WEBHOOK])
    assert called in topology([KEY, exposure, record, WEBHOOK])


@pytest.mark.parametrize("before", ["", "shop-", "control-plane-cluster-"], ids=["alone", "component", "confusing"])
@pytest.mark.parametrize("after", ["", "-adopting"])
def test_a_component_s_providers_are_known_too(before, after):
    kind = f"{URN}hosted-mesh:index:HostedMesh$pulumi:providers:kubernetes"
    names = {f"{kind}::{before}{role}-cluster{after}::id": role for role in ("control-plane", "data-plane")}
    boxes = [box_of({**resource("ConfigMap", "values", role), "provider": name}) for name, role in names.items()]
    assert [box and box.place for box in boxes] == list(names.values())


def test_objects_of_other_clusters_are_left_out():
    assert box_of(resource("ConfigMap", "values", "somebody-s")) is None
    assert box_of(resource("ConfigMap", "values", "mydata-plane")) is None


def test_many_of_a_kind_are_counted():
    assert "<b>CustomResourceDefinition</b><br/>14 of them" in topology(CRDS)


def test_no_value_is_shown_and_order_does_not_matter():
    resources = [KEY, CACERTS, EXPOSURE, WEBHOOK, *CRDS]
    assert "SWORDFISH" not in topology(resources)
    assert topology(resources) == topology(reversed(resources))


def provider(name, identifier):
    kind = "pulumi:providers:kubernetes"
    return {"urn": f"{URN}{kind}::{name}", "type": kind, "inputs": {"clusterIdentifier": identifier}}


def in_cluster(name, provider_name, kind="ConfigMap"):
    one = resource(kind, name, "data-plane")
    return {**one, "provider": f"{URN}pulumi:providers:kubernetes::{provider_name}::id"}


def test_each_data_plane_has_its_own_box():
    drawn = topology([in_cluster("a", "east-data-plane-cluster"), in_cluster("b", "west-data-plane-cluster"), EXPOSURE])
    assert 'subgraph data_plane_east["data plane\'s cluster east"]' in drawn
    assert 'subgraph data_plane_west["data plane\'s cluster west"]' in drawn
    east, west = drawn.index("<br/>a"), drawn.index("<br/>b")
    assert drawn.index("data_plane_east[") < east < drawn.index("data_plane_west[") < west
    assert 'subgraph control_plane["control plane\'s cluster"]' in drawn


def test_two_providers_of_one_cluster_are_one_box():
    names = ("east-data-plane-cluster", "east-data-plane-cluster-adopting", "other-data-plane-cluster")
    same = [provider(name, "data-plane-1") for name in names]
    objects = [in_cluster(str(number), name) for number, name in enumerate(names)]
    assert topology([*same, *objects]).count("subgraph data_plane[") == 1
    apart = [*same[:2], provider(names[2], "data-plane-2")]
    assert topology([*apart, *objects]).count("subgraph data_plane_") == 4  # two clusters, a namespace in each


def test_the_drawing_has_the_same_objects_and_arrows():
    drawn = drawing([KEY, CACERTS, EXPOSURE, WEBHOOK])
    for text in (
        "cacerts",
        "namespace mesh-demo",
        "<title>https://istiod.demo.test:15017</title>",
        "<title>data</title>",
    ):
        assert text in drawn
    assert "SWORDFISH" not in drawn
    assert drawn == drawing([WEBHOOK, EXPOSURE, CACERTS, KEY])
    ElementTree.fromstring(drawn)


def test_names_in_a_drawing_are_escaped():
    drawn = drawing([resource("ConfigMap", "<script>alert(1)</script>", "data-plane")])
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn


def test_plan_has_the_same_drawing():
    assert Path(str(in_plan.__file__)).resolve() == Path(topology_svg.__file__).resolve()
