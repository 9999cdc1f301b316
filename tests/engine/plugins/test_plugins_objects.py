"""The life of plain Kubernetes objects: create, update, replace, drift, import, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.automation.errors import CommandError

from tests.engine.plugins.stack import Stack
from tests.support.kubectl import Kubectl

Provider = Callable[..., pulumi.ResourceOptions]


def _deployment(options: pulumi.ResourceOptions, replicas: int = 0, **metadata: Any) -> kubernetes.apps.v1.Deployment:
    """A Deployment in spellings that the API server changes: quantities, a false flag, empty maps."""
    container = {
        "name": "main",
        "image": "sample",
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"memory": "2048Mi"}},
        "env": [{"name": "EMPTY", "value": ""}],
        "tty": False,
    }
    # Any: mypy takes many gigabytes to fit nested literals to the package's unions of typed dictionaries.
    spec: Any = {
        "replicas": replicas,
        "selector": {"match_labels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [container], "host_network": False, "node_selector": {}},
        },
    }
    return kubernetes.apps.v1.Deployment("web", metadata={"labels": {}, **metadata}, spec=spec, opts=options)


def test_second_run_changes_nothing_and_destroy_removes_all(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    def program() -> None:
        options = provider()
        _deployment(options)
        kubernetes.core.v1.ConfigMap("settings", data={"a": "1"}, opts=options)
        kubernetes.core.v1.ServiceAccount("robot", automount_service_account_token=False, opts=options)
        kubernetes.rbac.v1.Role(
            "role", rules=[{"api_groups": [""], "resources": ["pods"], "verbs": ["get"]}], opts=options
        )
        kubernetes.networking.v1.NetworkPolicy(
            "deny", spec={"pod_selector": {}, "policy_types": ["Ingress"]}, opts=options
        )

    made = stack.up(program)
    assert made == {"create": 7}
    assert stack.preview() == {"same": 7}
    assert stack.up() == {"same": 7}
    stack.engine.refresh()
    assert stack.preview() == {"same": 7}
    stack.engine.destroy()
    for kind in ("deployments", "roles", "networkpolicies"):
        assert kubectl.names(kind, "--namespace", namespace) == []


def test_generated_names_have_a_suffix_and_stay(stack: Stack, provider: Provider, namespace: str) -> None:
    def program(label: str = "a") -> Callable[[], None]:
        def run() -> None:
            metadata = {"labels": {"label": label}}
            one = kubernetes.core.v1.ServiceAccount("robot", metadata=metadata, opts=provider())
            pulumi.export("name", one.metadata.name)
            pulumi.export("id", one.id)

        return run

    stack.up(program())
    name = stack.output("name")
    assert name.startswith("robot-")
    assert len(name) == len("robot-") + 8
    assert stack.output("id") == f"{namespace}/{name}"
    assert stack.up(program("b"))["update"] == 1
    assert stack.output("name") == name


def test_update_in_place_is_applied_by_a_manager_of_its_own(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    stack.up(lambda: _deployment(provider(), name="web", annotations={"step": "1"}) and None)
    before = kubectl.get("deployment", "web", "--namespace", namespace, "--show-managed-fields")
    changed = stack.up(lambda: _deployment(provider(), name="web", annotations={"step": "2"}) and None)
    assert changed["update"] == 1
    after = kubectl.get("deployment", "web", "--namespace", namespace, "--show-managed-fields")
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    assert after["metadata"]["annotations"]["step"] == "2"
    managers = {(one["manager"], one["operation"]) for one in after["metadata"]["managedFields"]}
    assert any(name.startswith("pulumi-kubernetes-") and operation == "Apply" for name, operation in managers)
    assert ("pulumi-kubernetes", "Update") not in managers


def test_a_field_that_goes_from_the_program_goes_from_the_cluster(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    stack.up(lambda: _deployment(provider(), name="web", annotations={"one": "1", "two": "2"}) and None)
    assert stack.up(lambda: _deployment(provider(), name="web", annotations={"one": "1"}) and None)["update"] == 1
    annotations = kubectl.get("deployment", "web", "--namespace", namespace)["metadata"]["annotations"]
    assert annotations["one"] == "1"
    assert "two" not in annotations


@pytest.mark.parametrize("name", ["", "settings"])
def test_changed_data_of_a_config_map_replaces_it(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str, name: str
) -> None:
    def program(value: str) -> Callable[[], None]:
        metadata = {"name": name} if name else None
        return lambda: (
            kubernetes.core.v1.ConfigMap("settings", metadata=metadata, data={"a": value}, opts=provider()) and None
        )

    stack.up(program("1"))
    assert stack.preview(program("2"))["replace"] == 1
    assert stack.up(program("2"))["replace"] == 1
    maps = kubectl.get("configmaps", "--namespace", namespace)["items"]
    assert [one["data"]["a"] for one in maps if one["metadata"]["name"].startswith("settings")] == ["2"]


def test_a_changed_selector_replaces_the_workload(stack: Stack, provider: Provider) -> None:
    def program(label: str) -> Callable[[], None]:
        spec = {
            "replicas": 0,
            "selector": {"match_labels": {"app": label}},
            "template": {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
        }
        return lambda: kubernetes.apps.v1.Deployment("web", spec=spec, opts=provider()) and None

    stack.up(program("a"))
    assert stack.preview(program("b"))["replace"] == 1


def test_drift_shows_after_a_refresh_and_is_repaired(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    stack.up(lambda: _deployment(provider(), name="web", annotations={"step": "1"}) and None)
    kubectl("annotate", "deployment", "web", "--namespace", namespace, "step=other", "--overwrite")
    assert "update" not in stack.preview()
    stack.engine.refresh()
    assert stack.preview()["update"] == 1
    # Somebody else owns the field now; taking it back is said with the annotation that Pulumi has for this.
    forced = {"step": "1", "pulumi.com/patchForce": "true"}
    assert stack.up(lambda: _deployment(provider(), name="web", annotations=forced) and None)["update"] == 1
    live = kubectl.get("deployment", "web", "--namespace", namespace)
    assert live["metadata"]["annotations"]["step"] == "1"


def test_an_object_that_was_deleted_by_hand_is_made_again(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    stack.up(lambda: _deployment(provider(), name="web") and None)
    kubectl("delete", "deployment", "web", "--namespace", namespace)
    stack.engine.refresh()
    assert stack.up()["create"] == 1
    assert kubectl.exists("deployment", "web", "--namespace", namespace)


def test_an_existing_object_is_an_error_unless_upserted(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "serviceaccount", "robot", "--namespace", namespace)

    def program(**settings: Any) -> Callable[[], None]:
        metadata = {"name": "robot", "labels": {"made-by": "engine"}}
        return lambda: kubernetes.core.v1.ServiceAccount("robot", metadata=metadata, opts=provider(**settings)) and None

    with pytest.raises(CommandError, match="already exists"):
        stack.up(program())
    stack.up(program(upsert_existing_objects=True))
    labels = kubectl.get("serviceaccount", "robot", "--namespace", namespace)["metadata"]["labels"]
    assert labels == {"made-by": "engine"}


def test_import_takes_over_an_object_as_it_is(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=1", "--namespace", namespace)
    uid = kubectl.get("configmap", "settings", "--namespace", namespace)["metadata"]["uid"]

    def program(identity: str | None) -> Callable[[], None]:
        def run() -> None:
            options = pulumi.ResourceOptions.merge(provider(), pulumi.ResourceOptions(import_=identity))
            metadata = {"name": "settings", "namespace": namespace}
            kubernetes.core.v1.ConfigMap("settings", metadata=metadata, data={"a": "1"}, opts=options)

        return run

    assert stack.up(program(f"{namespace}/settings"))["import"] == 1
    assert "update" not in stack.preview(program(None))
    assert kubectl.get("configmap", "settings", "--namespace", namespace)["metadata"]["uid"] == uid


def test_an_unknown_kind_is_refused_by_name(stack: Stack, provider: Provider) -> None:
    def program() -> None:
        kubernetes.apiextensions.CustomResource(
            "odd", api_version="nowhere.example/v1", kind="Nothing", metadata={"name": "odd"}, opts=provider()
        )

    with pytest.raises(CommandError, match=r"(?s)nowhere.example/v1.*Nothing|Nothing.*nowhere.example/v1"):
        stack.up(program)


def test_an_unreachable_cluster_previews_what_is_known_and_fails_to_change(
    stack: Stack, provider: Provider, cluster: Any
) -> None:
    server = "https://127.0.0.1:1"

    def program() -> None:
        kubeconfig = cluster.kubeconfig.read_text().replace(cluster.server, server)
        kubernetes.core.v1.ConfigMap("settings", data={"a": "1"}, opts=provider(kubeconfig=kubeconfig))

    assert stack.preview(program)["create"] == 3
    with pytest.raises(CommandError, match="unreachable"):
        stack.up(program)
