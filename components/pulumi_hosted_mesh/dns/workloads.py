"""What runs for the bridge: a Deployment for each reader and each publisher, with its Lease and its budget."""

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
    """Makes them. program: the ConfigMap with our own programs. shared: what each Deployment waits for, that among it.

    What Pods read only when they start is told in an annotation of theirs, so that a change of it replaces them.
    """

    bridge: DnsBridge
    namespace: BridgeNamespace
    program: core.v1.ConfigMap
    shared: Sequence[pulumi.Resource]

    @classmethod
    def prepared(cls, bridge: DnsBridge, namespace: BridgeNamespace) -> Self:
        """Makes what all of them share."""
        network = networking.v1.NetworkPolicy(
            f"{namespace.prefix}-network",
            metadata=namespace.metadata("dns-bridge"),
            spec=manifests.network_policy(),
            opts=namespace.within(),
        )
        program = namespace.config_map("edge-writer", manifests.PROGRAM, manifests.program_files())
        return cls(bridge, namespace, program, [*rights(namespace), network, program])

    def reader(self, edge: Edge, pairs: Sequence[Pair], kubeconfig: core.v1.Secret) -> None:
        """Makes what finds an edge's names. pairs: the edge's."""
        labels = manifests.edge_labels(edge.name)
        config = self.namespace.config_map(
            f"writer-{edge.name}",
            manifests.writer_config_map(edge.name),
            manifests.writer_config(self.bridge, pairs),
            labels,
        )
        pod = manifests.reader_pod(self.bridge, edge)
        self._run(f"reader-{edge.name}", pod, labels, read=[kubeconfig, config, self.program])

    def publisher(self, pair: Pair, identity: Identity, kubeconfig: core.v1.Secret) -> None:
        """Makes what publishes an edge's names by one provider. kubeconfig: by which it reads them."""
        pod = manifests.publisher_pod(self.bridge, pair, identity.keys)
        read = [kubeconfig, self.program, *identity.secrets]
        self._run(f"publisher-{pair.name}", pod, manifests.pair_labels(pair), read=read, after=identity.accounts)

    def own_publisher(self, pair: Pair, identity: Identity, records: OwnRecords, *, keeps_conditions: bool) -> None:
        """Makes what publishes the program's own records by one provider; one of these keeps conditions."""
        pod = manifests.publisher_pod(self.bridge, pair, identity.keys, keeps_conditions=keeps_conditions)
        read = [self.program, *identity.secrets, *([records.conditions] if keeps_conditions else [])]
        after = [*records.first, *identity.accounts]
        self._run(f"publisher-{pair.name}", pod, manifests.pair_labels(pair), read=read, after=after)

    def _run(
        self,
        name: str,
        pod: manifests.Spec,
        labels: Labels,
        *,
        read: Sequence[core.v1.ConfigMap | core.v1.Secret],
        after: Sequence[pulumi.Resource] = (),
    ) -> None:
        """name: without `dns-`. pod: `spec` of its Pods. read: what they read when they start. after: what else they
        need then."""
        deployed, namespace = f"dns-{name}", self.namespace
        versions = pulumi.Output.all(*(one.metadata.apply(_version) for one in read)).apply("-".join)
        started_with = {READ_AT_START_ANNOTATION: pulumi.Output.unsecret(versions)}
        waits = None if self.bridge.wait_until_ready else {SKIP_AWAIT_ANNOTATION: "true"}
        deployment = apps.v1.Deployment(
            f"{namespace.prefix}-{name}",
            metadata=namespace.metadata(deployed, labels, waits),
            spec=manifests.deployment(self.bridge, deployed, pod, {**namespace.labels, **labels}, started_with),
            opts=namespace.options(*self.shared, *read, *after),
        )
        election(namespace, deployed, labels, deployment, replicas=self.bridge.replicas)


def _version(metadata: Any) -> str:
    """Changes with each change of an object, and tells nothing of what is in it."""
    return str(metadata.resource_version or "")
