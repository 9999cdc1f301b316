"""The bridge's namespace on the control plane, and names, labels and dependencies of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import pulumi
from pulumi_kubernetes import core, meta

from pulumi_hosted_mesh.clusters.adoption import make_namespace
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.vocabulary import managed_labels

Labels = Mapping[str, str]


@dataclass(frozen=True)
class BridgeNamespace:
    """The Namespace, and the common properties of its objects.

    prefix: of the resources' names in the program. name: of the Namespace. itself: the Namespace. parent: of the
    resources.
    """

    prefix: str
    name: str
    cluster: ControlPlaneCluster
    parent: pulumi.Resource
    itself: core.v1.Namespace

    @classmethod
    def make(cls, prefix: str, name: str, cluster: ControlPlaneCluster, *, parent: pulumi.Resource) -> Self:
        """Creates the Namespace."""
        metadata = meta.v1.ObjectMetaArgs(name=name, labels=managed_labels(cluster.role))
        itself = make_namespace(f"{prefix}-dns", metadata, cluster.options(parent))
        return cls(prefix, name, cluster, parent, itself)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of each object."""
        return managed_labels(self.cluster.role)

    def metadata(
        self, name: str, labels: Labels | None = None, annotations: Labels | None = None
    ) -> meta.v1.ObjectMetaArgs:
        """`metadata` of an object. labels: additional ones."""
        return meta.v1.ObjectMetaArgs(
            name=name,
            namespace=self.name,
            labels={**self.labels, **(labels or {})},
            annotations=None if annotations is None else dict(annotations),
        )

    def within(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options of a resource that depends on the Namespace, and on `after`."""
        return self.options(self.itself, *after)

    def options(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options of a resource that depends on `after`, which depend on the Namespace."""
        return self.cluster.options(self.parent, depends_on=after)

    def config_map(
        self, resource: str, name: str, data: Mapping[str, str], labels: Labels | None = None
    ) -> core.v1.ConfigMap:
        """Creates a ConfigMap. resource: its name in the program, after the prefix. labels: additional ones."""
        return core.v1.ConfigMap(
            f"{self.prefix}-{resource}", metadata=self.metadata(name, labels), data=data, opts=self.within()
        )

    def secret(
        self, resource: str, name: str, data: Mapping[str, pulumi.Input[str]], labels: Labels | None = None
    ) -> core.v1.Secret:
        """Creates a Secret. `data` is a Pulumi secret too. resource, labels: as in `config_map`."""
        files = {key: pulumi.Output.secret(value) for key, value in data.items()}
        return core.v1.Secret(
            f"{self.prefix}-{resource}", metadata=self.metadata(name, labels), string_data=files, opts=self.within()
        )
