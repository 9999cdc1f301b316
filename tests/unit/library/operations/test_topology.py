"""The picture is drawn from resources alone: who is where, what crosses, whom webhooks call, and no value."""

from __future__ import annotations

import pytest
from pulumi_hosted_mesh.operations.topology import box_of, topology

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


KEY = {"urn": f"{URN}tls:index/privateKey:PrivateKey::ca", "type": "tls:index/privateKey:PrivateKey", "inputs": {}}
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
