"""What the two components register: where credentials are, and where they are not."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.dns.plan import pairs, warnings
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_document

from tests.support.authorities import Authority
from tests.unit.library.clusters.kubeconfigs import administrators
from tests.unit.library.dns.documents import POWERDNS, RFC2136, document, provider
from tests.unit.library.program import Registered, run, secret

SECRETS = ("etcd-password", "tsig-secret-value", "token-of-north", "token-of-south")


def registered(given: dict[str, Any] | None = None, **fields: Any) -> list[Registered]:
    bridge = read_document(DnsBridge, given or document(provider(), provider(RFC2136)))
    authorities = {name: Authority(name) for name in ("north", "south", "centre")}

    def program() -> None:
        edges = {
            one.name: hosted_mesh.DnsEdge(
                one.name,
                {
                    "edge": one.arguments(),
                    "cluster": hosted_mesh.DataPlaneCluster(
                        one.name, kubeconfig=administrators(one.name, authorities[one.name])
                    ),
                    "admission_zones": [f"{one.name}.example.com"],
                },
            )
            for one in bridge.edges
        }
        arguments: dict[str, Any] = {
            "bridge": bridge.arguments(),
            "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=administrators("centre", authorities["centre"])),
            "publisher_kubeconfigs": {name: edge.publisher_kubeconfig for name, edge in edges.items()},
            "reader_kubeconfigs": {name: edge.reader_kubeconfig for name, edge in edges.items()},
            "credentials": {
                "inner": {"username": "bridge", "password": pulumi.Output.secret("etcd-password")},
                "outer": {"tsig-secret": "tsig-secret-value"},
            },
        }
        arguments |= {name: value() if callable(value) else value for name, value in fields.items()}
        hosted_mesh.ExternalDNSBridge("names", arguments)

    answers = {
        f"{edge}-dns-{account}-token-1": {
            "data": secret({"token": base64.b64encode(f"token-of-{edge}".encode()).decode()})
        }
        for edge in ("north", "south")
        for account in ("publisher", "reader")
    }
    return run(program, outputs=answers)


def test_one_external_dns_for_each_edge_and_provider_and_one_reader_for_each_edge() -> None:
    found = registered()
    deployments = {one.inputs["metadata"]["name"]: one for one in found if one.type == "kubernetes:apps/v1:Deployment"}
    assert sorted(deployments) == [
        *("dns-publisher-north-inner", "dns-publisher-north-outer"),
        *("dns-publisher-south-inner", "dns-publisher-south-outer", "dns-reader-north", "dns-reader-south"),
    ]
    assert {one.provider for one in deployments.values()} == {"names-control-plane-cluster"} or all(
        "control-plane" in one.provider for one in deployments.values()
    )
    containers = {
        name: [each["image"].split("/")[-1].split(":")[0] for each in pod(one)["containers"]]
        for name, one in deployments.items()
    }
    assert containers["dns-reader-north"] == ["external-dns", "python"]
    assert containers["dns-publisher-north-inner"] == ["external-dns", "external-dns", "python"]


def test_several_pods_stand_by_and_renew_leases() -> None:
    found = registered()
    of = {
        kind: {one.inputs["metadata"]["name"]: one for one in found if one.type.endswith(f":{kind}")}
        for kind in ("Deployment", "Lease", "PodDisruptionBudget")
    }
    assert of["Lease"].keys() == of["Deployment"].keys() == of["PodDisruptionBudget"].keys()
    (role,) = (one for one in found if one.type.endswith(":Role") and "control-plane" in one.provider)
    (rule,) = role.inputs["rules"]
    assert (rule["resources"], rule["verbs"]) == (["leases"], ["get", "update"])
    # Nothing of it changes with an edge or a provider: a publisher that is removed still renews its Lease.
    assert "resourceNames" not in rule
    (binding,) = (one for one in found if one.type.endswith(":RoleBinding") and "control-plane" in one.provider)
    assert [one["name"] for one in binding.inputs["subjects"]] == ["system:serviceaccounts:hosted-mesh-dns"]
    for one in of["Deployment"].values():
        assert one.inputs["spec"]["replicas"] == 2
        # The account's token is for our own program: no external-dns gets it.
        with_token = [
            each["name"]
            for each in pod(one)["containers"]
            if "account" in {m["name"] for m in each.get("volumeMounts", [])}
        ]
        assert with_token == ["sidecar"]
    alone = registered(document(provider(), provider(RFC2136), replicas=1))
    assert not [one for one in alone if one.type.endswith(":PodDisruptionBudget")]


def test_the_edges_kubeconfig_is_our_own_programs_alone() -> None:
    """External-dns opens a pipe instead, which is made before it starts, and asks the edge by the program beside it."""
    for one in registered():
        if one.type.endswith(":Deployment"):
            (secret,) = (
                each["name"] for each in pod(one)["volumes"] if "dns-edge-" in json.dumps(each.get("secret", {}))
            )
            containers = {each["name"]: each for each in (*pod(one)["initContainers"], *pod(one)["containers"])}
            mounts = {name: {m["name"] for m in each.get("volumeMounts", [])} for name, each in containers.items()}
            assert [name for name, found in mounts.items() if secret in found] == ["sidecar"]
            assert [name for name, found in mounts.items() if "pipe" in found] == ["pipe", "external-dns", "sidecar"]
            (path,) = (each for each in containers["external-dns"]["args"] if each.startswith("--kubeconfig="))
            assert containers["pipe"]["args"][-1] == path.partition("=")[2]


def test_an_image_of_ones_own_replaces_the_config_map() -> None:
    image = "registry.example.com/dns-sidecar:1"
    found = registered(document(provider(), provider(RFC2136), images={"sidecar": image}))
    assert not [one for one in found if one.inputs.get("metadata", {}).get("name") == "dns-sidecar"]
    for one in found:
        if one.type.endswith(":Deployment"):
            containers = {each["name"]: each for each in (*pod(one)["initContainers"], *pod(one)["containers"])}
            assert {containers[name]["image"] for name in ("pipe", "sidecar")} == {image}
            mounted = {mount["name"] for each in containers.values() for mount in each.get("volumeMounts", [])}
            assert mounted == {volume["name"] for volume in pod(one)["volumes"]}
            assert "source" not in mounted


def test_the_credential_is_the_providers_containers_alone() -> None:
    for one in registered():
        if one.type.endswith(":Deployment") and "publisher" in one.inputs["metadata"]["name"]:
            plans, writes, gate = pod(one)["containers"]
            assert "dns-provider" in json.dumps(writes)
            assert "dns-provider" not in json.dumps([plans, gate])
            assert "edge" not in {mount["name"] for mount in writes.get("volumeMounts", [])}


def test_credentials_are_in_secrets_of_the_control_plane_alone() -> None:
    for one in registered():
        where_allowed = one.type == "kubernetes:core/v1:Secret" and "control-plane" in one.provider
        text = json.dumps(one.inputs)
        for value in SECRETS:
            assert where_allowed or value not in text, f"{value} in {one.type} {one.name}"
        if where_allowed:
            assert "stringData" in one.secrets


def test_a_pod_sees_its_own_edge_and_its_own_provider() -> None:
    found = {one.inputs["metadata"]["name"]: one for one in registered() if one.type == "kubernetes:apps/v1:Deployment"}
    for edge, other in (("north", "south"), ("south", "north")):
        for name, theirs in (("inner", "outer"), ("outer", "inner")):
            text = json.dumps(pod(found[f"dns-publisher-{edge}-{name}"]))
            assert f"dns-edge-{edge}-publisher" in text
            assert f"dns-provider-{name}" in text
            assert f"dns-edge-{other}" not in text
            assert f"dns-provider-{theirs}" not in text
        reader = json.dumps(pod(found[f"dns-reader-{edge}"]))
        assert "dns-provider" not in reader
        assert f"dns-edge-{edge}-reader" in reader


def test_nothing_runs_on_an_edge() -> None:
    there = {one.type.split(":")[-1] for one in registered() if "data-plane" in one.provider}
    assert there == {
        *("Namespace", "ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        *("CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reader_kubeconfigs": {}}, "reader_kubeconfigs: has none for edge north"),
        ({"credentials": {"inner": {"password": "x"}}}, "credentials.outer: is required"),
        (
            {"credentials": {"inner": {"password": "x"}, "outer": {"tsig-secret": "x"}, "third": {}}},
            "credentials.third: belongs to no provider",
        ),
    ],
)
def test_what_is_missing_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        registered(**fields)


def with_records(records: dict[str, Any]) -> list[Registered]:
    providers = provider(controlPlaneZones=["mesh.example.com"]), provider(RFC2136)
    return registered(document(*providers), records=records)


def test_records_that_the_program_knows_are_objects_of_the_control_plane() -> None:
    known = {
        "istiod.mesh.example.com": ["192.0.2.7", "2001:db8::7", "192.0.2.6"],
        "ew.mesh.example.com": [pulumi.Output.from_input("lb.example.net")],
    }
    found = with_records(known)
    records = {one.inputs["metadata"]["name"]: one for one in found if one.type.endswith(":DNSEndpoint")}
    assert {one.inputs["metadata"]["namespace"] for one in records.values()} == {"hosted-mesh-dns"}
    assert all("control-plane" in one.provider for one in records.values())
    assert records["istiod.mesh.example.com"].inputs["spec"]["endpoints"] == [
        {"dnsName": "istiod.mesh.example.com", "recordType": "A", "targets": ["192.0.2.6", "192.0.2.7"]},
        {"dnsName": "istiod.mesh.example.com", "recordType": "AAAA", "targets": ["2001:db8::7"]},
    ]
    (alias,) = records["ew.mesh.example.com"].inputs["spec"]["endpoints"]
    assert (alias["recordType"], alias["targets"]) == ("CNAME", ["lb.example.net"])


def test_the_targets_of_a_record_may_be_an_output_as_a_whole() -> None:
    """As `addresses` of a mesh in the same program: how many there are is known later."""

    def published(*targets: str) -> list[Registered]:
        given = document(provider(controlPlaneZones=["mesh.example.com"]), provider(RFC2136))
        return registered(given, records=lambda: {"a.mesh.example.com": pulumi.Output.from_input([*targets])})

    (made,) = (one for one in published("192.0.2.9", "192.0.2.8") if one.type.endswith(":DNSEndpoint"))
    (record,) = made.inputs["spec"]["endpoints"]
    assert record["targets"] == ["192.0.2.8", "192.0.2.9"]
    # Not a record without targets, which would take the name out of the DNS.
    with pytest.raises(Exception, match="has no address yet"):
        published()


def test_a_bridge_needs_no_edge_for_the_programs_own_records() -> None:
    given = {"providers": [provider(zones=[], controlPlaneZones=["mesh.example.com"])]}
    bridge = read_document(DnsBridge, given)
    assert (pairs(bridge), warnings(bridge)) == ([], [])
    found = registered(
        given, records={"a.mesh.example.com": ["192.0.2.7"]}, credentials={"inner": {"username": "bridge"}}
    )
    (made,) = (one for one in found if one.type.endswith(":Deployment"))
    assert made.inputs["metadata"]["name"] == "dns-publisher-control-plane-inner"


def test_own_records_are_published_with_rights_of_one_namespace_and_no_edges_kubeconfig() -> None:
    found = with_records({"istiod.mesh.example.com": ["192.0.2.7"]})
    deployments = {one.inputs["metadata"]["name"]: one for one in found if one.type.endswith(":Deployment")}
    assert [name for name in deployments if "control-plane" in name] == ["dns-publisher-control-plane-inner"]
    published = pod(deployments["dns-publisher-control-plane-inner"])
    assert published["serviceAccountName"] == "dns-records"
    assert not [one for one in published["volumes"] if "dns-edge-" in json.dumps(one.get("secret", {}))]
    plans, writes, gate = published["containers"]
    assert plans["volumeMounts"][0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert "account" not in {mount["name"] for mount in writes.get("volumeMounts", [])}
    assert "account" in {mount["name"] for mount in gate["volumeMounts"]}
    (role,) = (one for one in found if one.type.endswith(":Role") and one.inputs["metadata"]["name"] == "dns-records")
    assert [(rule["resources"], rule["verbs"]) for rule in role.inputs["rules"]] == [
        (["dnsendpoints"], ["list", "watch"]),
        (["dnsendpoints/status"], ["update"]),
    ]
    bound = [one for one in found if one.type.endswith(":RoleBinding") and "control-plane" in one.provider]
    of = {one.inputs["roleRef"]["name"]: {s["name"] for s in one.inputs["subjects"]} for one in bound}
    assert of == {"dns-records": {"dns-records"}, "dns-bridge": {"system:serviceaccounts:hosted-mesh-dns"}}


def test_one_of_several_publishers_keeps_the_conditions_of_own_records() -> None:
    zone = {"controlPlaneZones": ["mesh.example.com"]}
    providers = provider(**zone), provider(RFC2136, **zone)
    found = registered(document(*providers, nameservers=["192.0.2.53"]), records={"a.mesh.example.com": ["192.0.2.7"]})
    gates = {
        one.inputs["metadata"]["name"]: next(each for each in pod(one)["containers"] if each["name"] == "sidecar")
        for one in found
        if one.type.endswith(":Deployment") and "publisher" in one.inputs["metadata"]["name"]
    }
    keeping = [name for name, gate in gates.items() if any("--conditions" in one for one in gate["args"])]
    assert keeping == ["dns-publisher-control-plane-inner"]
    gate = gates[keeping[0]]
    (path,) = (one.partition("=")[2] for one in gate["args"] if one.startswith("--conditions"))
    (folder,) = (one["mountPath"] for one in gate["volumeMounts"] if one["name"] == "config")
    # All providers' refusals and zones are known there, not its own alone.
    told = [
        one
        for one in found
        if one.type.endswith(":ConfigMap") and path.removeprefix(f"{folder}/") in one.inputs["data"]
    ]
    (config,) = (one.inputs for one in told if one.inputs["metadata"]["name"] == "dns-records")
    read = json.loads(config["data"]["config.json"])
    assert read["nameservers"] == ["192.0.2.53"]
    assert [(one["provider"], one["lease"], one["include"]) for one in read["zones"]] == [
        ("inner", "dns-publisher-control-plane-inner", ["mesh.example.com"]),
        ("outer", "dns-publisher-control-plane-outer", ["mesh.example.com"]),
    ]
    assert not [one for one in found if one.type.endswith(":Deployment") and "dnsPolicy" in pod(one)]


def test_who_keeps_conditions_knows_what_each_provider_publishes() -> None:
    """Its own records are published whatever their labels are: `recordSelector` is for what users write."""
    selecting = {"recordSelector": {"view": "inner"}, "recordTypes": ["A", "TXT"]}
    given = document(provider(controlPlaneZones=["mesh.example.com"], **selecting))
    found = registered(given, records={"a.mesh.example.com": ["192.0.2.7"]}, credentials={"inner": {"password": "x"}})
    read = {
        one.inputs["metadata"]["name"]: json.loads(one.inputs["data"]["config.json"])["zones"]
        for one in found
        if one.type.endswith(":ConfigMap") and "config.json" in one.inputs["data"]
    }
    told = {name: [(one["types"], one["labels"]) for one in zones] for name, zones in read.items()}
    assert told.pop("dns-records") == [(["A", "TXT"], {})]
    assert told
    assert set(map(str, told.values())) == {str([(["A", "TXT"], {"view": "inner"})])}


@pytest.mark.parametrize("answers", ["plain", "weighted"])
def test_the_sidecars_know_the_answers_of_a_powerdns(answers: str) -> None:
    given = document(provider(), provider(POWERDNS, answers=answers))
    found = registered(given, credentials={"inner": {"password": "x"}, "power": {"api-key": "y"}})
    gates = {
        one.inputs["metadata"]["name"]: [each for each in pod(one)["containers"][-1]["args"] if "powerdns" in each]
        for one in found
        if one.type.endswith(":Deployment") and "publisher-north" in one.inputs["metadata"]["name"]
    }
    assert gates == {"dns-publisher-north-inner": [], "dns-publisher-north-power": [f"--powerdns={answers}"]}
    maps = {one.inputs["metadata"]["name"]: one.inputs["data"] for one in found if one.type.endswith(":ConfigMap")}
    config = maps["dns-edge-north-sidecar"]
    zones = {one["provider"]: one["weighted"] for one in json.loads(config["config.json"])["zones"]}
    assert zones == {"inner": False, "power": answers == "weighted"}


def test_without_a_zone_of_its_own_the_control_plane_gets_no_kind_and_no_account() -> None:
    there = [one for one in registered() if "control-plane" in one.provider]
    assert not [one for one in there if "CustomResource" in one.type or "dns-records" in json.dumps(one.inputs)]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"istiod.north.example.com": ["192.0.2.1"]}, "lies in none of the control plane's zones .mesh.example.com."),
        ({"mesh.example.com.evil.org": ["192.0.2.1"]}, "lies in none of the control plane's zones"),
        ({"*.mesh.example.com": ["192.0.2.1"]}, r"records\.\*\.mesh\.example\.com: must be a DNS name"),
        ({"istiod.mesh.example.com": []}, "must be a list of one address or more"),
        ({"istiod.mesh.example.com": "192.0.2.1"}, "must be a list"),
        ({"istiod.mesh.example.com": [""]}, "neither an address nor a host name"),
        ({"istiod.mesh.example.com": ["192.0.2.256"]}, "neither an address nor a host name"),
        ({"istiod.mesh.example.com": ["lb.example.net", "192.0.2.1"]}, "a host name among several targets"),
        ({"istiod.mesh.example.com": ["istiod.mesh.example.com"]}, "is its own target"),
        ({"istiod.mesh.example.com": [7]}, "must be text"),
    ],
)
def test_a_record_that_cannot_be_used_is_named(records: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        with_records(records)


def test_an_address_that_turns_out_wrong_is_named_too() -> None:
    with pytest.raises(Exception, match="neither an address nor a host name"):
        with_records({"istiod.mesh.example.com": [pulumi.Output.from_input("not yet")]})


def pod(one: Registered) -> dict[str, Any]:
    found: dict[str, Any] = one.inputs["spec"]["template"]["spec"]
    return found
