"""The bridge's namespace on the control plane: how all that is made there is named, labelled, and ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import pulumi
from pulumi_kubernetes import core, meta

from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.vocabulary import managed_labels

Labels = Mapping[str, str]


@dataclass(frozen=True)
class BridgeNamespace:
    """A Namespace that is made, and what its objects have in common.

    prefix: of the resources' names in the program. name: of the Namespace, which is `itself`. parent: of the resources.
    """

    prefix: str
    name: str
    cluster: ControlPlaneCluster
    parent: pulumi.Resource
    itself: core.v1.Namespace

    @classmethod
    def make(cls, prefix: str, name: str, cluster: ControlPlaneCluster, *, parent: pulumi.Resource) -> Self:
        """Makes the Namespace."""
        metadata = meta.v1.ObjectMetaArgs(name=name, labels=managed_labels(cluster.role))
        itself = core.v1.Namespace(f"{prefix}-dns", metadata=metadata, opts=cluster.options(parent))
        return cls(prefix, name, cluster, parent, itself)

    @property
    def labels(self) -> dict[str, str]:
        """Of each object."""
        return managed_labels(self.cluster.role)

    def metadata(
        self, name: str, labels: Labels | None = None, annotations: Labels | None = None
    ) -> meta.v1.ObjectMetaArgs:
        """Of an object. labels: more of them."""
        return meta.v1.ObjectMetaArgs(
            name=name,
            namespace=self.name,
            labels={**self.labels, **(labels or {})},
            annotations=None if annotations is None else dict(annotations),
        )

    def within(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options of a resource that comes after the Namespace, and after others."""
        return self.options(self.itself, *after)

    def options(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options of a resource that comes after others, which come after the Namespace."""
        return self.cluster.options(self.parent, depends_on=after)

    def config_map(
        self, resource: str, name: str, data: Mapping[str, str], labels: Labels | None = None
    ) -> core.v1.ConfigMap:
        """Makes a ConfigMap. resource: its name in the program, after the prefix. labels: more of them."""
        return core.v1.ConfigMap(
            f"{self.prefix}-{resource}", metadata=self.metadata(name, labels), data=data, opts=self.within()
        )

    def secret(
        self, resource: str, name: str, data: Mapping[str, pulumi.Input[str]], labels: Labels | None = None
    ) -> core.v1.Secret:
        """Makes a Secret; all of `data` is secret in the program too. resource, labels: as of a ConfigMap."""
        files = {key: pulumi.Output.secret(value) for key, value in data.items()}
        return core.v1.Secret(
            f"{self.prefix}-{resource}", metadata=self.metadata(name, labels), string_data=files, opts=self.within()
        )
