"""Objects on the control plane: the hosted cluster's namespace with OLM, packageserver and catalogs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pulumi
from pulumi_kubernetes import apps, core, networking, policy

from pulumi_hosted_mesh.charts.service_wait import service_wait
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.operators import manifests, upgrade_gate
from pulumi_hosted_mesh.operators.data_plane_objects import Credential
from pulumi_hosted_mesh.operators.serving_certificate import ServingCertificate
from pulumi_hosted_mesh.operators.sides import Side
from pulumi_hosted_mesh.spec.operators import OperatorCatalog, Operators
from pulumi_hosted_mesh.vocabulary import READ_AT_START_ANNOTATION, SKIP_AWAIT_ANNOTATION

Hosting = Side[ControlPlaneCluster]


@dataclass(frozen=True)
class HostingNamespace:
    """The hosted cluster's namespace. first: dependencies of its Pods: the namespace's limits."""

    document: Operators
    side: Hosting
    itself: core.v1.Namespace
    first: Sequence[pulumi.Resource]

    @classmethod
    def make(cls, document: Operators, side: Hosting) -> Self:
        """Creates the namespace, its quota and its NetworkPolicies."""
        itself = core.v1.Namespace(
            f"{side.name}-namespace",
            metadata=side.cluster_wide(
                side.namespace, manifests.RESTRICTED, upgrade_gate.version_annotations(document)
            ),
            opts=side.options(),
        )
        quota = core.v1.ResourceQuota(
            f"{side.name}-quota",
            metadata=side.metadata("operators", annotations={SKIP_AWAIT_ANNOTATION: "true"}),
            spec={"hard": manifests.quota_limits(document)},
            opts=side.options(itself),
        )
        network = [
            networking.v1.NetworkPolicy(
                f"{side.name}-network-{name}", metadata=side.metadata(name), spec=spec, opts=side.options(itself)
            )
            for name, spec in manifests.network_policies(document).items()
        ]
        return cls(document, side, itself, [quota, *network])

    def olm(self, credentials: Mapping[str, Credential], kinds: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Creates olm-operator and catalog-operator, each with its kubeconfig. kinds: OLM's definitions."""
        pods = {
            manifests.OLM_OPERATOR: manifests.olm_operator_pod(self.document),
            manifests.CATALOG_OPERATOR: manifests.catalog_operator_pod(self.document),
        }
        return [
            self.run(
                name,
                pod,
                [self.secret(name, {manifests.KUBECONFIG: credentials[name].kubeconfig})],
                after=kinds,
                alone=True,
            )
            for name, pod in pods.items()
        ]

    def package_server(
        self, credential: Credential, authority: pulumi.Input[str | None], serving: ServingCertificate
    ) -> tuple[pulumi.Resource, core.v1.Service]:
        """Creates packageserver with its Service. authority: PEM that verifies the hosted cluster's API server."""
        document, side, name = self.document, self.side, manifests.PACKAGE_SERVER
        files = {"token": credential.token, "ca.crt": authority, "namespace": document.namespace}
        keys = {"tls.crt": serving.certificate, "tls.key": serving.private_key}
        read = [self.secret(name, files), self.secret(manifests.SERVING_SECRET, keys)]
        replicas = document.package_server.replicas
        deployment = self.run(name, manifests.package_server_pod(document), read, replicas=replicas)
        waits = service_wait("LoadBalancer", ready=document.wait_until_ready)
        service = core.v1.Service(
            f"{side.name}-{name}",
            metadata=side.metadata(name, annotations={**manifests.package_service_annotations(document), **waits}),
            spec=manifests.package_service(document),
            opts=side.options(*self.first),
        )
        if replicas > 1:
            policy.v1.PodDisruptionBudget(
                f"{side.name}-{name}",
                metadata=side.metadata(name, annotations={SKIP_AWAIT_ANNOTATION: "true"}),
                spec=manifests.disruption_budget(),
                opts=side.options(self.itself),
            )
        return deployment, service

    def catalogs(self) -> list[pulumi.Resource]:
        """Creates the served catalogs."""
        return [self._catalog(one) for one in self.document.catalogs if one.is_served]

    def _catalog(self, catalog: OperatorCatalog) -> pulumi.Resource:
        name, labels = manifests.catalog_name(catalog), {manifests.CATALOG_LABEL: catalog.name}
        read: list[core.v1.ConfigMap] = []
        if catalog.content is not None:
            read.append(
                core.v1.ConfigMap(
                    f"{self.side.name}-{name}",
                    metadata=self.side.metadata(name, labels),
                    data={manifests.CATALOG_FILE: catalog.content},
                    opts=self.side.options(self.itself),
                )
            )
        deployment = self.run(
            name, manifests.catalog_pod(self.document, catalog), read, labels, content=catalog.content
        )
        core.v1.Service(
            f"{self.side.name}-{name}",
            metadata=self.side.metadata(name, labels, {SKIP_AWAIT_ANNOTATION: "true"}),
            spec={**manifests.catalog_service(), "selector": {manifests.APP: name}},
            opts=self.side.options(*self.first),
        )
        return deployment

    def secret(self, name: str, files: Mapping[str, pulumi.Input[Any]]) -> core.v1.Secret:
        """A Secret for one program."""
        return core.v1.Secret(
            f"{self.side.name}-secret-{name}",
            metadata=self.side.metadata(name),
            string_data={key: pulumi.Output.secret(value) for key, value in files.items()},
            opts=self.side.options(self.itself),
        )

    def run(
        self,
        name: str,
        pod: manifests.Spec,
        read: Sequence[core.v1.ConfigMap | core.v1.Secret],
        labels: Mapping[str, str] | None = None,
        *,
        replicas: int = 1,
        after: Sequence[pulumi.Resource] = (),
        alone: bool = False,
        content: str | None = None,
    ) -> pulumi.Resource:
        """A Deployment. read: objects that its Pods read at start: a change replaces the Pods. content: of a ConfigMap.

        after: other dependencies. alone: at most one Pod at a time.
        """
        started_with: pulumi.Input[str]
        if content is not None:
            started_with = hashlib.sha256(content.encode()).hexdigest()[:16]
        else:
            versions = pulumi.Output.all(*(one.metadata.apply(_version) for one in read)).apply("-".join)
            started_with = pulumi.Output.unsecret(versions)
        waits = None if self.document.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}
        own = {**self.side.labels, **(labels or {})}
        spec = manifests.deployment(
            name, pod, own, {READ_AT_START_ANNOTATION: started_with}, replicas=replicas, alone=alone
        )
        made: pulumi.Resource = apps.v1.Deployment(
            f"{self.side.name}-{name}",
            metadata=self.side.metadata(name, labels, waits),
            spec=spec,
            opts=self.side.options(*self.first, *read, *after),
        )
        return made


def _version(metadata: Any) -> str:
    """Changes with the object, and reveals none of its content."""
    return str(metadata.resource_version or "")
