"""Kiali's objects: where each is, its rights, its configuration, and where its credentials are."""

from __future__ import annotations

import json
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.observability import kiali_objects
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.observability import Observability

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.observability.documents import document, read
from tests.unit.library.program import Registered, run, secret

KIALI: dict[str, Any] = {"readers": ["login"]}
TOKEN: dict[str, Any] = {"login": "token"}
CLUSTERS = {"control_plane": hosted_mesh.ControlPlaneCluster, "data_plane": hosted_mesh.DataPlaneCluster}
READER = "reader-of-the-data-plane"
SEED = "seed-of-the-signing-key"


def cluster(role: str) -> Any:
    text = for_account("c", f"https://api.{role.replace('_', '-')}.test:7443", CERTIFICATE, f"administrator-of-{role}")
    return CLUSTERS[role](kubeconfig=text, identity=role.replace("_", "-"))


def registered(kiali: dict[str, Any], *roles: str, **arguments: Any) -> list[Registered]:
    parsed = read_document(Observability, document(kiali=kiali))
    cacerts = cacerts_files(CERTIFICATE, "-----BEGIN PRIVATE KEY-----\nof it\n-----END PRIVATE KEY-----\n", CERTIFICATE)

    def program() -> None:
        clusters = {role: cluster(role) for role in roles or CLUSTERS}
        own: Any = {"observability": parsed.arguments(), "cacerts": cacerts, **clusters, **arguments}
        hosted_mesh.MeshObservability("demo", own)

    answers = {
        "demo-collector-key": {"privateKeyPemPkcs8": secret("key-of-the-collector")},
        "demo-collector-request": {"certRequestPem": "request"},
        "demo-collector-certificate": {"certPem": CERTIFICATE},
        "demo-kiali-signing-key": {"privateKeyPem": secret(SEED)},
        "demo-kiali-reader-token-1": {"data": secret({"token": "cmVhZGVyLW9mLXRoZS1kYXRhLXBsYW5l"})},
    }
    return run(program, outputs=answers)


def own(found: list[Registered], provider: str) -> dict[tuple[str, str], Registered]:
    """Kiali's objects in a cluster, by kind and name."""
    return {
        (one.type.rpartition(":")[2], one.inputs["metadata"]["name"]): one
        for one in found
        if one.provider == f"{provider}-cluster" and "kiali" in one.name
    }


def test_kiali_is_off_by_default() -> None:
    assert not [one for one in registered({"placement": "none"}) if "kiali" in one.name]


def test_the_provider_s_view_reads_both_clusters_and_is_on_the_control_plane() -> None:
    found = registered(KIALI)
    assert set(own(found, "control-plane")) == {
        ("ServiceAccount", "kiali"),
        ("ClusterRole", "obs-demo-kiali"),
        ("ClusterRoleBinding", "obs-demo-kiali"),
        ("Secret", "kiali-signing-key"),
        ("Secret", "kiali-data-planes"),
        ("ConfigMap", "kiali"),
        ("NetworkPolicy", "kiali"),
        ("NetworkPolicy", "kiali-prometheus"),
        ("Service", "kiali"),
        ("Deployment", "kiali"),
    }
    assert set(own(found, "data-plane")) == {
        ("ServiceAccount", "kiali"),
        ("ClusterRole", "hosted-mesh-kiali-demo"),
        ("ClusterRoleBinding", "hosted-mesh-kiali-demo"),
        ("Secret", "kiali-token-1"),
    }


def test_the_user_s_view_has_no_right_on_the_control_plane() -> None:
    found = own(registered(TOKEN), "control-plane")
    assert not [kind for kind, _ in found if "Role" in kind]
    pod = found["Deployment", "kiali"].inputs["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert not [one for one in pod["volumes"] if "projected" in one]
    config = yaml.safe_load(found["ConfigMap", "kiali"].inputs["data"]["config.yaml"])
    assert config["auth"] == {"strategy": "token"}
    assert config["kubernetes_config"] == {"cluster_name": "demo"}
    assert config["deployment"]["remote_secret_path"] == "/kiali-remote-secret/demo"
    assert {one["mountPath"] for one in pod["containers"][0]["volumeMounts"]} >= {"/kiali-remote-secret"}


def test_rights_are_reading_without_secrets_logs_and_ports() -> None:
    found = registered(KIALI)
    for provider, name in (("control-plane", "obs-demo-kiali"), ("data-plane", "hosted-mesh-kiali-demo")):
        rules = own(found, provider)["ClusterRole", name].inputs["rules"]
        assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}
        resources = {resource for rule in rules for resource in rule["resources"]}
        assert not resources & {"*", "secrets", "pods/log", "pods/portforward", "pods/exec", "nodes"}


