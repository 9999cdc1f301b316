"""What the pure functions compute: values, webhooks, rights, exposure, quota."""

from __future__ import annotations

import json
import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.charts.chart import Changes, marked
from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.control_plane import manifests
from pulumi_hosted_mesh.control_plane.istiod_values import environment
from pulumi_hosted_mesh.control_plane.istiod_values import istiod_values as values_of
from pulumi_hosted_mesh.data_plane import rights, root_certificate_owner, webhooks
from pulumi_hosted_mesh.data_plane.values import gateway_values, while_nodes_go
from pulumi_hosted_mesh.data_plane.values import remote_values as values_on_data_plane
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.features import FEATURES, Features
from pulumi_hosted_mesh.spec.load import read_document, read_text
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW
from pulumi_hosted_mesh.spec.reserved import LISTS, SPLITS_ARGUMENTS, SPLITS_ENVIRONMENT
from pulumi_hosted_mesh.vocabulary import GATEWAY_PORT_LABEL

from tests.unit.library.documents import CERTIFICATE, document

STATUS, EAST_WEST = {"name": "status-port", "port": 15021}, {"name": "tls", "port": 15443}


def mesh(**changes: object) -> Mesh:
    return read_document(Mesh, document({path.replace("__", "."): value for path, value in changes.items()}))


def endpoint(of: Mesh) -> ControlPlaneEndpoint:
    return ControlPlaneEndpoint.of(of, of.revisions[0], of.memberships[0], CERTIFICATE)


def istiod_values(of: Mesh) -> dict[str, Any]:
    return values_of(of, of.revisions[0])


def remote_values(of: Mesh) -> dict[str, Any]:
    return values_on_data_plane(endpoint(of), of.memberships[0])


def exposed(of: Mesh) -> manifests.ExposedService:
    (service,) = manifests.exposed_services(of, of.revisions[0])
    return service


def network_policy(of: Mesh) -> dict[str, Any]:
    spec: dict[str, Any] = manifests.network_policy_spec(of, of.api_server_ports)
    return spec


def configurations(of: Mesh) -> list[webhooks.Manifest]:
    return webhooks.manifests(endpoint(of), of.memberships[0].webhooks, "Q0E=")


def test_lists_of_the_escape_hatch_are_joined_with_those_of_the_split() -> None:
    escape = {
        "volumes": [{"name": "mine", "emptyDir": {}}],
        "extraContainerArgs": ["--mine"],
        "global": {"nativeNftables": True},
    }
    values = istiod_values(mesh(revisions__0__chartValues=escape))
    assert [volume["name"] for volume in values["volumes"]][:2] == ["mine", "mesh-config"]
    assert values["extraContainerArgs"] == ["--mine", *SPLITS_ARGUMENTS]
    assert values["global"]["nativeNftables"] is True
    assert values["global"]["externalIstiod"] is True


def leaves(values: dict[str, Any]) -> list[tuple[str, ...]]:
    """The way to each value that is no mapping, or an empty one."""
    return [
        (key, *rest)
        for key, value in values.items()
        for rest in (leaves(value) if isinstance(value, dict) and value else [()])
    ]


