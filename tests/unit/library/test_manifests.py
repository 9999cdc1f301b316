"""What the pure functions compute: values, webhooks, rights, exposure, quota."""

from __future__ import annotations

import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import marked
from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.istiod_values import environment, istiod_values
from pulumi_hosted_mesh.data_plane import istiod_rights, webhooks
from pulumi_hosted_mesh.data_plane.values import gateway_values, remote_values
from pulumi_hosted_mesh.spec.control_plane import OUR_ENVIRONMENT
from pulumi_hosted_mesh.spec.load import read_mesh
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.documents import document


def mesh(**changes: object) -> Mesh:
    return read_mesh(document({path.replace("__", "."): value for path, value in changes.items()}))


def endpoint(of: Mesh) -> ControlPlaneEndpoint:
    return ControlPlaneEndpoint.of(of, "-----BEGIN CERTIFICATE-----")


def test_the_split_cannot_be_overridden_by_chart_values() -> None:
    escape = {
        "env": {"USE_REMOTE_CERTS": "true", "FOO": "bar"},
        "global": {"externalIstiod": False, "nativeNftables": True},
    }
    values = istiod_values(mesh(chartValues={"controlPlane": escape}))
    assert values["env"]["USE_REMOTE_CERTS"] == "false"
    assert values["env"]["FOO"] == "bar"
    assert values["global"]["externalIstiod"] is True
    assert values["global"]["nativeNftables"] is True


def test_nor_by_the_environment() -> None:
    values = istiod_values(mesh(controlPlane__istiod={"environment": {"A": "b"}}))
    assert values["env"]["A"] == "b"
    assert environment(mesh()).keys() == OUR_ENVIRONMENT, "the document refuses these names, so it must know all"


def test_nor_by_what_a_profile_would_set() -> None:
    remote = {
        "istiodRemote": {"enabled": True},
        "configMap": False,
        "global": {"omitSidecarInjectorConfigMap": True},
    }
    values = istiod_values(mesh(chartValues={"controlPlane": remote}))
    assert values["istiodRemote"]["enabled"] is False
    assert values["configMap"] is True
    assert values["global"]["omitSidecarInjectorConfigMap"] is False
    local = {"istiodRemote": {"enabled": False, "enabledLocalInjectorIstiod": True}}
    hostile = mesh(chartValues={"dataPlane": local})
    values = remote_values(hostile, endpoint(hostile))
    assert values["istiodRemote"] == {"enabled": True, "enabledLocalInjectorIstiod": False}


def test_plaintext_xds_is_off_and_tls_is_modern() -> None:
    assert istiod_values(mesh())["extraContainerArgs"] == ["--grpcAddr=", "--tls-min-version=1.3"]


def test_mesh_config_and_templates_come_from_the_control_plane() -> None:
    values = istiod_values(mesh(revision="canary"))
    assert {volume.get("configMap", {}).get("name") for volume in values["volumes"]} == {
        "istio-canary",
        "istio-sidecar-injector-canary",
        None,
    }
    assert values["revision"] == "canary"


def test_proxies_find_istiod_by_its_host() -> None:
    values = istiod_values(mesh())
    assert values["meshConfig"]["defaultConfig"]["discoveryAddress"] == "istiod.demo.example.com:15012"
    assert values["global"]["caAddress"] == "istiod.demo.example.com:15012"
    assert remote_values(mesh(), endpoint(mesh()))["global"]["remotePilotAddress"] == "istiod.demo.example.com"


@pytest.mark.parametrize(
    ("quantity", "count", "product"),
    [
        ("250m", 2, "500m"),
        ("500m", 4, "2"),
        ("2", 2, "4"),
        ("512Mi", 2, "1Gi"),
        ("1.5", 3, "4500m"),
        ("2Gi", 2, "4Gi"),
        ("100k", 3, "300k"),
    ],
)
def test_quantities_are_multiplied_in_canonical_form(quantity: str, count: int, product: str) -> None:
    assert manifests.times(quantity, count) == product


def test_istiods_pods_get_no_token_of_their_account() -> None:
    token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "istio-ca"}}]}}
    root = {"name": "root", "projected": {"sources": [{"configMap": {"name": "root"}}]}}
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("t", "root")]
    spec = {
        "serviceAccountName": "istiod",
        "volumes": [token, root, {"name": "empty", "emptyDir": {}}],
        "containers": [{"name": "discovery", "volumeMounts": mounts}],
        "initContainers": [{"name": "first", "volumeMounts": mounts}, {"name": "second"}],
    }
    deployment = {"metadata": {}, "spec": {"replicas": 1, "template": {"metadata": {"labels": {}}, "spec": spec}}}
    made = marked("kubernetes:apps/v1:Deployment", deployment, {}, {}, pod_spec=manifests.without_tokens)
    assert made["spec"]["replicas"] == 1
    assert made["spec"]["template"] == {
        "metadata": {"labels": {}},
        "spec": {
            "serviceAccountName": "istiod",
            "automountServiceAccountToken": False,
            "volumes": [root, {"name": "empty", "emptyDir": {}}],
            "containers": [{"name": "discovery", "volumeMounts": mounts[1:]}],
            "initContainers": [{"name": "first", "volumeMounts": mounts[1:]}, {"name": "second", "volumeMounts": []}],
        },
    }


