"""A Deployment for each reader and each publisher, with its Lease and PodDisruptionBudget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import pulumi
from pulumi_kubernetes import apps, core, networking

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.election import election, rights
from pulumi_hosted_mesh.dns.identities import Identity
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace, Labels
from pulumi_hosted_mesh.dns.own_records import OwnRecords
from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.spec.dns import DnsBridge, Edge
from pulumi_hosted_mesh.vocabulary import READ_AT_START_ANNOTATION, SKIP_AWAIT_ANNOTATION


@dataclass(frozen=True)
class Workloads:
    """Creates the workloads. source: the sidecar's ConfigMap or none. shared: dependencies of each Deployment.

    An annotation of the Pods contains the versions of objects that Pods read at start, so a change replaces the Pods.
    """

    bridge: DnsBridge
    namespace: BridgeNamespace
    source: Sequence[core.v1.ConfigMap]
    shared: Sequence[pulumi.Resource]

    @classmethod
    def prepared(cls, bridge: DnsBridge, namespace: BridgeNamespace) -> Self:
        """Creates the objects that all workloads share."""
        network = networking.v1.NetworkPolicy(
            f"{namespace.prefix}-network",
            metadata=namespace.metadata("dns-bridge"),
            spec=manifests.network_policy(),
            opts=namespace.within(),
        )
        source = []
        if not bridge.images.sidecar:
            source.append(namespace.config_map("sidecar", manifests.SIDECAR, manifests.sidecar_source()))
        return cls(bridge, namespace, source, [*rights(namespace), network, *source])

    def reader(self, edge: Edge, pairs: Sequence[Pair], kubeconfig: core.v1.Secret) -> None:
        """Creates the reader of an edge. pairs: the edge's."""
        labels = manifests.edge_labels(edge.name)
        config = self.namespace.config_map(
            f"sidecar-{edge.name}",
            manifests.reader_config_map(edge.name),
            manifests.reader_config(self.bridge, pairs),
            labels,
        )
        pod = manifests.reader_pod(self.bridge, edge)
        self._run(f"reader-{edge.name}", pod, labels, read=[kubeconfig, config, *self.source])

    def publisher(self, pair: Pair, identity: Identity, kubeconfig: core.v1.Secret) -> None:
        """Creates the publisher of an edge's names for one provider. kubeconfig: of the edge."""
        pod = manifests.publisher_pod(self.bridge, pair, identity.keys)
        read = [kubeconfig, *self.source, *identity.secrets, *identity.settings]
        self._publish(pair, pod, read=read, after=identity.accounts)

    def own_publisher(self, pair: Pair, identity: Identity, records: OwnRecords, *, keeps_conditions: bool) -> None:
        """Creates the publisher of the program's own records for one provider. One of them updates conditions."""
        pod = manifests.publisher_pod(self.bridge, pair, identity.keys, keeps_conditions=keeps_conditions)
        read = [*self.source, *identity.secrets, *identity.settings]
        read += [records.conditions] if keeps_conditions else []
        self._publish(pair, pod, read=read, after=[*records.first, *identity.accounts])

    def _publish(
        self,
        pair: Pair,
        pod: manifests.Spec,
        *,
        read: Sequence[core.v1.ConfigMap | core.v1.Secret],
        after: Sequence[pulumi.Resource],
    ) -> None:
        labels, of_pods = manifests.pair_labels(pair), manifests.identity_labels(pair.provider)
        records = manifests.records_label(self.bridge, pair)
        self._run(f"publisher-{pair.name}", pod, labels, read=read, after=after, of_pods=of_pods, of_lease=records)

    def _run(
        self,
        name: str,
        pod: manifests.Spec,
        labels: Labels,
        *,
        read: Sequence[core.v1.ConfigMap | core.v1.Secret],
        after: Sequence[pulumi.Resource] = (),
        of_pods: Labels | None = None,
        of_lease: Labels | None = None,
    ) -> None:
        """name: without `dns-`. pod: `spec` of its Pods. read: objects read at start. after: other dependencies.

        of_pods, of_lease: labels of the Pods or the Lease alone.
        """
        deployed, namespace = f"dns-{name}", self.namespace
        versions = pulumi.Output.all(*(one.metadata.apply(_version) for one in read)).apply("-".join)
        started_with = {READ_AT_START_ANNOTATION: pulumi.Output.unsecret(versions)}
        waits = None if self.bridge.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}
        deployment = apps.v1.Deployment(
            f"{namespace.prefix}-{name}",
            metadata=namespace.metadata(deployed, labels, waits),
            spec=manifests.deployment(
                self.bridge, deployed, pod, {**namespace.labels, **labels, **(of_pods or {})}, started_with
            ),
            opts=namespace.options(*self.shared, *read, *after),
        )
        election(namespace, deployed, labels, deployment, replicas=self.bridge.replicas, records=of_lease or {})


def _version(metadata: Any) -> str:
    """Changes with the object, and reveals none of its content."""
    return str(metadata.resource_version or "")