def only(way: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Values with nothing but this one."""
    return {way[0]: only(way[1:], value) if way[1:] else value}


GATEWAY: dict[str, Any] = {
    "name": "edge",
    "replicas": 2,
    "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}], "affinity": {"nodeAffinity": {"a": {}}}},
    "service": {
        "type": "LoadBalancer",
        "ports": [{"name": "https", "port": 443}],
        "annotations": {"a": "b"},
        "loadBalancerClass": "a/b",
        "sourceRanges": ["203.0.113.0/24"],
    },
    "imagePullSecrets": ["a"],
}
GATEWAY["scheduling"]["priorityClass"] = "high"
FULL = {
    "revisions.0.istiod": {"autoscaling": {"maxReplicas": 5}, "scheduling": GATEWAY["scheduling"]},
    "revisions.0.proxies": {"accessLog": {"format": "x"}, "resources": {"cpuLimit": "1"}, "imagePullSecrets": ["a"]},
    "revisions.0.charts": {"hub": "a", "tag": "b"},
    "memberships.0.gateways": [GATEWAY],
}


def set_by_the_library() -> list[Any]:
    """Each value of each chart that the library sets, and where the document's own values for that chart stand."""
    full = read_document(Mesh, document(FULL))
    gateway = gateway_values(endpoint(full), full.memberships[0].gateways[0])
    fixed = read_document(Mesh, document(FULL | {"revisions.0.istiod": {}}))
    charts = [
        ("revisions.0", istiod_values(full)),
        ("revisions.0", istiod_values(fixed)),
        ("memberships.0", remote_values(full)),
        ("memberships.0.gateways.0", gateway),
    ]
    replaceable = while_nodes_go(full.memberships[0].gateways[0])
    found = {(where, way) for where, values in charts for way in leaves(values) if way[0] not in {*LISTS, *replaceable}}
    return [pytest.param(*one, id=f"{one[0]}: {'.'.join(one[1])}") for one in sorted(found)]


@pytest.mark.parametrize(("where", "way"), set_by_the_library())
def test_what_is_set_is_refused_in_the_escape_hatch(where: str, way: tuple[str, ...]) -> None:
    """Nothing that a document says is dropped: what the library sets as well is refused by its name."""
    with pytest.raises(InvalidInputError) as refused:
        read_document(Mesh, document(FULL | {f"{where}.chartValues": only(way, "x")}))
    assert "chartValues: sets " in str(refused.value)


@pytest.mark.parametrize("whole", [None, "x", []])
@pytest.mark.parametrize("part", ["global", "meshConfig"])
def test_a_part_with_settings_of_the_split_is_not_dropped_as_a_whole(part: str, whole: Any) -> None:
    for where in ("revisions.0", "memberships.0"):
        with pytest.raises(InvalidInputError, match=f"replaces {part}, and this library sets a part of it"):
            read_document(Mesh, document({f"{where}.chartValues": {part: whole}}))


def test_the_environment_is_joined_and_the_splits_own_is_known() -> None:
    given = mesh(revisions__0__istiod={"environment": {"A": "b"}})
    assert istiod_values(given)["env"]["A"] == "b"
    of_the_split = environment(mesh(), mesh().revisions[0]).keys()
    assert of_the_split == SPLITS_ENVIRONMENT, "the document refuses these names, so it must know all"


def test_a_gateway_object_is_for_pods_of_its_own_namespace_unless_the_document_says_otherwise() -> None:
    name = "PILOT_SCOPE_GATEWAY_TO_NAMESPACE"
    assert istiod_values(mesh())["env"][name] == "true"
    wide = mesh(revisions__0__istiod={"environment": {name: "false"}})
    assert istiod_values(wide)["env"][name] == "false"
    twice = {"envVarFrom": [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
    with pytest.raises(InvalidInputError, match=f"sets {name} in istiod's environment"):
        mesh(revisions__0__chartValues=twice)


def test_istiod_fetches_no_keys_from_itself_or_link_local_addresses_and_the_document_adds_more() -> None:
    name = "BLOCKED_CIDRS_IN_JWKS_URIS"
    own = istiod_values(mesh())["env"][name]
    blocked = [ip_network(one) for one in own.split(",")]
    inside = ("127.0.0.1", "0.0.0.0", "169.254.169.254", "::1", "::", "fe80::1")
    for address in map(ip_address, inside):
        assert any(address in one for one in blocked), address
    more = mesh(revisions__0__istiod={"environment": {name: "198.51.100.0/24,2001:db8::/32"}})
    assert istiod_values(more)["env"][name] == f"{own},198.51.100.0/24,2001:db8::/32"
    twice = {"envVarFrom": [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
    with pytest.raises(InvalidInputError, match=f"sets {name} in istiod's environment"):
        mesh(revisions__0__chartValues=twice)


@pytest.mark.parametrize(("cross_network", "resolves"), [("none", "false"), ("gateways", "true")])
def test_istiod_looks_up_host_names_of_gateways_only_where_networks_have_them(
    cross_network: str, resolves: str
) -> None:
    env = istiod_values(mesh(crossNetwork=cross_network))["env"]
    assert env["RESOLVE_HOSTNAME_GATEWAYS"] == resolves


def test_typed_settings_reach_the_chart() -> None:
    istiod = {
        "autoscaling": {"maxReplicas": 5, "cpuUtilization": 70},
        "scheduling": {
            "nodeSelector": {"pool": "infra"},
            "tolerations": [{"key": "infra", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {}},
            "priorityClass": "system-cluster-critical",
        },
        "imagePullSecrets": ["registry"],
    }
    proxies = {
        "accessLog": {"encoding": "JSON"},
        "outboundTraffic": "REGISTRY_ONLY",
        "holdApplication": True,
        "resources": {"cpuRequest": "10m", "memoryLimit": "1Gi"},
    }
    given = mesh(revisions__0__istiod=istiod, revisions__0__proxies=proxies)
    values = istiod_values(given)
    assert (values["autoscaleMin"], values["autoscaleMax"]) == (2, 5)
    assert values["cpu"] == {"targetAverageUtilization": 70}
    assert "replicaCount" not in values
    assert values["tolerations"] == [{"key": "infra", "operator": "Exists"}]
    assert values["nodeSelector"] == {"pool": "infra"}
    assert values["global"]["priorityClassName"] == "system-cluster-critical"
    assert values["global"]["imagePullSecrets"] == ["registry"]
    assert values["meshConfig"]["accessLogFile"] == "/dev/stdout"
    assert values["meshConfig"]["accessLogEncoding"] == "JSON"
    assert values["meshConfig"]["outboundTrafficPolicy"] == {"mode": "REGISTRY_ONLY"}
    assert values["meshConfig"]["defaultConfig"]["holdApplicationUntilProxyStarts"] is True
    assert values["global"]["proxy"]["resources"] == {"requests": {"cpu": "10m"}, "limits": {"memory": "1Gi"}}
    assert values["global"]["proxy"]["clusterDomain"] == "cluster.local"
    # The quota follows the most Pods that there can be, twice while they are replaced, and for one revision more.
    assert manifests.quota_limits(given)["pods"] == "20"


def test_two_meshes_share_no_name_in_a_cluster() -> None:
    names = []
    for name in ("one", "two"):
        given = mesh(name=name)
        values = istiod_values(given)
        names += [
            values["global"]["trustBundleName"],
            values["meshConfig"]["trustDomain"],
            given.network(given.memberships[0]),
            exposed(given).name,
            *(one["metadata"]["name"] for one in configurations(given)),
        ]
    assert len(set(names)) == len(names)


def test_further_clusters_are_read_from_files_of_the_control_plane() -> None:
    alone = {volume["name"]: volume for volume in istiod_values(mesh())["volumes"]}
    assert "emptyDir" in alone["remote-clusters"]
    two = mesh(memberships=[{}, {"name": "eu"}])
    volumes = {volume["name"]: volume for volume in istiod_values(two)["volumes"]}
    assert volumes["remote-clusters"]["secret"] == {"secretName": "istio-remote-kubeconfigs"}
    assert [two.cluster_id(one) for one in two.memberships] == ["demo", "demo-eu"]


def test_plaintext_xds_and_the_profiler_are_off_and_tls_is_modern() -> None:
    assert istiod_values(mesh())["extraContainerArgs"] == ["--grpcAddr=", "--tls-min-version=1.3", "--profile=false"]


def test_mesh_config_and_templates_come_from_the_control_plane() -> None:
    values = istiod_values(mesh(revisions__0__name="canary"))
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
    assert remote_values(mesh())["global"]["remotePilotAddress"] == "istiod.demo.example.com"


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


def test_istiods_pods_get_no_token_of_their_account_and_trust_none_to_impersonate() -> None:
    impersonators = {"name": "CA_TRUSTED_NODE_ACCOUNTS", "value": "mesh-demo/ztunnel"}
    kept = {"name": "REVISION", "value": "default"}
    token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "istio-ca"}}]}}
    root = {"name": "root", "projected": {"sources": [{"configMap": {"name": "root"}}]}}
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("t", "root")]
    spec = {
        "serviceAccountName": "istiod",
        "volumes": [token, root, {"name": "empty", "emptyDir": {}}],
        "containers": [{"name": "discovery", "volumeMounts": mounts, "env": [impersonators, kept]}],
        "initContainers": [{"name": "first", "volumeMounts": mounts}, {"name": "second"}],
    }
    deployment = {"metadata": {}, "spec": {"replicas": 1, "template": {"metadata": {"labels": {}}, "spec": spec}}}
    made = marked("kubernetes:apps/v1:Deployment", deployment, {}, Changes(pod_spec=manifests.istiods_pod))
    assert made["spec"]["replicas"] == 1
    assert made["spec"]["template"] == {
        "metadata": {"labels": {}},
        "spec": {
            "serviceAccountName": "istiod",
            "automountServiceAccountToken": False,
            "volumes": [root, {"name": "empty", "emptyDir": {}}],
            "containers": [{"name": "discovery", "volumeMounts": mounts[1:], "env": [kept]}],
            "initContainers": [{"name": "first", "volumeMounts": mounts[1:]}, {"name": "second", "volumeMounts": []}],
        },
    }


