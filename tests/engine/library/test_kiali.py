"""Kiali on the real engine and real API servers: its rights on both sides, its credentials, and the change of views.

There are no nodes, so Kiali does not run. `tests/live/mesh/test_pushed_metrics.py` runs it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.observability import kiali_objects

from sandbox.engine.deployment import POLICY_PACK
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack
from tests.support.waiting import eventually

NAMESPACE, MESH = "obs-demo", "mesh-demo"
PROVIDER: dict[str, Any] = {"readers": ["login"]}
USER: dict[str, Any] = {"login": "token"}
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:kiali"
# Of everybody who is authenticated: questions about their own rights.
EVERYBODY = {
    ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "create"),
    ("authentication.k8s.io", "selfsubjectreviews", "create"),
}
KIALIS = {
    (rule.group, resource, verb) for rule in kiali_objects.rules() for resource in rule.resources for verb in rule.verbs
}
# The list of rules is the library's own, so it is held to this one.
NEVER = {"secrets", "pods/log", "pods/exec", "pods/portforward", "pods/proxy", "serviceaccounts/token", "*"}
Rights = set[tuple[str, str, str]]


def stack_of(project: Project, mesh: dict[str, Any], kiali: dict[str, Any]) -> Stack:
    clusters = {"controlPlane": mesh["controlPlane"]["cluster"], "dataPlane": mesh["memberships"][0]["cluster"]}
    collector = {
        "host": "collector.demo.example.com",
        "image": "hosted-mesh/metrics-collector:1",
        "exposure": {"sourceRanges": ["203.0.113.0/24"]},
        "serverSecret": "own",
    }
    document = {"mesh": "demo", "collector": collector, "prometheus": {}, "kiali": kiali, "waitUntilReady": False}
    return project.stack("kiali", {"stack": "observability", "observability": {**clusters, "observability": document}})


def rights(api: Api, folder: Path, *options: str, kubeconfig: Path | None = None) -> Rights:
    """Group, resource and verb of all rights in a namespace, by the API server; none for a refused login."""
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    file = folder / "question.json"
    file.write_text(json.dumps(question))
    done = api.kubectl("create", "--validate=false", "-f", str(file), "-o", "json", *options, kubeconfig=kubeconfig)
    if done.code and "Unauthorized" in done.text:
        return set()
    assert done.code == 0, done.text
    found = json.loads(done.output)["status"]["resourceRules"]
    assert not [rule for rule in found if rule.get("resourceNames")]
    return {
        (group, resource, verb)
        for rule in found
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    } - EVERYBODY


def test_kialis_rules_read_alone_and_nothing_secret() -> None:
    assert {verb for *_, verb in KIALIS} == {"get", "list", "watch"}
    assert not NEVER & {resource for _, resource, _ in KIALIS}
    assert "*" not in {group for group, *_ in KIALIS}


@pytest.mark.usefixtures("clean")
def test_kiali_reads_both_clusters_and_writes_neither(
    project: Project, mesh: dict[str, Any], provider: Api, user: Api, tools: Tools, tmp_path: Path
) -> None:
    with user.with_istio(tools, MESH), provider.with_istio(tools):
        stack = stack_of(project, mesh, PROVIDER)
        stack.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
        assert stack.up().summary().keys() == {"unchanged"}

        secrets = {one["metadata"]["name"]: one["data"] for one in provider.get("secrets", "-n", NAMESPACE)["items"]}
        assert {name: set(data) for name, data in secrets.items()} == {
            "kiali-signing-key": {"value.txt"},
            "kiali-data-planes": {"demo"},
        }
        key = base64.b64decode(secrets["kiali-signing-key"]["value.txt"])
        assert len(key) == 32
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_bytes(base64.b64decode(secrets["kiali-data-planes"]["demo"]))
        kubeconfig.chmod(0o600)
        # An API server's authorizer has changed roles a moment later.
        eventually(lambda: rights(user, tmp_path, kubeconfig=kubeconfig) == KIALIS, "the rights in the user's cluster")
        eventually(lambda: rights(provider, tmp_path, f"--as={ACCOUNT}") == KIALIS, "the rights in the provider's")
        # An API server accepts the Pod in a namespace with the strictest level of Pod Security.
        (tmp_path / "pod.json").write_text(json.dumps(pod_of(provider)))
        done = provider.kubectl("apply", "-n", NAMESPACE, "--dry-run=server", "-f", str(tmp_path / "pod.json"))
        assert (done.code, "violate" in done.text) == (0, False), done.text
        # Neither is in the user's cluster, or readable in the engine's state.
        token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
        assert key.decode() not in json.dumps(user.everything())
        assert not [one for one in (key, token.encode()) if one in stack.state()]

        assert stack_of(project, mesh, USER).up().summary()["deleted"] == 2, "the ClusterRole and its binding"
        eventually(lambda: rights(provider, tmp_path, f"--as={ACCOUNT}") == set(), "no rights in the provider's")
        assert rights(user, tmp_path, kubeconfig=kubeconfig) == KIALIS
        stack.destroy()
        eventually(lambda: rights(user, tmp_path, kubeconfig=kubeconfig) == set(), "no rights in the user's cluster")


def pod_of(api: Api) -> dict[str, Any]:
    spec = api.get("deployment", "kiali", "-n", NAMESPACE)["spec"]["template"]["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": spec}
