"""Hosted operators on the real engine and real API servers: each side's objects, rights, placement and the gate.

There are no nodes, so no program of OLM runs. `tests/live/operators` runs them.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine.deployment import POLICY_PACK
from tests.engine.library.engine import Api, Project, Stack
from tests.support.waiting import eventually

Config = dict[str, Any]
NAMESPACE, HOSTED = "operators-north", "olm"
OLM = "operators.coreos.com"
CONTENT = "\n---\n".join(
    json.dumps(one)
    for one in (
        {"schema": "olm.package", "name": "etcd", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "etcd", "name": "stable", "entries": [{"name": "etcd.v1.0.0"}]},
    )
)
RUNNING = "pods,deployments,replicasets,statefulsets,daemonsets,jobs"


@pytest.fixture
def document(user: Api) -> Config:
    return {
        "name": "north",
        "apiServer": user.cluster.server,
        "version": "1.36",
        "packageServer": {"host": "packages.north.sandbox.test", "sourceRanges": ["203.0.113.7/32"]},
        "networkPolicy": {"apiServerRanges": ["203.0.113.7/32"]},
        "placement": {
            "nodeSelector": {"example.com/pool": "operators"},
            "tolerations": [{"key": "pool", "effect": "NoSchedule"}],
        },
        "catalogs": [{"name": "provider", "content": CONTENT}],
        "subscriptions": [{"name": "etcd", "catalog": "provider", "channel": "stable"}],
        "keepCrds": False,
        "waitUntilReady": False,
    }


@pytest.fixture
def stack_of(project: Project, mesh: Config) -> Any:
    def made(document: Config) -> Stack:
        clusters = {"controlPlane": mesh["controlPlane"]["cluster"], "dataPlane": mesh["memberships"][0]["cluster"]}
        return project.stack("operators", {"stack": "operators", "operators": {**clusters, "operators": document}})

    return made


def apply(api: Api, directory: Path, *objects: Config, namespace: str = "default") -> None:
    path = directory / "objects.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    done = api.kubectl("apply", "-n", namespace, "-f", str(path))
    assert done.code == 0, done.text


def account(provider: Api, name: str, directory: Path) -> Path:
    """The kubeconfig of one of OLM's programs, out of its Secret."""
    data = provider.get("secret", name, "-n", NAMESPACE)["data"]
    path = directory / name
    path.write_text(base64.b64decode(data["kubeconfig"]).decode())
    path.chmod(0o600)
    return path


