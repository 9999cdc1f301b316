"""The shared gateway's objects, and those of a mesh behind it, as the engine is asked to make them."""

from __future__ import annotations

import json
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import MeshCharts
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.control_plane.gateway_hosts import gateway_hosts
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values
from pulumi_hosted_mesh.control_plane.manifests import network_policy_spec
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.gateway import GatewayFacts, GatewaySettings
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.tenancy import manifests

from agents.gateway_sidecar.rows import Row, rows_of
from agents.gateway_sidecar.settings import Settings
from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.program import Registered, run
from tests.unit.library.tenancy.gateway_documents import FACTS, GATEWAY, behind

KUBECONFIG = minimal("c", {"server": "https://cp.example.com", "certificate-authority-data": "QQ=="}, {"token": "t"})
USER = {"server": "https://api.user.example.com:6443", "certificate-authority-data": "QQ=="}
CANARY = {
    "name": "canary",
    "host": "canary.demo.meshes.example.com",
    "exposure": {"kind": "gateway", "openToAll": True, "webhookPort": 15017},
}


def settings(**changes: Any) -> GatewaySettings:
    return read_document(GatewaySettings, {**GATEWAY, **changes})


def mesh(given: dict[str, Any] | None = None) -> Mesh:
    return read_document(Mesh, given or behind())


def facts() -> GatewayFacts:
    return read_document(GatewayFacts, FACTS)


def test_the_sidecar_accepts_the_librarys_rows_and_settings() -> None:
    """Both sides of one format, and of one vocabulary: a row's istiod is the chart's Service."""
    given = settings(ports=[443, 15012, 15017])
    read = Settings.of(manifests.sidecar_config(given))
    found = mesh(behind({"revisions.1": CANARY}))
    hosts = [one for revision in found.revisions for one in gateway_hosts(found, revision)]
    rows, rejected = rows_of([{"metadata": {"name": one.host}, "data": one.data} for one in hosts], read)
    assert rejected == {}
    assert rows == (
        Row("canary.demo.meshes.example.com", "demo", "canary", ((443, "xds"), (15017, "webhooks")), (), 2000, 100),
        Row("hooks.demo.meshes.example.com", "demo", "default", ((443, "webhooks"),), ("198.51.100.7/32",), 2000, 100),
        Row("istiod.demo.meshes.example.com", "demo", "default", ((443, "xds"),), ("203.0.113.0/24",), 2000, 100),
    )
    assert [one.service for one in rows] == [
        "istiod-canary.mesh-demo.svc",
        "istiod.mesh-demo.svc",
        "istiod.mesh-demo.svc",
    ]


def test_proxies_and_webhooks_use_the_gateways_port_and_both_names() -> None:
    found = mesh()
    (revision,) = found.revisions
    endpoint = ControlPlaneEndpoint.of(found, revision, found.memberships[0], CERTIFICATE)
    assert endpoint.discovery_address == "istiod.demo.meshes.example.com:443"
    assert endpoint.injection_url.startswith("https://hooks.demo.meshes.example.com:443/inject")
    values = istiod_values(found, revision)
    assert values["meshConfig"]["defaultConfig"]["discoveryAddress"] == endpoint.discovery_address
    assert values["global"]["caAddress"] == endpoint.discovery_address
    assert values["env"]["ISTIOD_CUSTOM_HOST"] == "istiod.demo.meshes.example.com,hooks.demo.meshes.example.com"


def test_an_integrators_ports_and_host_reach_both_sides_too() -> None:
    exposure = {"kind": "external", "webhookHost": "hooks.demo.example.com", "xdsPort": 443, "webhookPort": 443}
    found = mesh(document({"revisions.0.exposure": exposure}))
    (revision,) = found.revisions
    endpoint = ControlPlaneEndpoint.of(found, revision, found.memberships[0], CERTIFICATE)
    assert endpoint.discovery_address == "istiod.demo.example.com:443"
    assert endpoint.validation_url == "https://hooks.demo.example.com:443/validate"
    assert istiod_values(found, revision)["env"]["ISTIOD_CUSTOM_HOST"].endswith(",hooks.demo.example.com")


def ingress(found: Mesh) -> Any:
    return network_policy_spec(found, [6443], facts())["ingress"][0]


def test_only_the_gateways_pods_reach_an_istiod_behind_it() -> None:
    pods = manifests.deployment(settings(), {})["template"]["metadata"]["labels"]
    namespace = {"matchLabels": {"kubernetes.io/metadata.name": settings().namespace}}
    assert ingress(mesh())["from"] == [{"namespaceSelector": namespace, "podSelector": {"matchLabels": pods}}]


def test_while_a_revision_has_a_load_balancer_everybody_reaches_the_ports() -> None:
    both = behind({"revisions.1": {**CANARY, "exposure": {"openToAll": True}}})
    assert "from" not in ingress(mesh(both))


def test_the_gateway_reaches_istiods_alone() -> None:
    policy = manifests.network_policy(settings())
    to, dns, api_server = policy["egress"]
    assert to["to"][0]["podSelector"] == {"matchLabels": {"app": "istiod"}}
    assert [one["port"] for one in to["ports"]] == [15012, 15017]
    assert {one["port"] for one in (*dns["ports"], *api_server["ports"])} == {53, 443, 6443}
    assert [one["port"] for one in policy["ingress"][0]["ports"]] == [8443]


