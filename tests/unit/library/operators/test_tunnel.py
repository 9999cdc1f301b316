"""The tunnel to users' catalogs: its objects on each side, its names, and documents that cannot be used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.operators import tunnel
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.operators import Operators

from tests.unit.library.operators.documents import CONTENT, document
from tests.unit.library.operators.registrations import (
    CONTROL_PLANE,
    DATA_PLANE,
    answers,
    clusters,
    named,
    run_upgradable,
)
from tests.unit.library.program import Registered

TUNNEL = {"host": "tunnel.north.example.com", "sourceRanges": ["203.0.113.8/32"]}
ACCOUNTS = ("olm-operator", "catalog-operator", "packageserver", "tunnel")
KEYS = ("north-packages-key", "north-packages-authority-key", "north-tunnel-key", "north-tunnel-authority-key")


def registered(**fields: Any) -> list[Registered]:
    operators = read_document(Operators, document(**fields))

    def program() -> None:
        args: Any = {"operators": operators.arguments(), **clusters()}
        hosted_mesh.HostedOperators("north", args)

    outputs = answers(ACCOUNTS, KEYS)
    outputs |= {f"north-{name}-authority": {"certPem": f"authority-of-{name}"} for name in ("packages", "tunnel")}
    outputs |= {f"north-{name}-certificate": {"certPem": f"certificate-of-{name}"} for name in ("packages", "tunnel")}
    return run_upgradable(program, outputs)


@pytest.fixture(scope="module")
def found() -> list[Registered]:
    return registered(tunnel=TUNNEL)


def container(found: list[Registered], provider: str, deployment: str, name: str) -> dict[str, Any]:
    spec = named(found, "Deployment", provider)[deployment].inputs["spec"]["template"]["spec"]
    (one,) = (each for each in spec["containers"] if each["name"] == name)
    return dict(one)


def test_the_agent_is_the_one_program_in_the_hosted_cluster_and_only_with_the_field(found: list[Registered]) -> None:
    assert named(found, "Deployment", DATA_PLANE).keys() == {"tunnel-agent"}
    without = registered()
    assert not named(without, "Deployment", DATA_PLANE)
    assert not [one.name for one in without if "tunnel" in one.name]


def test_the_agents_one_credential_is_a_token_of_its_own_cluster(found: list[Registered]) -> None:
    spec = named(found, "Deployment", DATA_PLANE)["tunnel-agent"].inputs["spec"]["template"]["spec"]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("tunnel-agent", False)
    (volume,) = spec["volumes"]
    assert volume["projected"]["sources"] == [
        {"serviceAccountToken": {"path": "token", "audience": "hosted-mesh-tunnel", "expirationSeconds": 3600}},
        {"configMap": {"name": "tunnel-agent"}},
    ]
    assert named(found, "ConfigMap", DATA_PLANE)["tunnel-agent"].inputs["data"] == {"ca.crt": "authority-of-tunnel"}
    # No rights: no binding names it.
    bindings = [one for one in found if one.type.endswith("RoleBinding")]
    assert bindings
    assert not [one.name for one in bindings if "tunnel-agent" in json.dumps(one.inputs)]
    # And the document's nodes.
    assert (spec["nodeSelector"], spec["tolerations"]) == (
        {"pool": "operators"},
        [{"key": "pool", "operator": "Exists", "effect": "NoSchedule"}],
    )


def test_no_key_of_the_control_plane_goes_to_the_hosted_cluster(found: list[Registered]) -> None:
    for one in found:
        text = json.dumps(one.inputs)
        holds = {key for key in KEYS if f"key-of-{key}" in text}
        serving = {"packageserver-tls": "north-packages-key", "tunnel-tls": "north-tunnel-key"}
        if one.type.endswith(":Secret") and one.provider.startswith(CONTROL_PLANE):
            assert holds <= {serving.get(one.inputs["metadata"]["name"])}
            assert "stringData" in one.secrets
        else:
            assert one.type.startswith("tls:") or not holds, one.name
        if one.provider.startswith(DATA_PLANE):
            assert not [name for name in ACCOUNTS if f"token-of-{name}" in text]
    secrets = named(found, "Secret", CONTROL_PLANE)
    assert "token-of-tunnel" in secrets["tunnel"].inputs["stringData"]["kubeconfig"]
    (mounted,) = (
        {each["secret"]["secretName"] for each in one.inputs["spec"]["template"]["spec"]["volumes"] if "secret" in each}
        for name, one in named(found, "Deployment", CONTROL_PLANE).items()
        if name == "tunnel"
    )
    assert mounted == {"tunnel", "tunnel-tls"}
    # Of them Envoy, which reads users' text, mounts none.
    envoy = container(found, CONTROL_PLANE, "tunnel", "envoy")
    assert {one["name"] for one in envoy["volumeMounts"]} == {"envoy", "socket"}


def test_the_servers_account_verifies_tokens_and_nothing_else(found: list[Registered]) -> None:
    role = named(found, "ClusterRole", DATA_PLANE)["hosted-mesh-tunnel"]
    assert [(one["apiGroups"], one["resources"], one["verbs"]) for one in role.inputs["rules"]] == [
        (["authentication.k8s.io"], ["tokenreviews"], ["create"])
    ]
    arguments = container(found, CONTROL_PLANE, "tunnel", "server")["args"]
    assert {"--agent-namespace=olm", "--agent-service-account=tunnel-agent", "--server-port=0"} <= set(arguments)
    assert "--authentication-audience=hosted-mesh-tunnel" in arguments


def test_programs_that_read_catalogs_use_the_tunnel_for_users_names_alone() -> None:
    catalogs = [
        {"name": "provider", "content": CONTENT},
        {"name": "elsewhere", "address": "catalog.example.com:50051"},
    ]
    policy = {"apiServerRanges": ["203.0.113.7/32"], "catalogRanges": ["198.51.100.0/28"]}
    found = registered(tunnel=TUNNEL, catalogs=catalogs, networkPolicy=policy)
    for name in ("catalog-operator", "packageserver"):
        environment = {one["name"]: one["value"] for one in container(found, CONTROL_PLANE, name, name)["env"]}
        assert environment["HTTPS_PROXY"] == "http://tunnel-proxy.operators-north.svc.cluster.local:8090"
        assert environment["NO_PROXY"].split(",") == [
            ".operators-north.svc.cluster.local",
            "api.north.example.com",
            "catalog.example.com",
            "198.51.100.0/28",
        ]
    olm = container(found, CONTROL_PLANE, "olm-operator", "olm-operator")
    assert "HTTPS_PROXY" not in {one["name"] for one in olm["env"]}
    source = named(found, "CatalogSource", DATA_PLANE)["provider"]
    assert source.inputs["spec"]["address"] == "catalog-provider.operators-north.svc.cluster.local:50051"


@pytest.mark.parametrize(
    ("destination", "admitted"),
    [
        ("users.shop.svc:50051", True),
        ("users.operators-south.svc:50051", True),
        ("users.shop.svc:443", False),
        ("users.shop.svc.cluster.local:50051", False),
        ("catalog.operators-south.svc.cluster.local:50051", False),
        ("10.0.0.7:50051", False),
        ("[fd00::7]:50051", False),
        ("localhost:50051", False),
        ("catalog.example.com:50051", False),
        ("users.shop.svc:500510", False),
        ("a.users.shop.svc:50051", False),
    ],
)
def test_the_filter_admits_short_names_of_services(destination: str, *, admitted: bool) -> None:
    wanted = read_document(Operators, document(tunnel=TUNNEL)).tunnel
    assert wanted
    found = json.loads(tunnel.envoy_configuration(wanted))
    (listener,) = found["static_resources"]["listeners"]
    (handler,) = listener["filter_chains"][0]["filters"]
    rules = handler["typed_config"]["http_filters"][0]["typed_config"]["rules"]
    (permission,) = rules["policies"]["catalogs"]["permissions"]
    assert (rules["action"], permission["header"]["name"]) == ("ALLOW", ":authority")
    # Envoy requires the whole text to match.
    regex = permission["header"]["string_match"]["safe_regex"]["regex"]
    assert bool(re.fullmatch(regex, destination)) is admitted


def test_connections_of_the_tunnel_are_closed_but_for_a_table(found: list[Registered]) -> None:
    here = {name: one.inputs["spec"] for name, one in named(found, "NetworkPolicy", CONTROL_PLANE).items()}
    readers = here["catalog-readers"]["podSelector"]
    proxy = [{"protocol": "TCP", "port": 8090}]
    to_tunnel = {"to": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "tunnel"}}}], "ports": proxy}
    assert to_tunnel in here["catalog-readers"]["egress"]
    entry, agents = here["tunnel"]["ingress"]
    assert entry == {"from": [{"podSelector": readers}], "ports": proxy}
    assert agents["ports"] == [{"protocol": "TCP", "port": 8132}]
    assert here["tunnel"]["egress"][1]["to"] == [{"ipBlock": {"cidr": "203.0.113.7/32"}}]
    assert len(here["tunnel"]["egress"]) == 2
    there = named(found, "NetworkPolicy", DATA_PLANE)["tunnel-agent"].inputs["spec"]
    assert there["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in there
    (catalogs,) = (one for one in there["egress"] if "to" in one)
    assert catalogs["to"][0]["podSelector"] == {
        "matchExpressions": [{"key": "olm.catalogSource", "operator": "Exists"}]
    }


def test_its_load_balancer_has_ranges_a_name_and_room_in_the_quota(found: list[Registered]) -> None:
    service = named(found, "Service", CONTROL_PLANE)["tunnel"]
    spec = service.inputs["spec"]
    assert (spec["type"], spec["loadBalancerSourceRanges"]) == ("LoadBalancer", ["203.0.113.8/32"])
    assert [(one["port"], one["targetPort"]) for one in spec["ports"]] == [(8132, 8132)]
    annotations = service.inputs["metadata"]["annotations"]
    assert annotations["external-dns.alpha.kubernetes.io/hostname"] == "tunnel.north.example.com"
    request = next(one for one in found if one.name == "north-tunnel-request")
    assert request.inputs["dnsNames"] == ["tunnel.north.example.com"]
    (quota,) = named(found, "ResourceQuota", CONTROL_PLANE).values()
    assert quota.inputs["spec"]["hard"]["services.loadbalancers"] == "2"
    assert quota.inputs["spec"]["hard"]["pods"] == "11"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"tunnel": {"sourceRanges": ["203.0.113.8/32"]}}, "tunnel.host: is required"),
        (
            {"tunnel": {"host": TUNNEL["host"]}},
            "tunnel: sourceRanges is empty, which would let every address connect. List the data plane's ranges",
        ),
        ({"tunnel": {**TUNNEL, "host": "tunnel"}}, "tunnel.host: must be a DNS name with a domain"),
        ({"tunnel": {**TUNNEL, "ports": []}}, "tunnel.ports: "),
        (
            {"tunnel": {**TUNNEL, "host": "packages.north.example.com"}},
            "tunnel.host is packageServer.host, and each has a load balancer of its own. Give the tunnel a name",
        ),
        (
            {"tunnel": TUNNEL, "apiServer": "https://api.north.svc:6443"},
            "apiServer ends with .svc, and with a tunnel such names are the hosted cluster's. Write the whole name",
        ),
    ],
)
def test_a_document_that_cannot_be_used_is_rejected(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInputError) as rejected:
        read_document(Operators, document(**fields))
    assert problem in str(rejected.value)


def test_the_images_of_the_sandbox_have_the_pinned_version() -> None:
    images = read_document(Operators, document(tunnel=TUNNEL)).images
    pinned = (Path(__file__).parents[4] / "sandbox/toolchain/go/konnectivity/go.mod").read_text()
    (version,) = set(re.findall(r"apiserver-network-proxy (v\S+)", pinned))
    assert images.tunnel_server.endswith(f":{version}")
    assert images.tunnel_agent.endswith(f":{version}")