@pytest.mark.usefixtures("clean")
def test_each_side_has_its_objects_and_no_key_is_in_the_hosted_cluster(
    document: Config, stack_of: Any, provider: Api, user: Api, tmp_path: Path
) -> None:
    stack = stack_of(document)
    stack.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    assert stack.up().summary().keys() == {"unchanged"}
    assert stack.outputs()["namespace"] == NAMESPACE

    # The control plane runs everything.
    deployments = {
        one["metadata"]["name"]: one["spec"] for one in provider.get("deployments", "-n", NAMESPACE)["items"]
    }
    assert {name: (one["replicas"], one["strategy"]["type"]) for name, one in deployments.items()} == {
        "olm-operator": (1, "Recreate"),
        "catalog-operator": (1, "Recreate"),
        "packageserver": (2, "RollingUpdate"),
        "catalog-provider": (1, "RollingUpdate"),
    }
    pods = {name: one["template"]["spec"] for name, one in deployments.items()}
    assert not any(one["automountServiceAccountToken"] for one in pods.values())
    mounted = {
        name: {each["secret"]["secretName"] for each in one["volumes"] if "secret" in each}
        for name, one in pods.items()
    }
    assert mounted == {
        "olm-operator": {"olm-operator"},
        "catalog-operator": {"catalog-operator"},
        "packageserver": {"packageserver", "packageserver-tls"},
        "catalog-provider": set(),
    }
    # An API server with Pod Security accepts the Pods: it checks the template of a Deployment with a warning only.
    labels = provider.get("namespace", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    for name, spec in pods.items():
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"try-{name}"}, "spec": spec}
        (tmp_path / "pod.json").write_text(json.dumps(pod))
        done = provider.kubectl("apply", "-n", NAMESPACE, "--dry-run=server", "-f", str(tmp_path / "pod.json"))
        assert done.code == 0, done.text

    # The hosted cluster runs nothing.
    assert [
        one["metadata"]["name"]
        for namespace in (HOSTED, "operators")
        for one in user.get(RUNNING, "-n", namespace)["items"]
    ] == []
    (source,) = user.get(f"catalogsources.{OLM}", "-A")["items"]
    assert source["spec"]["address"] == f"catalog-provider.{NAMESPACE}.svc:50051"
    assert "image" not in source["spec"]
    api = user.get("apiservice", "v1.packages.operators.coreos.com")["spec"]
    service = user.get("service", api["service"]["name"], "-n", api["service"]["namespace"])["spec"]
    assert (service["type"], service["externalName"]) == ("ExternalName", "packages.north.sandbox.test")
    assert "insecureSkipTLSVerify" not in api
    assert "PRIVATE KEY" not in base64.b64decode(api["caBundle"]).decode()

    # No key of the control plane is in the hosted cluster's etcd: packageserver's, and its authority's.
    found = [one["privateKeyPemPkcs8"] for one in stack.secrets() if "privateKeyPemPkcs8" in one]
    keys = [json.loads(one["plaintext"]) for one in found]
    assert len(keys) == 2
    # The first line holds private bytes, and so does this part of a key in base64, as it is in a Secret.
    forms = {form for key in keys for form in (key.splitlines()[1].encode(), base64.b64encode(key.encode())[60:140])}
    serving = provider.get("secret", "packageserver-tls", "-n", NAMESPACE)["data"]["tls.key"].encode()
    assert [form in serving for form in forms].count(True) == 1
    for stored, value in user.cluster.etcd_items():
        assert not any(one in value for one in forms), stored.decode()
    # The tokens in the state are in the hosted cluster's own Secrets: they open nothing on the control plane.
    for name in ("olm-operator", "catalog-operator"):
        kubeconfig = account(provider, name, tmp_path)
        assert user.kubectl("auth", "whoami", kubeconfig=kubeconfig).code == 0
        content = kubeconfig.read_text().replace(user.cluster.server, provider.cluster.server)
        swapped = tmp_path / f"{name}-swapped"
        authority = base64.b64encode(provider.cluster.certificate_authority.read_bytes()).decode()
        swapped.write_text(
            re.sub(r'"certificate-authority-data": "[^"]+"', f'"certificate-authority-data": "{authority}"', content)
        )
        refused = provider.kubectl("get", "namespaces", kubeconfig=swapped)
        assert "Unauthorized" in refused.text or "must be logged in" in refused.text, refused.text
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_an_account_has_its_rights_and_no_others(
    document: Config, stack_of: Any, provider: Api, user: Api, tmp_path: Path
) -> None:
    stack = stack_of({**document, "operandGroups": ["example.com"]})
    stack.up()
    token = base64.b64decode(provider.get("secret", "packageserver", "-n", NAMESPACE)["data"]["token"]).decode()
    packages = tmp_path / "packages"
    packages.write_text(
        re.sub(r'"token": "[^"]+"', f'"token": "{token}"', account(provider, "olm-operator", tmp_path).read_text())
    )
    holders = {
        "olm-operator": account(provider, "olm-operator", tmp_path),
        "catalog-operator": account(provider, "catalog-operator", tmp_path),
        "packageserver": packages,
    }

    def may(holder: str, *what: str) -> bool:
        return user.kubectl("auth", "can-i", *what, kubeconfig=holders[holder]).output.strip() == "yes"

    granted = [
        ("olm-operator", "create", "deployments.apps", "-n", "demo"),
        ("olm-operator", "escalate", "clusterroles"),
        ("olm-operator", "patch", "clusterserviceversions.operators.coreos.com", "-n", "demo"),
        ("catalog-operator", "create", "customresourcedefinitions"),
        ("catalog-operator", "create", "jobs.batch", "-n", "olm"),
        ("packageserver", "create", "tokenreviews.authentication.k8s.io"),
        ("packageserver", "create", "subjectaccessreviews.authorization.k8s.io"),
        ("packageserver", "list", "catalogsources.operators.coreos.com", "-A"),
        ("packageserver", "get", "configmaps/extension-apiserver-authentication", "-n", "kube-system"),
    ]
    # An API server's authorizer has new roles a moment later.
    eventually(lambda: [one for one in granted if not may(*one)] == [], "the rights that are granted")
    refused = [
        *((holder, verb, "nodes") for holder in holders for verb in ("list", "patch")),
        *((holder, "impersonate", "users") for holder in holders),
        *((holder, "create", "serviceaccounts", "--subresource=token", "-n", "olm") for holder in holders),
        *((holder, "create", "namespaces") for holder in holders),
        ("olm-operator", "create", "pods", "-n", "demo"),
        ("packageserver", "list", "secrets", "-A"),
        ("packageserver", "get", "configmaps", "-n", "olm"),
        ("packageserver", "update", "catalogsources.operators.coreos.com", "-A"),
    ]
    assert [one for one in refused if may(*one)] == []

    def may_list(holder: str, group: str) -> bool:
        """Of a kind that does not exist yet, which `can-i` would not look up."""
        asked = {"resourceAttributes": {"verb": "list", "group": group, "resource": "things"}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": asked}
        (tmp_path / "review.json").write_text(json.dumps(review))
        command = ("create", "-o", "json", "-f", str(tmp_path / "review.json"))
        answer = user.kubectl(*command, kubeconfig=holders[holder])
        return bool(json.loads(answer.output)["status"]["allowed"])

    assert may_list("catalog-operator", "example.com")
    assert not may_list("catalog-operator", "example.org")
    assert not may_list("olm-operator", "example.com")
    stack.destroy()


def operators_deployment(name: str, owner: str | None, pod: Config) -> Config:
    labels = {"olm.owner": owner} if owner else {}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "c"}], **pod}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": spec}