def test_the_service_keeps_clients_addresses_and_publishes_every_host_of_its_zones() -> None:
    given = settings(ports=[443, 15012])
    spec, annotations = manifests.service(given), manifests.service_annotations(given)
    assert spec["externalTrafficPolicy"] == "Local"
    assert [(one["port"], one["targetPort"]) for one in spec["ports"]] == [(443, 8443), (15012, 15012)]
    assert annotations["external-dns.alpha.kubernetes.io/hostname"] == "*.meshes.example.com"
    assert "loadBalancerSourceRanges" not in spec
    limited = settings(openToAll=False, sourceRanges=["203.0.113.0/24"])
    assert manifests.service(limited)["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert "hosted-mesh.io/open-to-all" not in manifests.service_annotations(limited)


def test_envoys_admin_page_stays_in_the_pod() -> None:
    bootstrap = json.loads(manifests.settings_data(settings())["envoy.json"])
    assert bootstrap["admin"]["address"]["socket_address"]["address"] == "127.0.0.1"
    (metrics,) = bootstrap["static_resources"]["listeners"]
    (host,) = metrics["filter_chains"][0]["filters"][0]["typed_config"]["route_config"]["virtual_hosts"]
    assert [one["match"] for one in host["routes"]] == [{"path": "/stats/prometheus"}, {"path": "/ready"}]


def gateway_program() -> hosted_mesh.SharedGateway:
    cluster = hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG)
    return hosted_mesh.SharedGateway("shared", {"gateway": settings().arguments(), "cluster": cluster})


def test_the_gateway_has_no_secret_and_its_sidecar_one_right() -> None:
    made = run(gateway_program)
    kinds = [one.type.rpartition(":")[2] for one in made]
    assert "Secret" not in kinds
    (role,) = [one for one in made if one.type.endswith(":Role")]
    assert role.inputs["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    assert "ClusterRole" not in kinds
    (deployment,) = [one for one in made if one.type.endswith(":Deployment")]
    pod = deployment.inputs["spec"]["template"]["spec"]
    mounting = [
        one["name"]
        for one in (*pod["initContainers"], *pod["containers"])
        if "account" in {mount["name"] for mount in one["volumeMounts"]}
    ]
    assert (mounting, pod["automountServiceAccountToken"]) == (["sidecar"], False)
    for one in (*pod["initContainers"], *pod["containers"]):
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_new_settings_start_new_pods() -> None:
    def digest(made: list[Registered]) -> str:
        (found,) = [one for one in made if one.type.endswith(":Deployment")]
        return str(found.inputs["spec"]["template"]["metadata"]["annotations"]["hosted-mesh.io/read-at-start"])

    def other() -> None:
        cluster = hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG)
        changed = settings(handshakeSeconds=9).arguments()
        hosted_mesh.SharedGateway("shared", {"gateway": changed, "cluster": cluster})

    assert digest(run(gateway_program)) == digest(run(gateway_program)) != digest(run(other))


def meshes(*given: dict[str, Any], gateway: Any = FACTS) -> list[Registered]:
    def program() -> None:
        cluster = hosted_mesh.ControlPlaneCluster(kubeconfig=KUBECONFIG)
        for one in given:
            found = mesh({**one, "trust": {"management": "unmanaged"}})
            arguments: Any = {
                "mesh": found.arguments(),
                "cluster": cluster,
                "kubeconfigs": {"default": minimal(found.name, USER, {"token": "t"})},
                "root_certificate": CERTIFICATE,
                "gateway": gateway,
            }
            hosted_mesh.ExternalControlPlane(found.name, arguments)

    return run(program)


@pytest.fixture(autouse=True)
def _without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeshCharts, "make", lambda *_, **__: None)  # charts need an engine


def second(host: str) -> dict[str, Any]:
    exposure = {"kind": "gateway", "openToAll": True, "webhooks": {"host": f"hooks-{host}", "openToAll": True}}
    return behind({"name": "bank", "revisions.0.host": host, "revisions.0.exposure": exposure})


def test_a_mesh_adds_a_config_map_for_each_host_and_no_load_balancer() -> None:
    made = meshes(behind(), second("istiod.bank.meshes.example.com"))
    hosts = {
        one.inputs["metadata"]["name"]: one.inputs["metadata"]
        for one in made
        if one.type == "kubernetes:core/v1:ConfigMap"
    }
    assert sorted(hosts) == [
        "hooks-istiod.bank.meshes.example.com",
        "hooks.demo.meshes.example.com",
        "istiod.bank.meshes.example.com",
        "istiod.demo.meshes.example.com",
    ]
    first = hosts["istiod.demo.meshes.example.com"]
    assert first["namespace"] == "hosted-mesh-gateway"
    assert first["labels"]["hosted-mesh.io/mesh"] == "demo"
    selector = manifests.sidecar_config(settings())["selector"]
    assert "=".join(("hosted-mesh.io/gateway-host", first["labels"]["hosted-mesh.io/gateway-host"])) == selector
    assert not [one for one in made if one.type == "kubernetes:core/v1:Service"]


def test_two_meshes_of_a_program_cannot_have_one_host() -> None:
    with pytest.raises(
        InvalidInputError, match=r"has host istiod\.demo\.meshes\.example\.com, which belongs to mesh demo"
    ):
        meshes(behind(), second("istiod.demo.meshes.example.com"))


def test_the_facts_of_a_gateway_fit_a_mesh_of_the_same_program() -> None:
    found: list[Any] = []
    run(lambda: found.append(gateway_program().for_meshes))
    assert meshes(behind(), gateway=found[0])
