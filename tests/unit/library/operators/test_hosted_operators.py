"""What the component registers: each side's objects, the holders of credentials, and connections."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.operators import crds
from pulumi_hosted_mesh.operators.placement import expression, policies
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.operators import Operators

from tests.unit.library.operators.documents import document
from tests.unit.library.operators.registrations import (
    CONTROL_PLANE,
    DATA_PLANE,
    answers,
    clusters,
    named,
    run_upgradable,
)
from tests.unit.library.program import Registered

ACCOUNTS = ("olm-operator", "catalog-operator", "packageserver")
KEYS = ("north-packages-key", "north-packages-authority-key")


def registered(given: dict[str, Any] | None = None, **arguments: Any) -> list[Registered]:
    operators = read_document(Operators, given or document())

    def program() -> None:
        args: Any = {"operators": operators.arguments(), **clusters(), **arguments}
        hosted_mesh.HostedOperators("north", args)

    outputs = answers(ACCOUNTS, KEYS, arguments.get("token_generation", 1))
    outputs["north-packages-authority"] = {"certPem": "certificate-of-the-authority"}
    outputs["north-packages-certificate"] = {"certPem": "certificate-of-packageserver"}
    return run_upgradable(program, outputs)


@pytest.fixture(scope="module")
def found() -> list[Registered]:
    return registered()


def pod(one: Registered) -> dict[str, Any]:
    spec: dict[str, Any] = one.inputs["spec"]["template"]["spec"]
    return spec


def test_each_side_has_a_parent_of_its_own_type(found: list[Registered]) -> None:
    parents = {one.urn: one.type for one in found}
    for one in found:
        if one.type.startswith("kubernetes:"):
            side = "OperatorsControlPlane" if one.provider == CONTROL_PLANE else "OperatorsDataPlane"
            above = one.urn.split("::")[2].split("$")[:-1]
            assert above == ["hosted-mesh:index:HostedOperators", f"hosted-mesh:index:{side}"], one.urn
    assert "hosted-mesh:index:HostedOperators" in parents.values()


def test_nothing_runs_in_the_hosted_cluster(found: list[Registered]) -> None:
    there = {one.type.rpartition(":")[2] for one in found if one.provider.startswith(DATA_PLANE)}
    assert there == {
        *("CustomResourceDefinition", "Namespace", "ServiceAccount", "Secret", "Service", "APIService"),
        *("ClusterRole", "ClusterRoleBinding", "RoleBinding", "CatalogSource", "OperatorGroup", "Subscription"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    }
    (service,) = named(found, "Service", DATA_PLANE).values()
    assert service.inputs["spec"]["type"] == "ExternalName"


def test_olm_has_one_replica_and_no_two_at_a_time(found: list[Registered]) -> None:
    deployments = named(found, "Deployment")
    assert deployments.keys() == {"olm-operator", "catalog-operator", "packageserver", "catalog-provider"}
    for name in ("olm-operator", "catalog-operator"):
        spec = deployments[name].inputs["spec"]
        assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert deployments["packageserver"].inputs["spec"]["replicas"] == 2
    assert "strategy" not in deployments["packageserver"].inputs["spec"]


def test_a_pod_has_the_credential_of_its_own_account_alone(found: list[Registered]) -> None:
    for name, one in named(found, "Deployment").items():
        spec = pod(one)
        assert spec["automountServiceAccountToken"] is False
        secrets = {each["secret"]["secretName"] for each in spec["volumes"] if "secret" in each}
        own = {"packageserver": {"packageserver", "packageserver-tls"}, "catalog-provider": set()}
        assert secrets == own.get(name, {name})
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    for name, one in named(found, "Secret", CONTROL_PLANE).items():
        assert "stringData" in one.secrets
        text = json.dumps(one.inputs)
        assert [each for each in ACCOUNTS if f"token-of-{each}" in text] == ([name] if name in ACCOUNTS else [])


def test_no_key_of_the_control_plane_goes_to_the_hosted_cluster(found: list[Registered]) -> None:
    for one in found:
        text = json.dumps(one.inputs)
        for key in KEYS:
            # The authority's key is in no cluster; packageserver's in one Secret.
            is_serving = one.type.endswith(":Secret") and one.inputs["metadata"]["name"] == "packageserver-tls"
            allowed = one.type.startswith("tls:") or (is_serving and key == "north-packages-key")
            assert allowed or f"key-of-{key}" not in text, one.name
        if one.provider.startswith(DATA_PLANE):
            assert not [name for name in ACCOUNTS if f"token-of-{name}" in text]
    (api,) = named(found, "APIService").values()
    assert base64.b64decode(api.inputs["spec"]["caBundle"]).decode() == "certificate-of-the-authority"


def test_packageserver_asks_the_hosted_clusters_api_server(found: list[Registered]) -> None:
    (container,) = pod(named(found, "Deployment")["packageserver"])["containers"]
    environment = {one["name"]: one["value"] for one in container["env"]}
    assert environment == {"KUBERNETES_SERVICE_HOST": "api.north.example.com", "KUBERNETES_SERVICE_PORT": "6443"}
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert mounts["/var/run/secrets/kubernetes.io/serviceaccount"] == "account"
    # Its flags do not reach its authorization, which would fall back to the control plane's API server.
    assert not [one for one in container["args"] if "kubeconfig" in one]
    files = named(found, "Secret", CONTROL_PLANE)["packageserver"].inputs["stringData"]
    assert files.keys() == {"token", "ca.crt", "namespace"}
    assert (files["token"], files["namespace"]) == ("token-of-packageserver", "olm")


def test_a_catalogs_content_is_a_file_without_links_beside_it(found: list[Registered]) -> None:
    """opm ends at the links that a whole ConfigMap has as a folder."""
    (container,) = pod(named(found, "Deployment")["catalog-provider"])["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "configs")
    assert (mount["mountPath"], mount["subPath"]) == ("/configs/catalog.yaml", "catalog.yaml")


def test_connections_are_closed_but_for_a_table(found: list[Registered]) -> None:
    specs = {name: one.inputs["spec"] for name, one in named(found, "NetworkPolicy").items()}
    assert specs["closed"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    api = {"to": [{"ipBlock": {"cidr": "203.0.113.7/32"}}], "ports": [{"protocol": "TCP", "port": 6443}]}
    dns = {"ports": [{"protocol": kind, "port": 53} for kind in ("UDP", "TCP")]}
    assert specs["olm-operator"]["egress"] == [dns, api]
    own = {
        "to": [{"podSelector": {"matchExpressions": [{"key": "hosted-mesh.io/catalog", "operator": "Exists"}]}}],
        "ports": [{"protocol": "TCP", "port": 50051}],
    }
    assert specs["catalog-readers"]["egress"] == [dns, api, own]
    # Each destination has a limit: an empty `to` is every address.
    for spec in specs.values():
        assert all(one.get("to") or one == dns for one in spec.get("egress", []))
    wider = document(networkPolicy={"apiServerRanges": ["203.0.113.7/32"], "catalogRanges": ["198.51.100.0/28"]})
    (*_, exposed) = named(registered(wider), "NetworkPolicy")["catalog-readers"].inputs["spec"]["egress"]
    assert exposed["to"] == [{"ipBlock": {"cidr": "198.51.100.0/28"}}]


def test_the_quota_fits_an_update(found: list[Registered]) -> None:
    (quota,) = named(found, "ResourceQuota").values()
    hard = quota.inputs["spec"]["hard"]
    # OLM's two, packageserver's two old and two new, and the catalog's old, new and one more.
    assert hard["pods"] == "9"
    assert (hard["limits.memory"], hard["services.loadbalancers"]) == ("4608Mi", "1")


def test_a_listed_catalog_has_an_address_and_no_image(found: list[Registered]) -> None:
    (source,) = named(found, "CatalogSource").values()
    assert source.inputs["spec"]["address"] == "catalog-provider.operators-north.svc:50051"
    assert "image" not in source.inputs["spec"]
    hidden = {**document()["catalogs"][0], "listed": False}
    made = registered(document(catalogs=[hidden], subscriptions=[]))
    assert not named(made, "CatalogSource")
    assert "catalog-provider" in named(made, "Deployment")


def test_a_changed_content_replaces_the_catalogs_pod(found: list[Registered]) -> None:
    def started_with(made: list[Registered]) -> str:
        template = named(made, "Deployment")["catalog-provider"].inputs["spec"]["template"]
        return str(template["metadata"]["annotations"]["hosted-mesh.io/read-at-start"])

    catalog = document()["catalogs"][0]
    other = registered(document(catalogs=[{**catalog, "content": catalog["content"] + "\n"}]))
    assert started_with(found) != started_with(other)


def test_tokens_have_generations() -> None:
    tokens = named(registered(token_generation=3), "Secret", DATA_PLANE)
    assert sorted(tokens) == sorted(f"{name}-token-3" for name in ACCOUNTS)
    with pytest.raises(InvalidInputError, match="token_generation: must be at least 1"):
        registered(token_generation=0)


def test_the_version_is_on_the_namespace(found: list[Registered]) -> None:
    (namespace,) = named(found, "Namespace", CONTROL_PLANE).values()
    metadata = namespace.inputs["metadata"]
    assert metadata["annotations"] == {"hosted-mesh.io/hosted-cluster-version": "1.36"}
    assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_policies_can_read_each_definition() -> None:
    """Of more than 32 levels they get nothing, and reject the stack."""

    def levels(part: Any) -> int:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return 1 + max(map(levels, inner), default=0)

    assert max(levels(one["spec"]) for one in crds.definitions()) < 30


def test_definitions_are_olms_own_without_descriptions() -> None:
    names = {one["name"].partition(".")[0] for one in crds.definitions()}
    assert names == {
        *("catalogsources", "clusterserviceversions", "installplans", "olmconfigs", "operatorconditions"),
        *("operatorgroups", "operators", "subscriptions"),
    }
    schema = json.dumps(crds.definitions())
    assert '"description": "' not in schema
    # A property of this name is not a description: CSVs have one.
    csv = next(one for one in crds.definitions() if one["name"].startswith("clusterserviceversions"))
    (version,) = (one for one in csv["spec"]["versions"] if one["storage"])
    assert "description" in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def test_a_placement_of_one_subscription_replaces_the_documents() -> None:
    own = {"name": "etcd", "catalog": "provider", "channel": "stable", "placement": {"nodeSelector": {"pool": "fast"}}}
    made = {one.name: one.spec for one in policies(read_document(Operators, document(subscriptions=[own])))}
    assert made.keys() == {
        *("hosted-mesh-operators-operators-etcd", "hosted-mesh-operators"),
        *("hosted-mesh-operators-unpack", "hosted-mesh-operators-catalogs"),
    }
    (ours,) = made["hosted-mesh-operators-operators-etcd"]["matchConditions"]
    (others,) = made["hosted-mesh-operators"]["matchConditions"]
    assert others["expression"] == f"!({ours['expression']})"
    assert not policies(read_document(Operators, document(placement={})))


def test_an_expression_keeps_what_a_pod_has() -> None:
    placement = read_document(Operators, document()).placement
    text = expression(placement, "object.spec", "/spec")
    assert text.startswith("(has(object.spec.nodeSelector) ? [")
    assert '"/spec/nodeSelector/" + jsonpatch.escapeKey("pool")' in text
    assert 'path: "/spec/tolerations/-"' in text