def test_istiods_pods_wait_for_their_authority_and_their_kubeconfig() -> None:
    def mounted(*, needed: bool) -> dict[str, Any]:
        names = {"cacerts": needed, "istio-kubeconfig": needed, "istiod-tls": False}
        volumes = [
            {"name": name, "secret": {"secretName": name, "optional": not required}} for name, required in names.items()
        ]
        return {"volumes": volumes, "containers": []}

    made = manifests.istiods_pod(mounted(needed=False))
    assert made == {**mounted(needed=True), "automountServiceAccountToken": False}


def test_istiods_pods_serve_on_for_a_while_after_their_end_was_decided() -> None:
    spec = {"volumes": [], "containers": [{"name": "discovery", "env": [], "lifecycle": {"postStart": "kept"}}]}
    made = manifests.istiods_pod(spec, drain_seconds=mesh().revisions[0].istiod.drain_seconds)
    (container,) = made["containers"]
    assert container["lifecycle"] == {"postStart": "kept", "preStop": {"sleep": {"seconds": 5}}}
    assert made["terminationGracePeriodSeconds"] == 35
    assert "terminationGracePeriodSeconds" not in manifests.istiods_pod(spec)
    assert mesh(revisions__0__istiod={"drainSeconds": 0}).revisions[0].istiod.drain_seconds == 0


