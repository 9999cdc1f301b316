"""The application document: parts of an application, and the clusters of each."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, model_validator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.deployment import Names, distinct_names
from pulumi_hosted_mesh.spec.fields import (
    DnsLabel,
    FilePath,
    LabelValue,
    MeshName,
    Model,
    QualifiedName,
    Setter,
    Switch,
)

CLUSTER_WIDE: Final = frozenset(
    {
        "APIService",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "GatewayClass",
        "IngressClass",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)
"""Kinds without a namespace. They are a cluster's, not an application's."""


def manifest(value: dict[str, Any]) -> dict[str, Any]:
    """An object that may be placed. Raises RuleBrokenError, never with a value of it."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not all(
        isinstance(one, str) and one for one in (value.get("apiVersion"), value.get("kind"), name)
    ):
        raise RuleBrokenError("lacks apiVersion, kind or metadata.name", "Write it as `kubectl apply` reads it")
    for part in ("labels", "annotations"):
        if not isinstance(metadata.get(part) or {}, dict):
            raise RuleBrokenError(f"has metadata.{part} that are no mapping", "Write it as `kubectl apply` reads it")
    if not isinstance(metadata.get("namespace") or "", str):
        raise RuleBrokenError("has a metadata.namespace that is no text", "Put it in quotes")
    if value["kind"] in CLUSTER_WIDE:
        rule = f"is a {value['kind']}, which belongs to the whole cluster"
        raise RuleBrokenError(rule, "Leave it out, and let the cluster's owner make it")
    if value["kind"] == "Secret" and (value.get("data") or value.get("stringData")):
        rule = "is a Secret with its content, and documents are no place for one"
        raise RuleBrokenError(rule, "Leave it out, and make it by another program")
    return value


Manifest = Annotated[dict[str, Any], AfterValidator(manifest)]


class ApplicationPlacement(Model):
    """The clusters of a part: those listed, and those that have all of the labels."""

    names: Names = ()
    """Names of clusters."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels with their values. They must match a cluster, because a typing error would remove the part everywhere."""


class ApplicationPart(Model):
    """Manifests that go to the same clusters."""

    name: DnsLabel
    """Its name, unique."""
    files: tuple[FilePath, ...] = ()
    """YAML files with objects, relative to the document; also a chart's, rendered by `helm template`."""
    manifests: tuple[Manifest, ...] = ()
    """Objects, written here."""
    place: ApplicationPlacement
    """The clusters."""

    @model_validator(mode="after")
    def _has_objects(self) -> Self:
        if not self.files and not self.manifests:
            raise RuleBrokenError("has neither files nor manifests", "Add one")
        if not self.place.names and not self.place.labels:
            raise RuleBrokenError("place chooses no cluster", "Add names or labels")
        return self


class ApplicationCluster(Model):
    """A cluster that may get parts."""

    name: DnsLabel
    """Its name, unique."""
    labels: dict[QualifiedName, LabelValue] = {}
    """Labels for `place`."""
    cluster: ClusterReference | None = None
    """The cluster."""


def distinct_clusters(values: tuple[ApplicationCluster, ...]) -> tuple[ApplicationCluster, ...]:
    return distinct_names(values)


def distinct_parts(values: tuple[ApplicationPart, ...]) -> tuple[ApplicationPart, ...]:
    return distinct_names(values)


class Application(Model):
    """One application in several meshes: its parts, and the clusters of each."""

    setter = Setter.OWNER

    name: MeshName
    """Its name, the value of the label `hosted-mesh.io/application` of its objects."""
    namespace: DnsLabel
    """The namespace of objects without one. It must exist, with the labels for sidecars."""
    parts: Annotated[tuple[ApplicationPart, ...], AfterValidator(distinct_parts)]
    """Its parts."""
    clusters: Annotated[tuple[ApplicationCluster, ...], AfterValidator(distinct_clusters)]
    """All clusters. Their order has no meaning."""
    wait_until_ready: Switch = True
    """False: `pulumi up` does not wait for workloads and load balancers. For clusters without nodes."""
