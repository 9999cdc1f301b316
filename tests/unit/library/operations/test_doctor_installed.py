"""Objects of a mesh in the data plane that are missing, or that others changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import pytest
from pulumi_hosted_mesh.boundary.endpoint import ControlPlaneEndpoint
from pulumi_hosted_mesh.data_plane import webhooks
from pulumi_hosted_mesh.data_plane.rights import cluster_rules, namespace_rules
from pulumi_hosted_mesh.operations.doctor.installed import (
    InstalledObject,
    InstalledObservation,
    installed,
    installed_objects,
)
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.data_plane import Webhooks
from pulumi_hosted_mesh.spec.features import Features, Rule
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE_CLUSTERS_ANNOTATION, MESH_LABEL

from tests.unit.library.operations.webhooks import ENDPOINT

Manifest = dict[str, Any]
WEBHOOKS = ("webhookconfiguration",)
NAMESPACE, CONFIG, BINDING, VALIDATION = "namespace", "configmap", "rolebinding", "validatingwebhookconfiguration"
WIDE, NARROW = cluster_rules(ENDPOINT.mesh, Features()), namespace_rules(Features())


def written(rule: Rule) -> Manifest:
    found = {"apiGroups": [rule.group], "resources": [*rule.resources], "verbs": [*rule.verbs]}
    return {**found, "resourceNames": [*rule.names]} if rule.names else found


def healthy(one: InstalledObject) -> Manifest:
    """The object as the API server returns it: webhooks as the library makes them, with the API server's additions."""
    for configuration in webhooks.manifests(ControlPlaneEndpoint(ENDPOINT, cast("Any", None)), Webhooks(), ""):
        if configuration["metadata"]["name"] == one.name:
            return copy.deepcopy(configuration)
    subject = {"kind": "ServiceAccount", "name": "istiod", "namespace": "mesh-demo"}
    metadata = {"labels": {MESH_LABEL: ENDPOINT.mesh}, "annotations": {CONTROL_PLANE_CLUSTERS_ANNOTATION: "*"}}
    rules = [written(rule) for rule in (WIDE if one.kind == "clusterrole" else NARROW)]
    data = {"mesh": f"trustDomain: {ENDPOINT.trust_domain}\n"}
    return {"metadata": metadata, "data": data, "rules": rules, "subjects": [subject]}


def look(kind: str = "", change: Callable[[Manifest], object] | None = None, **how: Any) -> list[Verdict]:
    """Verdicts where the object of a kind is changed, or absent without a change."""
    found: list[tuple[InstalledObject, Manifest | None]] = []
    for one in installed_objects(ENDPOINT):
        manifest: Manifest | None = healthy(one)
        if kind and (one.kind.split()[-1] == kind or (kind in WEBHOOKS and one.kind.endswith(kind))):
            manifest = change and manifest
            if change and manifest:
                change(manifest)
        found.append((one, manifest))
    return list(installed(ENDPOINT, InstalledObservation(found, **how)))


def test_untouched_objects_are_one_line() -> None:
    (only,) = look()
    assert (only.cause, only.seen) == (None, f"{len(list(installed_objects(ENDPOINT)))} as the library writes them")


@pytest.mark.parametrize("kind", ["namespace", "serviceaccount", "role", "rolebinding", "clusterrole", "configmap"])
def test_a_missing_object_is_named_with_its_stack(kind: str) -> None:
    found = look(kind)
    assert {one.cause for one in found} == {"missing-object"}
    assert any(one.check.split()[-2] == kind for one in found)
    assert all("`pulumi up --refresh` of the stack" in one.fix for one in found)


def test_a_missing_webhook_is_another_checks() -> None:
    assert [one.cause for one in look("webhookconfiguration")] == [None]


def hook(key: str, value: object) -> Callable[[Manifest], object]:
    return lambda one: one["webhooks"][0].update({key: value})


EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
CHANGES: dict[str, tuple[str, Callable[[Manifest], object], str]] = {
    "another subject": (
        BINDING,
        lambda one: one["subjects"][0].update(name="other"),
        "subjects are ServiceAccount other",
    ),
    "one more subject": (BINDING, lambda one: one["subjects"].append({"kind": "User", "name": "eve"}), "User eve"),
    "no subject": (BINDING, lambda one: one.update(subjects=None), "subjects are nobody"),
    "a right less": ("clusterrole", lambda one: one["rules"].pop(0), "rules lack list namespaces"),
    "a right more": ("clusterrole", lambda one: one["rules"].append(EVERYTHING), "rules also have * *.*"),
    "no rights": ("role", lambda one: one.update(rules=None), "rules lack get configmaps"),
    "other content": (CONFIG, lambda one: one["data"].update(mesh="trustDomain: x\n"), "data.mesh is another one"),
    "label": (NAMESPACE, lambda one: one["metadata"].update(labels={}), f"the label {MESH_LABEL} is not"),
    "annotation": (NAMESPACE, lambda one: one["metadata"].update(annotations={}), "controlPlaneClusters is missing"),
    "no webhook": (VALIDATION, lambda one: one.update(webhooks=[]), "webhooks rev.validation.istio.io, validation"),
    "fails open": (
        VALIDATION,
        hook("failurePolicy", "Ignore"),
        "settings failurePolicy=Ignore,timeoutSeconds=10 in place of failurePolicy=Fail,timeoutSeconds=10",
    ),
    "another timeout": (VALIDATION, hook("timeoutSeconds", 1), "timeoutSeconds=1 in place"),
    "other selector": (VALIDATION, hook("objectSelector", {"matchLabels": {"a": "b"}}), "other objectSelector"),
    "other rules": (VALIDATION, hook("rules", []), "other rules"),
}


@pytest.mark.parametrize(("kind", "change", "seen"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_named(kind: str, change: Callable[[Manifest], object], seen: str) -> None:
    found = [one for one in look(kind, change) if not one.ok]
    assert {one.cause for one in found} == {"changed-object"}
    assert all(seen in one.seen for one in found), found


HARMLESS: dict[str, tuple[str, Callable[[Manifest], object]]] = {
    "a status": (NAMESPACE, lambda one: one.update(status={"phase": "Active"})),
    "a label of others": (NAMESPACE, lambda one: one["metadata"]["labels"].update(team="a")),
    "a granted feature": (
        "clusterrole",
        lambda one: one.update(rules=[written(rule) for rule in cluster_rules("demo", Features(gateway_api=True))]),
    ),
    "an earlier version's webhooks": (VALIDATION, lambda one: one["metadata"].pop("annotations")),
}


@pytest.mark.parametrize(("kind", "change"), HARMLESS.values(), ids=HARMLESS)
def test_others_may_write_their_own_fields(kind: str, change: Callable[[Manifest], object]) -> None:
    assert [one.cause for one in look(kind, change)] == [None]


def test_a_fault_of_the_account_is_reported_once() -> None:
    found = [(one, None if one.kind.split()[-1] == "role" else healthy(one)) for one in installed_objects(ENDPOINT)]
    reported = list(installed(ENDPOINT, InstalledObservation(found), account_is_faulty=True))
    assert [one.cause for one in reported] == [None]
    assert reported[0].seen == f"{len(found) - 5} as the library writes them"


def test_unreadable_kinds_are_a_notice() -> None:
    found = look(forbidden=("clusterrole",))
    assert [(one.cause, one.ok) for one in found] == [("not-looked-at", True), (None, True)]