def test_several_pods_are_spread_over_nodes() -> None:
    (spread,) = istiod_values(mesh(revisions__0__name="canary"))["topologySpreadConstraints"]
    assert spread == {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "istiod", "istio.io/rev": "canary"}},
    }
    one = mesh(revisions__0__istiod={"replicas": 1})
    assert "topologySpreadConstraints" not in istiod_values(one)


def test_istiod_is_two_pods_by_default_and_the_quota_has_room_for_their_rollout() -> None:
    assert istiod_values(mesh())["replicaCount"] == 2
    # The chart's own maxSurge is 100%.
    assert manifests.quota_limits(mesh())["pods"] == "8"


def test_quota_admits_a_rollout_and_one_revision_more() -> None:
    assert manifests.quota_limits(mesh(revisions__0__istiod={"replicas": 3})) == {
        "pods": "12",
        "requests.cpu": "3",
        "requests.memory": "6Gi",
        "limits.cpu": "24",
        "limits.memory": "24Gi",
        "services.loadbalancers": "2",
        "services.nodeports": "0",
    }


def test_exposed_service_has_two_ports_and_the_allow_list() -> None:
    spec = exposed(mesh()).spec
    assert [port["port"] for port in spec["ports"]] == [15012, 15017]
    assert spec["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert spec["allocateLoadBalancerNodePorts"] is False
    assert "loadBalancerSourceRanges" not in exposed(mesh(revisions__0__exposure={"openToAll": True})).spec


def test_webhooks_may_have_ranges_and_a_load_balancer_of_their_own() -> None:
    apart = {
        "sourceRanges": ["203.0.113.0/24"],
        "webhooks": {"host": "h.example.com", "sourceRanges": ["192.0.2.1/32"]},
    }
    given = mesh(revisions__0__exposure=apart)
    xds, hooks = manifests.exposed_services(given, given.revisions[0])
    assert [port["port"] for port in xds.spec["ports"]] == [15012]
    assert [port["port"] for port in hooks.spec["ports"]] == [15017]
    assert xds.spec["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert hooks.spec["loadBalancerSourceRanges"] == ["192.0.2.1/32"]
    assert endpoint(given).validation_url == "https://h.example.com:15017/validate"
    assert istiod_values(given)["env"]["ISTIOD_CUSTOM_HOST"] == "istiod.demo.example.com,h.example.com"
    assert manifests.quota_limits(given)["services.loadbalancers"] == "4"


def test_an_integrator_may_expose_istiod() -> None:
    given = mesh(revisions__0__exposure={"kind": "external"})
    assert manifests.exposed_services(given, given.revisions[0]) == []
    assert manifests.quota_limits(given)["services.loadbalancers"] == "0"


def test_exposed_service_is_published_by_name() -> None:
    key = "external-dns.alpha.kubernetes.io/hostname"
    assert exposed(mesh()).annotations[key] == "istiod.demo.example.com"
    silent = mesh(revisions__0__exposure={"openToAll": True, "publishName": False, "annotations": {"a": "b"}})
    assert exposed(silent).annotations == {
        "a": "b",
        "hosted-mesh.io/open-to-all": "exposure.openToAll",
        "pulumi.com/waitFor": "jsonpath={.status.loadBalancer.ingress}",
    }


def test_a_services_address_is_waited_for_and_its_endpoints_are_not() -> None:
    key = "pulumi.com/waitFor"
    assert list(service_wait("LoadBalancer")) == [key]
    assert (
        list(service_wait("ClusterIP")) == list(service_wait("LoadBalancer", ready=False)) == ["pulumi.com/skipAwait"]
    )
    service = {"metadata": {"annotations": {"a": "b"}}, "spec": {"type": "LoadBalancer"}}
    assert marked("kubernetes:core/v1:Service", service, {})["metadata"]["annotations"].keys() == {"a", key}
    # Its Pods are waited for by the Deployment, so nothing but Services is touched.
    assert "annotations" not in marked("kubernetes:core/v1:ConfigMap", {"metadata": {}}, {})["metadata"]


def test_network_policy_lets_the_api_server_of_the_data_plane_be_reached() -> None:
    dns, api_server, _ = network_policy(mesh())["egress"]
    assert dns == {"ports": [{"protocol": "TCP", "port": 53}, {"protocol": "UDP", "port": 53}]}
    assert api_server == {"ports": [{"protocol": "TCP", "port": 6443}]}


def test_keys_of_token_issuers_come_from_public_addresses_and_from_admitted_ranges() -> None:
    """By istiod's own list, and by the NetworkPolicy, in which a wrong `except` is rejected by the API server."""

    def blocks(of: Mesh) -> list[Any]:
        *_, issuers = network_policy(of)["egress"]
        assert issuers["ports"] == [{"protocol": "TCP", "port": 443}]
        return [one["ipBlock"] for one in issuers["to"]]

    def reached(of: Mesh, address: str) -> bool:
        istiods = istiod_values(of)["env"]["BLOCKED_CIDRS_IN_JWKS_URIS"].split(",")
        admits = not any(ip_address(address) in ip_network(one) for one in istiods)
        by_policy = any(
            ip_address(address) in ip_network(one["cidr"])
            and not any(ip_address(address) in ip_network(inner) for inner in one["except"])
            for one in blocks(of)
        )
        assert admits is by_policy, address
        return admits

    inside = ("10.96.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fd00::1", "127.0.0.1", "169.254.169.254")
    outside = ("198.51.100.7", "172.32.0.1", "100.128.0.1", "2001:db8::1")
    assert [one for one in (*inside, *outside) if reached(mesh(), one)] == [*outside]
    for one in blocks(mesh()):
        assert all(ip_network(inner).subnet_of(ip_network(one["cidr"])) for inner in one["except"])

    some = mesh(controlPlane__networkPolicy={"issuerRanges": ["10.20.0.0/16", "fd00:1::/32", "192.168.0.0/16"]})
    admitted = ("10.20.3.4", "fd00:1::5", "192.168.1.1")
    refused = ("10.19.255.255", "10.21.0.0", "fd00:2::1", "172.16.0.1", "169.254.169.254", "::1")
    assert [one for one in (*admitted, *refused) if reached(some, one)] == [*admitted]
    for wrong in ("127.0.0.0/8", "169.254.169.254/32", "203.0.113.0/24", "8.0.0.0/7"):
        with pytest.raises(InvalidInputError, match=r"issuerRanges.*must be inside one of"):
            mesh(controlPlane__networkPolicy={"issuerRanges": [wrong]})


def test_the_dns_may_listen_at_other_ports() -> None:
    """As on OpenShift, where its Service's port 53 leads to 5353 of Pods, which is what a NetworkPolicy sees."""
    dns, *_ = network_policy(mesh(controlPlane={"networkPolicy": {"dnsPorts": [53, 5353]}}))["egress"]
    assert dns == {"ports": [{"protocol": kind, "port": port} for port in (53, 5353) for kind in ("TCP", "UDP")]}
    # No port at all would mean every port.
    with pytest.raises(InvalidInputError, match=r"networkPolicy.dnsPorts: is empty"):
        mesh(controlPlane={"networkPolicy": {"dnsPorts": []}})


def test_only_the_exposed_ports_are_open_to_any_address() -> None:
    """Not 8080: istiod's debug pages are there, and a kubelet's probes need no rule."""
    incoming = network_policy(mesh())["ingress"]
    to_all = {port["port"] for rule in incoming if "from" not in rule for port in rule["ports"]}
    assert to_all == {15012, 15017}


def test_metrics_may_be_scraped_from_named_namespaces() -> None:
    _, metrics = network_policy(mesh(controlPlane={"networkPolicy": {"metricsFrom": ["monitoring"]}}))["ingress"]
    named = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert metrics == {"from": [{"podSelector": {}}, named], "ports": [{"protocol": "TCP", "port": 15014}]}


def test_network_policy_is_limited_to_the_api_servers_ranges() -> None:
    ranges = ["198.51.100.0/24", "2001:db8::/64"]
    to = [{"ipBlock": {"cidr": cidr}} for cidr in ranges]
    limited = mesh(controlPlane__networkPolicy={"apiServerRanges": ranges})
    _, api_server, issuers = network_policy(limited)["egress"]
    assert api_server == {"to": to, "ports": [{"protocol": "TCP", "port": 6443}]}
    assert issuers["ports"] == [{"protocol": "TCP", "port": 443}]

    narrow = {"apiServerRanges": ranges, "fetchJwks": False}
    at_443 = {"memberships__0__access": {"apiServer": "https://api.user.example.com"}}
    _, api_server = network_policy(mesh(controlPlane__networkPolicy=narrow, **at_443))["egress"]
    assert api_server == {"to": to, "ports": [{"protocol": "TCP", "port": 443}]}
    _, api_server = network_policy(mesh(controlPlane__networkPolicy={"fetchJwks": False}))["egress"]
    assert api_server == {"ports": [{"protocol": "TCP", "port": 6443}]}


def test_webhooks_are_by_url_with_bundle_time_out_and_policy() -> None:
    document_ = mesh(memberships__0__webhooks={"timeoutSeconds": 3, "validationFailurePolicy": "Ignore"})
    injection, validation = configurations(document_)
    assert {hook["clientConfig"]["url"] for hook in injection["webhooks"]} == {
        f"https://istiod.demo.example.com:15017/inject/cluster/demo/net/demo/{NETWORK_VIEW}/demo"
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


def test_the_injection_url_limits_proxies_to_their_network_unless_gateways_join_networks() -> None:
    def path(**changes: Any) -> str:
        return endpoint(mesh(**changes)).injection_url.partition("15017")[2]

    east = {"memberships__0__clusterId": "east-1", "memberships__0__network": "east"}
    assert path(**east) == f"/inject/cluster/east-1/net/east/{NETWORK_VIEW}/east"
    assert path(**east, crossNetwork="gateways") == "/inject/cluster/east-1/net/east"
    # Without a network there is nothing to limit them to.
    assert path(memberships__0__network="") == "/inject/cluster/demo"


def test_the_pages_gateways_lead_into_their_own_networks_alone() -> None:
    text = (Path(__file__).parents[4] / "docs/components/networks.md").read_text()
    (written,) = re.findall(r"```yaml\n(name: demo\ncrossNetwork: gateways\n.*?)```", text, re.DOTALL)
    joined = read_text(Mesh, written, "the page")
    assert len(joined.memberships) > 2
    networks = [joined.network(member) for member in joined.memberships]
    assert len(set(networks)) == len(networks)
    for member, network in zip(joined.memberships, networks, strict=True):
        told = ControlPlaneEndpoint.of(joined, joined.revisions[0], member, CERTIFICATE)
        values = gateway_values(told, member.gateways[0])
        assert (values["labels"], values["env"]) == ({"topology.istio.io/network": network}, {NETWORK_VIEW: network})
        assert told.injection_url.endswith(f"/net/{network}")


@pytest.mark.parametrize(
    ("gateway", "view"),
    [
        ({"service": {"ports": [STATUS, EAST_WEST]}}, "demo"),
        ({"service": {"type": "NodePort", "ports": [EAST_WEST]}}, "demo"),
        # Not one of those that istiod sends other networks' proxies to.
        ({}, None),
        ({"service": {"type": "ClusterIP", "ports": [EAST_WEST]}}, None),
        ({"service": {"ports": [{"name": "tls", "port": 15444, "targetPort": 15443}]}}, None),
        # By Istio's label another port is.
        ({"service": {"ports": [EAST_WEST]}, "chartValues": {"labels": {GATEWAY_PORT_LABEL: "15444"}}}, None),
        (
            {
                "service": {"ports": [{"name": "tls", "port": 15444}]},
                "chartValues": {"labels": {GATEWAY_PORT_LABEL: "15444"}},
            },
            "demo",
        ),
        # The document's own.
        ({"service": {"ports": [EAST_WEST]}, "chartValues": {"env": {NETWORK_VIEW: "a,b"}}}, "a,b"),
        ({"service": {"ports": [EAST_WEST]}, "chartValues": {"env": {"A": "b"}}}, "demo"),
    ],
)
def test_a_gateway_that_istiod_sends_other_networks_to_leads_into_its_own_alone(
    gateway: dict[str, Any], view: str | None
) -> None:
    given = mesh(crossNetwork="gateways", memberships__0__gateways=[{"name": "a", **gateway}])

    def env(of: Mesh) -> dict[str, str]:
        found: dict[str, str] = gateway_values(endpoint(of), given.memberships[0].gateways[0]).get("env", {})
        return found

    own = given.memberships[0].gateways[0].chart_values.get("env", {})
    assert isinstance(own, dict)
    assert env(given) == {**own, **({NETWORK_VIEW: view} if view else {})}
    # With `none` the webhook's URL limits it, and without a network there is nothing to limit it to.
    assert env(mesh()) == own
    assert env(mesh(crossNetwork="gateways", memberships__0__network="")) == own


def test_webhooks_of_a_revision_leave_others_alone() -> None:
    canary = mesh(revisions__0__name="canary")
    injection, validation = configurations(canary)
    assert injection["metadata"]["name"] == "istio-sidecar-injector-canary-mesh-demo"
    assert validation["metadata"]["labels"]["istio.io/rev"] == "canary"
    assert [hook["name"] for hook in injection["webhooks"]] == [
        "rev.namespace.sidecar-injector.istio.io",
        "rev.object.sidecar-injector.istio.io",
    ]
    assert [hook["name"] for hook in validation["webhooks"]] == ["rev.validation.istio.io"]


def test_a_tag_is_a_webhook_of_its_own_that_calls_the_revision() -> None:
    tagged = mesh(revisions__0__name="1-31", tags={"prod": "1-31", "default": "1-31"})
    own, default, prod, validation = configurations(tagged)
    assert [one["metadata"]["name"] for one in (own, default, prod)] == [
        "istio-sidecar-injector-1-31-mesh-demo",
        "istio-revision-tag-default-mesh-demo",
        "istio-revision-tag-prod-mesh-demo",
    ]
    urls = {hook["clientConfig"]["url"] for one in (own, default, prod) for hook in one["webhooks"]}
    assert urls == {endpoint(tagged).injection_url}
    assert [hook["name"].split(".sidecar")[0] for hook in prod["webhooks"]] == ["rev.namespace", "rev.object"]
    assert prod["metadata"]["labels"]["istio.io/tag"] == "prod"
    # The default one serves what names no revision, Istio objects among it.
    assert "namespace" in [hook["name"].split(".sidecar")[0] for hook in default["webhooks"]]
    assert [hook["name"] for hook in validation["webhooks"]] == ["rev.validation.istio.io", "validation.istio.io"]
    assert endpoint(tagged).injection_labels == {"istio-injection": "enabled"}


def test_gateways_certificates_need_configmaps_too() -> None:
    """Without either of both istiod's informers never sync, and it is never ready."""
    rules = rights.cluster_rules("demo", Features(gateway_certificates=True))
    assert [rule.verbs for rule in rules if rule.resources == ("secrets", "configmaps")] == [("list", "watch")]


def test_istiod_has_no_right_to_secrets_and_none_by_wildcard() -> None:
    rules = [*rights.cluster_rules("demo", Features()), *rights.namespace_rules(Features())]
    for rule in rules:
        assert "secrets" not in rule.resources
        assert "*" not in {*rule.resources, *rule.verbs, rule.group}
        assert not {"bind", "escalate", "impersonate", "delete", "deletecollection", "patch"} & set(rule.verbs)
        assert not any("/" in resource for resource in rule.resources)


def test_what_istiod_may_write_is_named() -> None:
    rules = [*rights.cluster_rules("demo", Features()), *rights.namespace_rules(Features())]
    writes = {
        (rule.resources, verb, rule.names)
        for rule in rules
        for verb in rule.verbs
        if verb not in ("get", "list", "watch")
    }
    assert writes == {
        (("tokenreviews",), "create", ()),
        (("configmaps",), "create", ()),
        (("configmaps",), "update", ("istio-ca-root-cert-demo",)),
        (("configmaps",), "update", ("istio-namespace-controller-election",)),
    }


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row.name)
def test_a_feature_brings_its_environment_and_its_rights_and_no_other(row: Any) -> None:
    chosen = Features(**{row.name: True})
    trust = {"management": "brought"}
    given = mesh(trust=trust, revisions__0__features=chosen.model_dump(by_alias=True), **granting(chosen))
    assert istiod_values(given)["env"].items() >= row.on.items()
    assert istiod_values(mesh())["env"].items() >= row.off.items()
    assert row.on != row.off
    more = set(rights.cluster_rules("demo", chosen)) - set(rights.cluster_rules("demo", Features()))
    assert more >= set(row.cluster_rules) - set(rights.cluster_rules("demo", Features()))
    assert not any("*" in {*rule.resources, *rule.verbs, rule.group} for rule in more)


def granting(features: Features) -> dict[str, Any]:
    return {"memberships__0__access": {"features": features.model_dump(by_alias=True)}}


def test_injected_pods_mount_the_list_of_revoked_certificates_that_istiod_writes() -> None:
    given = mesh(trust={"management": "brought"})
    rendered = {"values": json.dumps({"global": {"a": 1}, "pilot": {"env": {}}}), "config": "templates"}
    found = manifests.with_revocation_list(given, rendered)
    listed = istiod_values(given)["env"]["PILOT_CRL_CONFIGMAP"]
    assert json.loads(found["values"]) == {"global": {"a": 1}, "pilot": {"env": {}, "crlConfigMapName": listed}}
    assert found["config"] == "templates"
    assert manifests.with_revocation_list(given, {"mesh": "x"}) == {"mesh": "x"}


def test_gateways_get_no_right_to_secrets() -> None:
    service = {"type": "ClusterIP", "ports": [{"name": "https", "port": 443, "targetPort": 8443}]}
    given = mesh(
        memberships__0__gateways=[{"name": "edge", "service": service, "replicas": 2, "chartValues": {"a": 1}}]
    )
    values = gateway_values(endpoint(given), given.memberships[0].gateways[0])
    assert values["rbac"] == {"enabled": False}
    assert values["a"] == 1
    assert (values["replicaCount"], values["autoscaling"]) == (2, {"enabled": False})
    assert values["service"]["ports"] == [{"name": "https", "port": 443, "targetPort": 8443, "protocol": "TCP"}]
    assert values["labels"] == {"topology.istio.io/network": "demo"}


KEPT = ("autoscaling", "podDisruptionBudget", "topologySpreadConstraints")


def kept(**gateway: Any) -> list[Any]:
    """Values by which a gateway serves on while a node is drained; None where the library sets none."""
    given = mesh(memberships__0__gateways=[{"name": "edge", **gateway}])
    values = gateway_values(endpoint(given), given.memberships[0].gateways[0])
    return [values.get(key) for key in KEPT]


def test_a_gateway_serves_on_while_a_node_is_drained() -> None:
    """Its Pods are on different nodes, and go one at a time; of a single one a budget would stop the drain."""
    budget = {"maxUnavailable": 1}
    scaled, *rest = kept()
    assert scaled == {"minReplicas": 2}
    assert rest[0] == budget
    assert [one["labelSelector"] for one in rest[1]] == [{"matchLabels": {"app": "edge"}}]
    assert kept(replicas=3)[1:] == rest
    assert kept(replicas=1) == [{"enabled": False}, None, None]


def test_a_documents_own_values_replace_what_keeps_a_gateway() -> None:
    """Whole, for a budget takes one of minAvailable and maxUnavailable, and the fewest may not exceed the most."""
    own = {"podDisruptionBudget": {"minAvailable": 1}, "autoscaling": {"maxReplicas": 1}}
    scaled, budget, spread = kept(chartValues=own)
    assert (scaled, budget) == (own["autoscaling"], own["podDisruptionBudget"])
    assert spread == kept()[2]


def test_the_root_certificate_in_each_namespace_is_owned_by_the_meshs_namespace() -> None:
    spec, binding = root_certificate_owner.policy_spec("demo"), root_certificate_owner.binding_spec("demo")
    (mutation,) = spec["mutations"]
    assert '"uid": string(params.metadata.uid)' in mutation["jsonPatch"]["expression"]
    assert spec["paramKind"]["kind"] == "Namespace"
    assert binding["paramRef"] == {"name": "mesh-demo", "parameterNotFoundAction": "Allow"}
    names = spec["matchConstraints"]["resourceRules"][0]["resourceNames"]
    assert names == ["istio-ca-root-cert-demo", "istio-ca-crl-demo"]


def test_merge_goes_down_mappings_and_replaces_lists() -> None:
    assert merged({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "d": {"e": 1}}) == {
        "a": {"b": 1, "c": [2]},
        "d": {"e": 1},
    }


@pytest.mark.parametrize("certificate", [{}, {"rootCertificate": None}, {"root_certificate": None}])
def test_an_endpoint_without_root_certificate_is_refused(certificate: dict[str, None]) -> None:
    facts = endpoint(mesh()).document.model_dump(mode="json", exclude_none=True)
    with pytest.raises(InvalidInputError, match="rootCertificate: is required"):
        ControlPlaneEndpoint.from_facts(facts | certificate)


@pytest.mark.parametrize("cross_network", ["none", "gateways"])
def test_an_endpoint_file_says_what_leads_to_other_networks(cross_network: str) -> None:
    told = endpoint(mesh(crossNetwork=cross_network))
    facts = told.document.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert facts["crossNetwork"] == cross_network
    again = ControlPlaneEndpoint.from_facts({**facts, "rootCertificate": CERTIFICATE})
    assert again.injection_url == told.injection_url
    assert (NETWORK_VIEW in told.injection_url) is (cross_network == "none")
    # A file of an older version does not say it, and its proxies are told of all, as they were.
    del facts["crossNetwork"]
    old = ControlPlaneEndpoint.from_facts({**facts, "rootCertificate": CERTIFICATE})
    assert old.injection_url.endswith("/inject/cluster/demo/net/demo")


def test_endpoint_has_no_room_for_a_secret() -> None:
    facts = endpoint(mesh(revisions__0__name="canary", memberships__0__network="east"))
    assert set(facts.as_output()) == {
        *(
            "version",
            "mesh",
            "membership",
            "revision",
            "tags",
            "injects",
            "host",
            "xdsPort",
            "webhookPort",
            "trustDomain",
        ),
        *("clusterId", "network", "crossNetwork", "istioVersion", "features", "rootCertificate", "generation"),
    }
    assert facts.injection_labels == {"istio.io/rev": "canary"}
    assert endpoint(mesh()).injection_labels == {"istio-injection": "enabled"}
    with pytest.raises(AttributeError):
        facts.kubeconfig = "x"
