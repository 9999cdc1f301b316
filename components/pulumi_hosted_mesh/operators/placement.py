"""Nodes of operators' Pods: admission policies of the hosted cluster, as plain data.

A Subscription's own nodeSelector is too late: OLM applies it after the CSV exists, so the first Pods run without it
(status.installedCSV, pkg/controller/install). A MutatingAdmissionPolicy changes the Deployment before it is stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.spec.operators import OperatorPlacement, Operators, OperatorToleration

Manifest = dict[str, Any]
OWNER: Final = "olm.owner"
"""Label of a CSV's Deployments: the CSV's name (pkg/lib/ownerutil)."""
UNPACK: Final = "operatorframework.io/bundle-unpack-ref"
CATALOG: Final = "olm.catalogSource"
_POD_OF_TEMPLATE: Final = ("object.spec.template.spec", "/spec/template/spec")
_POD: Final = ("object.spec", "/spec")


@dataclass(frozen=True)
class PlacementPolicy:
    """A policy with a binding of the same name."""

    name: str
    spec: Manifest

    @property
    def binding(self) -> Manifest:
        """`spec` of the binding."""
        return {"policyName": self.name}


def policies(document: Operators) -> list[PlacementPolicy]:
    """The policies of a document; none without a placement."""
    found = []
    special = [one for one in document.subscriptions if one.placement and one.placement.is_set]
    ours = [_is_of(one.namespace, one.package or one.name) for one in special]
    for one, condition in zip(special, ours, strict=True):
        assert one.placement
        name = f"hosted-mesh-operators-{one.namespace}-{one.name}"
        found.append(PlacementPolicy(name, _of_deployments(one.placement, [condition])))
    if document.placement.is_set:
        others = [f"!({condition})" for condition in ours]
        found.append(PlacementPolicy("hosted-mesh-operators", _of_deployments(document.placement, others)))
        jobs = _spec(document.placement, "batch", "jobs", ["CREATE"], UNPACK, _POD_OF_TEMPLATE)
        found.append(PlacementPolicy("hosted-mesh-operators-unpack", jobs))
        pods = _spec(document.placement, "", "pods", ["CREATE"], CATALOG, _POD)
        found.append(PlacementPolicy("hosted-mesh-operators-catalogs", pods))
    return found


def _is_of(namespace: str, package: str) -> str:
    """CEL: whether a Deployment is of a package's CSV, which is named `<package>.<version>`."""
    owner = f'object.metadata.labels["{OWNER}"]'
    return f"object.metadata.namespace == {json.dumps(namespace)} && {owner}.startsWith({json.dumps(f'{package}.')})"


def _of_deployments(placement: OperatorPlacement, conditions: Sequence[str]) -> Manifest:
    spec = _spec(placement, "apps", "deployments", ["CREATE", "UPDATE"], OWNER, _POD_OF_TEMPLATE)
    if conditions:
        spec["matchConditions"] = [
            {"name": f"placement-{position}", "expression": one} for position, one in enumerate(conditions)
        ]
    return spec


def _spec(
    placement: OperatorPlacement, group: str, resource: str, operations: list[str], label: str, pod: tuple[str, str]
) -> Manifest:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": [resource]}
    return {
        "matchConstraints": {
            "objectSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
            "resourceRules": [rule],
        },
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        # Not an apply configuration: the lists of a Pod's spec are atomic, which an apply configuration must not set.
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression(placement, *pod)}}],
    }


def expression(placement: OperatorPlacement, field: str, path: str) -> str:
    """CEL of the patches. field, path: the Pod's spec in CEL and in the patch. A second run changes nothing."""
    parts = []
    if placement.node_selector:
        each = [
            _patch(f'"{path}/nodeSelector/" + jsonpatch.escapeKey({json.dumps(key)})', json.dumps(value))
            for key, value in sorted(placement.node_selector.items())
        ]
        whole = _patch(f'"{path}/nodeSelector"', json.dumps(dict(sorted(placement.node_selector.items()))))
        parts.append(f"(has({field}.nodeSelector) ? [{', '.join(each)}] : [{whole}])")
    if placement.tolerations:
        given = [toleration(one) for one in placement.tolerations]
        whole = _patch(f'"{path}/tolerations"', json.dumps(given))
        added = [_patch(f'"{path}/tolerations/-"', json.dumps(one)) for one in given]
        each = [
            f"({_has(one, field)} ? [] : [{patch}])" for one, patch in zip(placement.tolerations, added, strict=True)
        ]
        parts.append(f"(has({field}.tolerations) ? {' + '.join(each)} : [{whole}])")
    return " + ".join(parts)


def _patch(path: str, value: str) -> str:
    return f'JSONPatch{{op: "add", path: {path}, value: {value}}}'


def toleration(one: OperatorToleration) -> dict[str, str]:
    """A Pod's toleration."""
    found = {"key": one.key, "operator": one.operator.value, "value": one.value, "effect": one.effect or ""}
    return {name: str(value) for name, value in found.items() if value}


def _has(one: OperatorToleration, field: str) -> str:
    """CEL: whether the Pod has a toleration of this key and effect."""
    key = f"has(t.key) && t.key == {json.dumps(one.key)}"
    effect = f'(has(t.effect) ? t.effect : "") == {json.dumps(one.effect or "")}'
    return f"{field}.tolerations.exists(t, {key} && {effect})"
