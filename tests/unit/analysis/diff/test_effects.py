"""The meaning of changes in words, from two snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_analysis.diff.compare import compared
from hosted_mesh_analysis.diff.lines import of_effects
from hosted_mesh_analysis.diff.result import Cluster
from hosted_mesh_analysis.diff.snapshot import SnapshotResource, StackSnapshot
from hosted_mesh_analysis.diff.trees import Hidden, Why

DATA_PLANE = Cluster("data plane", "https://dp.example.com:6443")
LABELS = {"labels": {"hosted-mesh.io/mesh": "demo"}}
RULES = "rbac.authorization.k8s.io/v1"
KINDS = {
    "Service": "core/v1",
    "ConfigMap": "core/v1",
    "Namespace": "core/v1",
    "Deployment": "apps/v1",
    "ClusterRole": RULES,
    "RoleBinding": RULES,
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "AuthorizationPolicy": "security.istio.io/v1",
    "Gateway": "networking.istio.io/v1",
    "DNSEndpoint": "externaldns.k8s.io/v1alpha1",
}


def snapshot(kind: str, tree: dict[str, Any] | None, *others: SnapshotResource) -> StackSnapshot:
    found = [*others]
    if tree is not None:
        body = {"metadata": {"name": "one", "namespace": "shop", **LABELS}, **tree}
        found.append(SnapshotResource(f"kubernetes:{KINDS[kind]}:{kind}", "one", DATA_PLANE, body))
    return StackSnapshot({(f"{one.type}::{one.name}",): one for one in found}, {})


def said(kind: str, old: dict[str, Any] | None, new: dict[str, Any] | None, *others: SnapshotResource) -> list[str]:
    """The effects, without the last sentence, on the mesh and the data plane."""
    *found, last = of_effects(compared("dev", snapshot(kind, old, *others), snapshot(kind, new, *others)))
    assert last == "touches: mesh demo; data plane https://dp.example.com:6443"
    return found


def balancer(*ranges: str, kind: str = "LoadBalancer") -> dict[str, Any]:
    return {"spec": {"type": kind, "ports": [{"port": 15012}], "loadBalancerSourceRanges": list(ranges)}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (balancer(kind="ClusterIP"), balancer(), ["opens: Service shop/one, ports 15012, to every address"]),
        (balancer("10.0.0.0/8"), balancer(), ["opens: Service shop/one to every address: its source ranges are gone"]),
        (balancer(), balancer("10.0.0.0/8"), ["closes: Service shop/one to all addresses but 10.0.0.0/8"]),
        (
            balancer("10.0.0.0/8"),
            balancer("10.1.0.0/16"),
            ["opens: Service shop/one to 10.1.0.0/16", "closes: Service shop/one to 10.0.0.0/8"],
        ),
        (balancer(), None, ["closes: Service shop/one, ports 15012, from outside of the cluster"]),
        (
            balancer("10.0.0.0/8"),
            balancer("10.0.0.0/8") | {"metadata": {"name": "one", **LABELS, "namespace": "b"}},
            None,
        ),
    ],
)
def test_exposure(old: dict[str, Any], new: dict[str, Any] | None, expected: list[str] | None) -> None:
    found = said("Service", old, new)
    if expected is None:
        expected = ["replaces: Service b/one is deleted and made again because metadata.namespace changes"]
    assert found == expected


def rule(verbs: list[str], resource: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": [resource], "verbs": verbs}


def test_rights_that_open_and_close_are_named_by_verb() -> None:
    old, new = {"rules": [rule(["get", "list"], "pods")]}, {"rules": [rule(["get"], "pods"), rule(["get"], "secrets")]}
    assert said("ClusterRole", old, new) == [
        "opens: holders of ClusterRole shop/one may now: get secrets",
        "closes: holders of ClusterRole shop/one may no more: list pods",
    ]


def test_another_order_of_rights_is_no_effect() -> None:
    old, new = {"rules": [rule(["get", "list"], "pods")]}, {"rules": [rule(["list", "get"], "pods")]}
    assert said("ClusterRole", old, new) == []


def test_a_bindings_subjects_and_role() -> None:
    def bound(role: str, *names: str) -> dict[str, Any]:
        subjects = [{"kind": "ServiceAccount", "namespace": "shop", "name": name} for name in names]
        return {"roleRef": {"kind": "ClusterRole", "name": role}, "subjects": subjects}

    assert said("RoleBinding", bound("view", "a"), bound("view", "a", "b")) == [
        "opens: ServiceAccount shop/b get ClusterRole view (RoleBinding shop/one)"
    ]
    found = said("RoleBinding", bound("view", "a"), bound("admin", "a"))
    assert "opens: ServiceAccount shop/a get ClusterRole admin (RoleBinding shop/one)" in found
    assert "closes: ServiceAccount shop/a lose ClusterRole view (RoleBinding shop/one)" in found


def test_a_binding_without_subjects_takes_no_right_away() -> None:
    roles = [{"roleRef": {"kind": "ClusterRole", "name": name}} for name in ("view", "admin")]
    assert [text for text in said("RoleBinding", *roles) if not text.startswith("replaces")] == []


def webhook(policy: str) -> dict[str, Any]:
    selector = {"matchExpressions": [{"key": "istio.io/rev", "operator": "In", "values": ["demo"]}]}
    rules = [{"apiGroups": [""], "resources": ["pods"]}]
    hook = {"name": "a", "failurePolicy": policy, "namespaceSelector": selector, "rules": rules}
    return {"webhooks": [hook, {**hook, "name": "b"}]}


def test_webhooks_name_their_namespaces() -> None:
    spaces = [
        SnapshotResource(
            "kubernetes:core/v1:Namespace", name, DATA_PLANE, {"metadata": {"name": name, "labels": labels}}
        )
        for name, labels in (("a", {"istio.io/rev": "demo"}), ("b", {}), ("c", {"istio.io/rev": "demo"}))
    ]
    assert said("MutatingWebhookConfiguration", webhook("Ignore"), webhook("Fail"), *spaces) == [
        "touches: MutatingWebhookConfiguration shop/one of mesh demo: all of its webhooks are changed; they see every "
        "new Pod in namespaces with istio.io/rev In (demo) (2 of this stack: a, c)",
        "touches: MutatingWebhookConfiguration shop/one: failurePolicy Ignore becomes Fail",
    ]


def pods(image: str, name: str = "web") -> dict[str, Any]:
    return {"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": name, "image": image}]}}}}


def test_restarts() -> None:
    assert said("Deployment", pods("a:1"), pods("a:2")) == [
        "restarts: the Pods of Deployment shop/one restart, one after another"
    ]
    assert said("Deployment", pods("a:1", "discovery"), pods("a:2", "discovery")) == [
        "restarts: istiod of mesh demo (Deployment shop/one) restarts; its proxies connect again"
    ]
    more = pods("a:1")
    more["spec"]["replicas"] = 2
    assert said("Deployment", pods("a:1"), more) == []


def test_a_removed_namespace_takes_its_objects() -> None:
    assert said("Namespace", {}, None) == ["replaces: Namespace shop/one is removed, and every object in it with it"]


def test_policies_of_traffic() -> None:
    old, new = {"spec": {"action": "ALLOW"}}, {"spec": {"action": "DENY"}}
    assert said("AuthorizationPolicy", None, new) == [
        "closes: AuthorizationPolicy shop/one restricts traffic that it selects"
    ]
    assert said("AuthorizationPolicy", old, None) == ["opens: AuthorizationPolicy shop/one restricts traffic no more"]
    assert said("AuthorizationPolicy", old, new) == [
        "touches: AuthorizationPolicy shop/one changes the traffic that it permits"
    ]


def test_names_that_are_published_and_withdrawn() -> None:
    def named(name: str) -> dict[str, Any]:
        return {"spec": {"endpoints": [{"dnsName": name}]}}

    assert said("DNSEndpoint", named("a.example.com"), named("b.example.com")) == [
        "opens: DNSEndpoint shop/one publishes b.example.com",
        "closes: DNSEndpoint shop/one withdraws a.example.com",
    ]
    servers = [{"spec": {"servers": [{"hosts": [host]}]}} for host in ("a.example.com", "*")]
    assert said("Gateway", *servers) == [
        "opens: the name * leads to Gateway shop/one",
        "closes: the name a.example.com leads no more to Gateway shop/one",
    ]


def test_a_hidden_value_and_a_credential_are_in_no_sentence() -> None:
    token = "ghp_" + "a1B2" * 9
    hidden = Hidden(Why.SECRET, ["one", "two"])
    assert said("DNSEndpoint", {"spec": {"endpoints": [{"dnsName": hidden}]}}, {"spec": hidden}) == []
    text = "\n".join(said("DNSEndpoint", {}, {"spec": {"endpoints": [{"dnsName": token}]}}))
    assert "a sentence with a credential in it" in text
    assert token not in text
