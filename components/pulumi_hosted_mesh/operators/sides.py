"""The two sides' parents, and names, labels and options of their objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import pulumi
from pulumi_kubernetes import meta

from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.vocabulary import HOSTED_CLUSTER_LABEL, managed_labels

C = TypeVar("C", ControlPlaneCluster, DataPlaneCluster)


@dataclass(frozen=True)
class Side(Generic[C]):
    """One side. name: the component's, prefix of resources' names. namespace: of its objects. parent: of its resources,
    a component of a type of its own: the guard and the policies read the side from it."""

    name: str
    namespace: str
    cluster: C
    parent: pulumi.Resource
    labels: Mapping[str, str]

    @classmethod
    def make(
        cls, type_: str, name: str, hosted_cluster: str, namespace: str, cluster: C, parent: pulumi.Resource
    ) -> Self:
        """Creates the parent. type_: its type token."""
        own = pulumi.ComponentResource(type_, name, {}, pulumi.ResourceOptions(parent=parent))
        own.register_outputs({})
        labels = {**managed_labels(cluster.role), HOSTED_CLUSTER_LABEL: hosted_cluster}
        return cls(name, namespace, cluster, own, labels)

    def options(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options of a resource that depends on `after`."""
        return self.cluster.options(self.parent, depends_on=after)

    def metadata(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        *,
        namespace: str | None = None,
    ) -> meta.v1.ObjectMetaArgs:
        """`metadata` of an object in the side's namespace, or in another one."""
        found = self.cluster_wide(name, labels, annotations)
        found.namespace = namespace or self.namespace
        return found

    def cluster_wide(
        self, name: str, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
    ) -> meta.v1.ObjectMetaArgs:
        """`metadata` of an object without a namespace."""
        return meta.v1.ObjectMetaArgs(
            name=name,
            labels={**self.labels, **(labels or {})},
            annotations=dict(annotations) if annotations else None,
        )
