"""Pods that several injection webhook configurations select: each of them injects the same Pod. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from pulumi_hosted_mesh.operations.discovery.selectors import selects
from pulumi_hosted_mesh.vocabulary import INJECTION_LABEL, MESH_LABEL, REVISION_LABEL

Manifest = Mapping[str, Any]
Labels = Mapping[str, str]
INJECTOR = "sidecar-injector.istio.io"
INJECTION_REQUESTED = {"sidecar.istio.io/inject": "true"}
FIX = "Give the revisions of one of the two meshes unique names, and label its namespaces `istio.io/rev` with them"


def overlaps(configurations: Sequence[Manifest]) -> Iterator[tuple[Manifest, Manifest, str]]:
    """Each pair of configurations that select the same Pods, with a description of these, by Istio's selector labels.

    configurations: MutatingWebhookConfigurations of any owner.
    """
    names = sorted({name for one in configurations for name in _names(one)})
    revisions = [{REVISION_LABEL: name} for name in names]
    cases = list(product([{INJECTION_LABEL: "enabled"}, *revisions, {}], [{}, *revisions, INJECTION_REQUESTED]))
    selected = [(one, [case for case in cases if _selects(one, *case)]) for one in configurations]
    for (one, mine), (other, others) in combinations(selected, 2):
        if shared := [case for case in mine if case in others]:
            yield one, other, _words(*shared[0])


def called(configuration: Manifest) -> str:
    """Name, revision and mesh of a configuration."""
    metadata = configuration["metadata"]
    labels = metadata.get("labels") or {}
    mesh = f" of mesh {labels[MESH_LABEL]}" if MESH_LABEL in labels else ""
    return f"{metadata['name']} (revision {labels.get(REVISION_LABEL, 'default')}{mesh})"


def _injectors(configuration: Manifest) -> list[Manifest]:
    return [one for one in configuration.get("webhooks") or [] if INJECTOR in str(one.get("name"))]


def _names(configuration: Manifest) -> Iterator[str]:
    """Values of the revision label in the selectors."""
    for hook, selector in product(_injectors(configuration), ("namespaceSelector", "objectSelector")):
        for one in (hook.get(selector) or {}).get("matchExpressions") or []:
            if one["key"] == REVISION_LABEL and one["operator"] == "In":
                yield from one["values"]


def _selects(configuration: Manifest, namespace: Labels, pod: Labels) -> bool:
    return any(
        selects(hook.get("namespaceSelector") or {}, namespace) and selects(hook.get("objectSelector") or {}, pod)
        for hook in _injectors(configuration)
    )


def _words(namespace: Labels, pod: Labels) -> str:
    labels = [
        f"{title} labelled {key}: {value}"
        for title, one in (("namespaces", namespace), ("Pods", pod))
        for key, value in one.items()
    ]
    return " with ".join(labels) or "all Pods"