def test_several_pods_are_spread_over_nodes_and_that_can_be_replaced() -> None:
    (spread,) = istiod_values(mesh(revision="canary"))["topologySpreadConstraints"]
    assert spread == {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "istiod", "istio.io/rev": "canary"}},
    }
    one = mesh(controlPlane__istiod={"replicas": 1})
    assert "topologySpreadConstraints" not in istiod_values(one)
    zones = {"topologySpreadConstraints": [{"topologyKey": "topology.kubernetes.io/zone"}]}
    assert istiod_values(mesh(chartValues={"controlPlane": zones})).items() >= zones.items()


def test_istiod_is_two_pods_by_default_and_the_quota_has_room_for_their_rollout() -> None:
    assert istiod_values(mesh())["replicaCount"] == 2
    # The chart's own maxSurge is 100%.
    assert manifests.quota_limits(mesh())["pods"] == "4"


def test_quota_admits_a_rollout() -> None:
    assert manifests.quota_limits(mesh(controlPlane__istiod={"replicas": 3})) == {
        "pods": "6",
        "requests.cpu": "1500m",
        "requests.memory": "3Gi",
        "limits.cpu": "12",
        "limits.memory": "12Gi",
        "services.loadbalancers": "1",
        "services.nodeports": "0",
    }


def test_exposed_service_has_two_ports_and_the_allow_list() -> None:
    spec = manifests.exposed_service_spec(mesh())
    assert [port["port"] for port in spec["ports"]] == [15012, 15017]
    assert spec["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert spec["allocateLoadBalancerNodePorts"] is False
    assert "loadBalancerSourceRanges" not in manifests.exposed_service_spec(
        mesh(controlPlane__exposure={"openToAll": True})
    )


def test_exposed_service_is_published_by_name() -> None:
    key = "external-dns.alpha.kubernetes.io/hostname"
    assert manifests.exposed_service_annotations(mesh())[key] == "istiod.demo.example.com"
    silent = mesh(controlPlane__exposure={"openToAll": True, "publishName": False, "annotations": {"a": "b"}})
    assert manifests.exposed_service_annotations(silent) == {
        "a": "b",
        "hosted-mesh.io/open-to-all": "controlPlane.exposure.openToAll",
        "pulumi.com/waitFor": "jsonpath={.status.loadBalancer.ingress}",
    }


def test_a_services_address_is_waited_for_and_its_endpoints_are_not() -> None:
    key = "pulumi.com/waitFor"
    assert list(service_wait("LoadBalancer")) == [key]
    assert (
        list(service_wait("ClusterIP")) == list(service_wait("LoadBalancer", ready=False)) == ["pulumi.com/skipAwait"]
    )
    service = {"metadata": {"annotations": {"a": "b"}}, "spec": {"type": "LoadBalancer"}}
    assert marked("kubernetes:core/v1:Service", service, {}, {})["metadata"]["annotations"].keys() == {"a", key}
    # Its Pods are waited for by the Deployment, so nothing but Services is touched.
    assert "annotations" not in marked("kubernetes:core/v1:ConfigMap", {"metadata": {}}, {}, {})["metadata"]


def test_network_policy_lets_the_api_server_of_the_data_plane_be_reached() -> None:
    dns, https = manifests.network_policy_spec(mesh())["egress"]
    assert dns == {"ports": [{"protocol": "TCP", "port": 53}, {"protocol": "UDP", "port": 53}]}
    assert https == {"ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]}


def test_only_the_exposed_ports_are_open_to_any_address():
    """Not 8080: istiod's debug pages are there, and a kubelet's probes need no rule."""
    incoming = manifests.network_policy_spec(mesh())["ingress"]
    to_all = {port["port"] for rule in incoming if "from" not in rule for port in rule["ports"]}
    assert to_all == {15012, 15017}


def test_network_policy_is_limited_to_the_api_servers_ranges() -> None:
    ranges = ["198.51.100.0/24", "2001:db8::/64"]
    to = [{"ipBlock": {"cidr": cidr}} for cidr in ranges]
    limited = mesh(controlPlane__networkPolicy={"apiServerRanges": ranges})
    _, api_server, issuers = manifests.network_policy_spec(limited)["egress"]
    assert api_server == {"to": to, "ports": [{"protocol": "TCP", "port": 6443}]}
    assert issuers == {"ports": [{"protocol": "TCP", "port": 443}]}

    narrow = {"apiServerRanges": ranges, "fetchJwks": False}
    at_443 = {"dataPlane__access": {"apiServer": "https://api.user.example.com"}}
    _, api_server = manifests.network_policy_spec(mesh(controlPlane__networkPolicy=narrow, **at_443))["egress"]
    assert api_server == {"to": to, "ports": [{"protocol": "TCP", "port": 443}]}
    _, api_server = manifests.network_policy_spec(mesh(controlPlane__networkPolicy={"fetchJwks": False}))["egress"]
    assert api_server == {"ports": [{"protocol": "TCP", "port": 6443}]}


def test_webhooks_are_by_url_with_bundle_time_out_and_policy() -> None:
    document_ = mesh(dataPlane__webhooks={"timeoutSeconds": 3, "validationFailurePolicy": "Ignore"})
    injection, validation = webhooks.manifests(endpoint(document_), document_.data_plane.webhooks, "Q0E=")
    assert {hook["clientConfig"]["url"] for hook in injection["webhooks"]} == {
        "https://istiod.demo.example.com:15017/inject"
    }
    assert {hook["clientConfig"]["url"] for hook in validation["webhooks"]} == {
        "https://istiod.demo.example.com:15017/validate"
    }
    for hook in [*injection["webhooks"], *validation["webhooks"]]:
        assert hook["clientConfig"].keys() == {"url", "caBundle"}
        assert hook["timeoutSeconds"] == 3
        assert hook["sideEffects"] == "None"
    assert {hook["failurePolicy"] for hook in injection["webhooks"]} == {"Fail"}
    assert {hook["failurePolicy"] for hook in validation["webhooks"]} == {"Ignore"}


def test_webhooks_of_a_revision_leave_others_alone() -> None:
    canary = mesh(revision="canary")
    injection, validation = webhooks.manifests(endpoint(canary), canary.data_plane.webhooks, "Q0E=")
    assert injection["metadata"]["name"] == "istio-sidecar-injector-canary-mesh-demo"
    assert validation["metadata"]["labels"]["istio.io/rev"] == "canary"
    assert [hook["name"] for hook in injection["webhooks"]] == [
        "rev.namespace.sidecar-injector.istio.io",
        "rev.object.sidecar-injector.istio.io",
    ]
    assert [hook["name"] for hook in validation["webhooks"]] == ["rev.validation.istio.io"]


def test_istiod_has_no_right_to_secrets_and_none_by_wildcard() -> None:
    rules = [*istiod_rights.cluster_rules(), *istiod_rights.namespace_rules()]
    for rule in rules:
        assert "secrets" not in rule.resources
        assert "*" not in {*rule.resources, *rule.verbs, rule.group}
        assert not {"bind", "escalate", "impersonate", "delete", "deletecollection", "patch"} & set(rule.verbs)
        assert not any("/" in resource for resource in rule.resources)


def test_what_istiod_may_write_is_named() -> None:
    rules = [*istiod_rights.cluster_rules(), *istiod_rights.namespace_rules()]
    writes = {
        (rule.resources, verb, rule.names)
        for rule in rules
        for verb in rule.verbs
        if verb not in ("get", "list", "watch")
    }
    assert writes == {
        (("tokenreviews",), "create", ()),
        (("configmaps",), "create", ()),
        (("configmaps",), "update", ("istio-ca-root-cert",)),
        (("configmaps",), "update", ("istio-namespace-controller-election",)),
    }


def test_gateways_get_no_right_to_secrets() -> None:
    gateway = mesh(
        dataPlane__gateways=[{"name": "edge", "chartValues": {"rbac": {"enabled": True}, "a": 1}}]
    ).data_plane.gateways[0]
    values = gateway_values(mesh(), gateway)
    assert values["rbac"] == {"enabled": False}
    assert values["a"] == 1


def test_merge_goes_down_mappings_and_replaces_lists() -> None:
    assert merged({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "d": {"e": 1}}) == {
        "a": {"b": 1, "c": [2]},
        "d": {"e": 1},
    }


def test_endpoint_has_no_room_for_a_secret() -> None:
    facts = endpoint(mesh(revision="canary", dataPlane__network="east"))
    assert set(facts.as_output()) == {
        *("name", "namespace", "revision", "host", "xds_port", "webhook_port", "trust_domain", "network"),
        *("root_certificate", "injection_url", "validation_url", "injection_labels"),
    }
    assert facts.injection_labels == {"istio.io/rev": "canary"}
    assert endpoint(mesh()).injection_labels == {"istio-injection": "enabled"}
    with pytest.raises(AttributeError):
        facts.kubeconfig = "x"
