"""Collector and Prometheus in one cluster, in a namespace of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import pulumi
from pulumi_kubernetes import apps, core, meta, networking

from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.observability import control_objects as objects
from pulumi_hosted_mesh.observability import dashboards
from pulumi_hosted_mesh.spec.observability import Observability, Placement
from pulumi_hosted_mesh.vocabulary import CONTROL_PLANE, SKIP_AWAIT_ANNOTATION, labels, tenant_labels


@dataclass
class Parts:
    """The namespace with its NetworkPolicies, and the parts that are placed in this cluster."""

    prefix: str
    document: Observability
    cluster: Cluster
    parent: pulumi.Resource
    before: list[pulumi.Resource] = field(default_factory=list)

    @classmethod
    def make(cls, prefix: str, document: Observability, cluster: Cluster, *, parent: pulumi.Resource) -> Self:
        """Creates the namespace. prefix: of the resources' names in the program."""
        found = cls(prefix, document, cluster, parent)
        found.before = [
            core.v1.Namespace(
                f"{prefix}-observability",
                metadata=meta.v1.ObjectMetaArgs(name=document.own_namespace, labels=found._labels),
                opts=cluster.options(parent),
            )
        ]
        for name, spec in objects.network_policies(document).items():
            networking.v1.NetworkPolicy(
                f"{prefix}-{name}", metadata=found.metadata(name), spec=spec, opts=found.options()
            )
        return found

    def server_secret(self, files: pulumi.Output[dict[str, str]]) -> None:
        """The collector's certificate and key."""
        secret = core.v1.Secret(
            f"{self.prefix}-collector-server",
            metadata=self.metadata(objects.SERVER_SECRET),
            string_data=files,
            opts=self.options(),
        )
        self.before.append(secret)

    def collector(self) -> None:
        """The collector and its Services, if it is placed here."""
        document = self.document
        if document.collector.placement is not self._placement:
            return
        config = self.config_map(objects.COLLECTOR, objects.collector_files(document))
        apps.v1.Deployment(
            f"{self.prefix}-collector",
            metadata=self.metadata(objects.COLLECTOR, self.waits),
            spec=objects.collector_deployment(document),
            opts=self.options(config),
        )
        core.v1.Service(
            f"{self.prefix}-collector",
            metadata=self.metadata(objects.COLLECTOR, {SKIP_AWAIT_ANNOTATION: "true"}),
            spec=objects.collector_service(document),
            opts=self.options(),
        )
        if exposed := objects.exposed_service(document):
            annotations, spec = exposed
            core.v1.Service(
                f"{self.prefix}-collector-exposed",
                metadata=self.metadata(f"{objects.COLLECTOR}-exposed", annotations),
                spec=spec,
                opts=self.options(),
            )

    def prometheus(self) -> None:
        """Prometheus, if it is placed here."""
        document = self.document
        if document.prometheus.placement is not self._placement:
            return
        config = self.config_map(objects.PROMETHEUS, objects.prometheus_files(document))
        if document.prometheus.dashboard:
            self.config_map("dashboard", {dashboards.FILE.name: dashboards.dashboard()}, {dashboards.LABEL: "1"})
        service = core.v1.Service(
            f"{self.prefix}-prometheus",
            metadata=self.metadata(objects.PROMETHEUS, {SKIP_AWAIT_ANNOTATION: "true"}),
            spec=objects.prometheus_service(),
            opts=self.options(),
        )
        apps.v1.StatefulSet(
            f"{self.prefix}-prometheus",
            metadata=self.metadata(objects.PROMETHEUS, self.waits),
            spec=objects.prometheus_set(document),
            opts=self.options(config, service),
        )

    @property
    def _placement(self) -> Placement:
        return Placement(self.cluster.role)

    @property
    def _labels(self) -> dict[str, str]:
        own = {} if self.cluster.role != CONTROL_PLANE else tenant_labels(self.document.tenant)
        return {**labels(self.document.mesh, self.cluster.role), **own}

    @property
    def waits(self) -> dict[str, str]:
        """Annotations of an object with Pods."""
        return {} if self.document.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}

    def metadata(
        self,
        name: str,
        annotations: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
        *,
        namespace: str | None = None,
    ) -> meta.v1.ObjectMetaArgs:
        """Metadata of an object in the namespace, or in another one. more: labels beside the mesh's."""
        return meta.v1.ObjectMetaArgs(
            name=name,
            namespace=namespace or self.document.own_namespace,
            labels={**self._labels, **(more or {})},
            annotations=dict(annotations) if annotations else None,
        )

    def options(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options of an object in the namespace. after: its further dependencies."""
        return self.cluster.options(self.parent, depends_on=[*self.before, *after])

    def config_map(
        self, name: str, files: Mapping[str, Any], more: Mapping[str, str] | None = None
    ) -> core.v1.ConfigMap:
        """A ConfigMap in the namespace. more: labels beside the mesh's."""
        metadata = self.metadata(name, more=more)
        return core.v1.ConfigMap(f"{self.prefix}-{name}", metadata=metadata, data=dict(files), opts=self.options())