def test_credentials_are_in_secrets_of_the_control_plane() -> None:
    found = registered(KIALI)
    key = found_in(found, SEED)
    assert key == []
    made = own(found, "control-plane")
    signing, kubeconfigs = (made["Secret", name] for name in ("kiali-signing-key", "kiali-data-planes"))
    (text,) = signing.inputs["stringData"].values()
    assert len(text) == 32
    assert found_in(found, text) == [signing.name]
    assert found_in(found, READER) == [kubeconfigs.name]
    assert {"stringData"} <= signing.secrets | kubeconfigs.secrets
    kubeconfig = json.loads(kubeconfigs.inputs["stringData"]["demo"])
    assert kubeconfig["users"] == [{"name": kubeconfig["users"][0]["name"], "user": {"token": READER}}]


def found_in(found: list[Registered], value: str) -> list[str]:
    return [one.name for one in found if value in json.dumps(one.inputs)]


def test_each_query_is_of_this_mesh() -> None:
    services = kiali_objects.config(read(kiali=KIALI))["external_services"]
    assert services["prometheus"] == {"url": "http://prometheus.obs-demo.svc:9090", "query_scope": {"tenant": "demo"}}


def test_kiali_connects_to_prometheus_and_api_servers_and_its_readers_to_it() -> None:
    found = own(registered(KIALI), "control-plane")
    spec = found["NetworkPolicy", "kiali"].inputs["spec"]
    ports = [port["port"] for rule in spec["egress"] for port in rule["ports"]]
    assert ports == [9090, 53, 53, 443, 6443, 7443]
    (ingress,) = spec["ingress"]
    assert ingress["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "login"}}}]
    users = own(registered(TOKEN), "control-plane")["NetworkPolicy", "kiali"].inputs["spec"]
    assert users["ingress"] == []
    assert [port["port"] for rule in users["egress"] for port in rule["ports"]] == [9090, 53, 53, 7443]


def kubeconfig(name: str, **user: Any) -> str:
    content = json.loads(for_account(name, "https://api.other.test", CERTIFICATE, "token-of-other"))
    content["users"][0]["user"] |= user
    return json.dumps(content)


def test_other_data_planes_come_with_kubeconfigs() -> None:
    kiali = {**KIALI, "dataPlanes": ["demo", "other"]}
    found = own(registered(kiali, kiali_kubeconfigs={"other": kubeconfig("other")}), "control-plane")
    assert set(found["Secret", "kiali-data-planes"].inputs["stringData"]) == {"demo", "other"}
    given = registered(KIALI, "control_plane", kiali_kubeconfigs={"demo": kubeconfig("demo")})
    assert not own(given, "data-plane")


@pytest.mark.parametrize(
    ("kiali", "roles", "kubeconfigs", "words"),
    [
        (KIALI, ["control_plane"], {}, "kiali_kubeconfigs: has none for demo, which Kiali reads. Add data_plane"),
        (
            {**KIALI, "dataPlanes": ["other"]},
            [],
            {},
            "kiali_kubeconfigs: has none for other, which Kiali reads. Add that of a read-only ServiceAccount there",
        ),
        (KIALI, [], {"misspelt": ""}, "kiali_kubeconfigs: has one for misspelt, which is not in kiali.dataPlanes"),
        ({"placement": "none"}, [], {"demo": ""}, "kiali_kubeconfigs: has one for demo, which is not in kiali.dataP"),
        (KIALI, [], {"demo": kubeconfig("another")}, "kiali_kubeconfigs.demo: must call its cluster demo"),
        (
            KIALI,
            [],
            {"demo": kubeconfig("demo", exec={"command": "id"})},
            "kiali_kubeconfigs.demo: has users[0].user.exec",
        ),
    ],
    ids=["no data plane", "unknown", "misspelt", "off", "another's", "a program"],
)
def test_unknown_data_planes_are_one_line(
    kiali: dict[str, Any], roles: list[str], kubeconfigs: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        registered(kiali, *roles, kiali_kubeconfigs=kubeconfigs)
    (problem,) = error.value.problems
    assert str(problem).startswith(words)
    assert "token-of-other" not in str(error.value)