@pytest.fixture
def demo(user: Api) -> Iterator[str]:
    user.kubectl("create", "namespace", "demo")
    user.kubectl("create", "serviceaccount", "default", "-n", "demo")
    yield "demo"
    user.kubectl("delete", "namespace", "demo")


@pytest.mark.usefixtures("clean")
def test_the_first_pods_of_an_operator_are_placed(
    document: Config, stack_of: Any, user: Api, tmp_path: Path, demo: str
) -> None:
    own = {"name": "cache", "namespace": demo, "catalog": "provider", "channel": "stable", "package": "etcd"}
    own["placement"] = {"nodeSelector": {"example.com/pool": "fast"}}  # type: ignore[assignment]
    stack = stack_of({**document, "subscriptions": [own]})
    stack.up()
    given = {"key": "given", "operator": "Exists"}
    added = {"key": "pool", "operator": "Exists", "effect": "NoSchedule"}

    def spec_of(name: str) -> Config:
        found: Config = user.get("deployment", name, "-n", demo)["spec"]["template"]["spec"]
        return found

    pod = {"containers": [{"name": "c", "image": "c"}], "restartPolicy": "Never"}
    labels = {"operatorframework.io/bundle-unpack-ref": "x"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "unpack", "labels": labels},
        "spec": {"template": {"spec": pod}},
    }
    catalog = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mine", "labels": {"olm.catalogSource": "mine"}},
        "spec": pod,
    }
    first = operators_deployment("first", "kafka.v1.0.0", {})
    of_its_own = operators_deployment("of-its-own", "etcd.v1.0.0", {})

    def is_in_force(one: Config) -> bool:
        (tmp_path / "tried.json").write_text(json.dumps(one))
        tried = ("create", "--dry-run=server", "-n", demo, "-f", str(tmp_path / "tried.json"), "-o", "json")
        return "nodeSelector" in user.kubectl(*tried).output

    # Four policies, each by itself.
    eventually(lambda: all(map(is_in_force, (first, of_its_own, job, catalog))), "the policies are in force")
    apply(
        user,
        tmp_path,
        first,
        operators_deployment(
            "with-own", "kafka.v1.0.0", {"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [given]}
        ),
        of_its_own,
        operators_deployment("nobodys", None, {}),
        namespace=demo,
    )
    assert (spec_of("first")["nodeSelector"], spec_of("first")["tolerations"]) == (
        {"example.com/pool": "operators"},
        [added],
    )
    assert spec_of("with-own")["nodeSelector"] == {"kubernetes.io/os": "linux", "example.com/pool": "operators"}
    assert spec_of("with-own")["tolerations"] == [given, added]
    assert spec_of("of-its-own")["nodeSelector"] == {"example.com/pool": "fast"}
    assert "tolerations" not in spec_of("of-its-own")
    assert "nodeSelector" not in spec_of("nobodys")
    # An update that takes it away gets it again, once.
    user.kubectl("scale", "deployment", "with-own", "-n", demo, "--replicas=0")
    user.kubectl(
        "patch",
        "deployment",
        "first",
        "-n",
        demo,
        "--type=json",
        "-p",
        '[{"op": "remove", "path": "/spec/template/spec/nodeSelector"}]',
    )
    assert spec_of("with-own")["tolerations"] == [given, added]
    assert spec_of("first")["nodeSelector"] == {"example.com/pool": "operators"}

    apply(user, tmp_path, job, catalog, namespace=demo)
    assert user.get("job", "unpack", "-n", demo)["spec"]["template"]["spec"]["nodeSelector"] == {
        "example.com/pool": "operators"
    }
    assert user.get("pod", "mine", "-n", demo)["spec"]["nodeSelector"] == {"example.com/pool": "operators"}
    user.kubectl("delete", "pod,job,deployment", "--all", "-n", demo, "--now")
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_an_operator_blocks_an_upgrade(
    document: Config, stack_of: Any, provider: Api, user: Api, tmp_path: Path
) -> None:
    stack = stack_of(document)
    stack.up()
    csv = {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "etcd.v1.0.0"},
        "spec": {"displayName": "etcd", "install": {"strategy": "deployment", "spec": {"deployments": []}}},
    }
    blocked = {
        "type": "Upgradeable",
        "status": "False",
        "reason": "Migrating",
        "message": "data\nmoves",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    condition = {
        "apiVersion": f"{OLM}/v2",
        "kind": "OperatorCondition",
        "metadata": {"name": "etcd.v1.0.0"},
        "spec": {"conditions": [blocked]},
    }
    apply(user, tmp_path, csv, condition, namespace="operators")

    changed = {**document, "version": "1.37"}
    for command in (("preview",), ("up", "--yes"), ("up", "--yes", "--skip-preview")):
        refused = stack_of(changed).run(*command)
        assert refused.code != 0
        blocked_by = "blocked by operator etcd.v1.0.0 in namespace operators: Migrating: data\\nmoves"
        assert f"version: cannot change from 1.36 to 1.37, {blocked_by}" in refused.text
        assert "upgrades.override: {etcd.v1.0.0: REASON}" in refused.text
        assert "Traceback" not in refused.text
    version = "hosted-mesh.io/hosted-cluster-version"
    assert provider.get("namespace", NAMESPACE)["metadata"]["annotations"][version] == "1.36"
    # Another change passes, and so does the upgrade with a reason, or once the operator is ready.
    other = copy.deepcopy(changed) | {"version": "1.36", "wait": None}
    other.pop("wait")
    other["catalogs"][0]["priority"] = 5
    assert stack_of(other).up().summary()["updated"] == 1
    reasoned = stack_of({**other, "version": "1.37", "upgrades": {"override": {"etcd.v1.0.0": "the data is moved"}}})
    done = reasoned.succeed("preview")
    assert "is overridden: the data is moved" in done.text
    condition["spec"] = {"conditions": [{**blocked, "status": "True"}]}
    apply(user, tmp_path, condition, namespace="operators")
    stack_of({**other, "version": "1.37"}).up()
    assert provider.get("namespace", NAMESPACE)["metadata"]["annotations"][version] == "1.37"
    user.kubectl("delete", f"clusterserviceversions.{OLM},operatorconditions.{OLM}", "--all", "-n", "operators")
    stack_of({**other, "version": "1.37"}).destroy()


@pytest.mark.usefixtures("clean")
def test_a_selector_without_a_node_is_refused(document: Config, stack_of: Any, user: Api, tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "labels": {"example.com/pool": "other"}}}
    apply(user, tmp_path, node)
    try:
        refused = stack_of(document).run("preview")
        assert refused.code != 0
        assert "placement.nodeSelector: matches none of the hosted cluster's 1 nodes" in refused.text
        assert "Traceback" not in refused.text
        user.kubectl("label", "node", "one", "example.com/pool=operators", "--overwrite")
        stack_of(document).succeed("preview")
    finally:
        user.kubectl("delete", "node", "one")


