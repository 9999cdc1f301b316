"""The compiler's result: objects per cluster, each with its intents, and the parts of federation documents. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.inventory import InventoryCluster
from pulumi_hosted_mesh.vocabulary import DATA_PLANE, PREFIX, labels

Manifest = dict[str, Any]
NETWORKING: Final = "networking.istio.io/v1"
SECURITY: Final = "security.istio.io/v1"
GATEWAY_API: Final = "gateway.networking.k8s.io/v1"
INTENT_ANNOTATION: Final = f"{PREFIX}/intent"
"""The intents of an object, separated by commas."""
FIELD_ANNOTATION: Final = f"{PREFIX}/intent-field"
"""The field of the intent that an object comes from."""
RANGES_ANNOTATION: Final = f"{PREFIX}/nat-ranges"
"""On a Gateway behind a NAT box: the address ranges that the box permits."""
PROJECT_LABEL: Final = f"{PREFIX}/intents"
"""The project of the intents."""
LONGEST_LABEL: Final = 63


@dataclass(frozen=True)
class Origin:
    """The source of an object. intents: names. field: path in the intent."""

    intents: tuple[str, ...]
    field: str


@dataclass(frozen=True)
class Pending:
    """An intent that cannot be compiled yet."""

    intent: str
    reason: str


@dataclass
class Compiled:
    """objects: by cluster, in a fixed order. files: rendered texts by path, such as a NAT box's rules. exports, imports
    and egress: by mesh, as in a federation document's peers, in camelCase; beside exports and imports the federation's
    name.
    """

    objects: dict[str, list[Manifest]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    exports: dict[str, list[tuple[str, Manifest]]] = field(default_factory=dict)
    imports: dict[str, list[tuple[str, Manifest]]] = field(default_factory=dict)
    egress: dict[str, Manifest] = field(default_factory=dict)
    pending: list[Pending] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


def name_of(project: str, intent: str, part: str = "") -> str:
    """An object's name: `<project>-<intent>`, and a part; with a hash where it would be too long for a label."""
    name = "-".join(one for one in (project, intent, part) if one)
    if len(name) <= LONGEST_LABEL:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_LABEL - 9].rstrip('-.')}-{digest}"


def manifest(
    cluster: InventoryCluster,
    project: str,
    api: str,
    kind: str,
    namespace: str,
    name: str,
    spec: Mapping[str, Any],
    origin: Origin,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """One object with labels and provenance."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**labels(cluster.mesh, DATA_PLANE), PROJECT_LABEL: project},
            "annotations": {
                INTENT_ANNOTATION: ",".join(origin.intents),
                FIELD_ANNOTATION: origin.field,
                **(annotations or {}),
            },
        },
        "spec": dict(spec),
    }


def intents_of(one: Manifest) -> tuple[str, ...]:
    """The intents of an object; none of one that others made."""
    written = one["metadata"].get("annotations", {}).get(INTENT_ANNOTATION, "")
    return tuple(name for name in written.split(",") if name)


def key_of(one: Manifest) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]


def ordered(objects: Iterable[Manifest]) -> list[Manifest]:
    """Objects in an order that does not depend on the document's."""
    return sorted(objects, key=key_of)