@pytest.mark.usefixtures("clean")
def test_the_hosted_clusters_operator_hub_disables_catalogs(
    document: Config, stack_of: Any, provider: Api, user: Api, tmp_path: Path
) -> None:
    document |= {
        "catalogs": [{"name": one, "content": CONTENT} for one in ("certified", "community")],
        "subscriptions": [],
        "followOperatorHub": True,
    }
    stack = stack_of(document)
    missing = stack.run("preview")
    assert missing.code != 0
    assert "followOperatorHub: requires an OperatorHub with the name cluster" in missing.text
    assert "Traceback" not in missing.text
    names = {"kind": "OperatorHub", "listKind": "OperatorHubList", "plural": "operatorhubs", "singular": "operatorhub"}
    free = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": free}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "operatorhubs.config.openshift.io"},
        "spec": {"group": "config.openshift.io", "names": names, "scope": "Cluster", "versions": [version]},
    }

    def choose(**spec: Any) -> None:
        hub = {"apiVersion": "config.openshift.io/v1", "kind": "OperatorHub", "metadata": {"name": "cluster"}}
        apply(user, tmp_path, {**hub, "spec": spec})

    def catalogs() -> tuple[list[str], list[str]]:
        """Catalogs of the hosted cluster, and those with Pods on the control plane."""
        listed = [one["metadata"]["name"] for one in user.get(f"catalogsources.{OLM}", "-A")["items"]]
        deployments = [one["metadata"]["name"] for one in provider.get("deployments", "-n", NAMESPACE)["items"]]
        served = [one.removeprefix("catalog-") for one in deployments if one.startswith("catalog-c")]
        return sorted(listed), sorted(set(served))

    apply(user, tmp_path, crd)
    try:
        user.kubectl("wait", "--for=condition=Established", "crd/operatorhubs.config.openshift.io", "--timeout=240s")
        choose(disableAllDefaultSources=True, sources=[{"name": "certified", "disabled": False}])
        stack.up()
        assert catalogs() == (["certified"], ["certified"])
        choose(sources=[{"name": "certified", "disabled": True}])
        stack.up()
        assert catalogs() == (["community"], ["community"])
        subscribed = {**document, "subscriptions": [{"name": "etcd", "catalog": "certified", "channel": "stable"}]}
        refused = stack_of(subscribed).run("preview")
        assert refused.code != 0
        assert (
            "subscriptions[0].catalog: names certified, which the hosted cluster's OperatorHub disables" in refused.text
        )
        assert catalogs() == (["community"], ["community"])
        choose()
        stack_of(document).up()
        assert catalogs() == (["certified", "community"], ["certified", "community"])
        stack.destroy()
    finally:
        user.kubectl("delete", "crd", "operatorhubs.config.openshift.io")
