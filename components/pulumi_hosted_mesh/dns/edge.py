"""The edge's side of the DNS bridge: the kind DNSEndpoint and two accounts with few rights. No Pod, no credential.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import apiextensions, meta
from pulumi_kubernetes.admissionregistration import v1 as admission

from pulumi_hosted_mesh._generated.inputs import EdgeArgs
from pulumi_hosted_mesh.boundary.arguments import OUTPUTS, checked
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.adoption import make_namespace
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_providers
from pulumi_hosted_mesh.data_plane.account import Account, Grant, token_generation
from pulumi_hosted_mesh.dns import admission as zones_admission
from pulumi_hosted_mesh.dns import crd
from pulumi_hosted_mesh.dns.rights import PUBLISHER, WRITER, reader_rules
from pulumi_hosted_mesh.spec.dns import Edge
from pulumi_hosted_mesh.spec.fields import domain
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import DNS_NAMESPACE, TYPE_DNS_EDGE, managed_labels

PUBLISHER_ACCOUNT, READER_ACCOUNT = "dns-publisher", "dns-reader"


class DnsEdgeArgs(TypedDict):
    """Arguments of DnsEdge."""

    edge: EdgeArgs
    """The edge, as in the bridge's document."""
    cluster: DataPlaneCluster
    """The edge's cluster."""
    api_server: NotRequired[pulumi.Input[str]]
    """The same as `edge.api_server`, but may be an Output."""
    certificate_authority: NotRequired[pulumi.Input[str]]
    """PEM of the authority that verifies that address. Default: the kubeconfig's."""
    install_crd: NotRequired[bool]
    """False if another owner installs DNSEndpoint. Its schema needs the conditions, or they are lost. Default: true."""
    keep_crd: NotRequired[bool]
    """True keeps the CRD when the component is destroyed, and adopts an existing one. False removes it, and so every
    DNSEndpoint, with the component, and rejects an existing one. Default: true."""
    admission_zones: NotRequired[list[str]]
    """Permitted domains of users' DNSEndpoints. Default: none, so only the bridge rejects names."""
    token_generation: NotRequired[int]
    """Increase it by one to replace both tokens. The old ones stay until the new ones are in use. Default: 1."""


class DnsEdge(pulumi.ComponentResource):
    """A namespace, the CRD DNSEndpoint, and the control plane's accounts that read names and write records.

    Raises: InvalidInputError if the cluster is not a data plane, or if no authority verifies its API server.
    """

    publisher_kubeconfig: pulumi.Output[str]
    """The publishers' kubeconfig, for reading DNSEndpoints. A secret."""
    reader_kubeconfig: pulumi.Output[str]
    """The reader's kubeconfig, for reading the edge's names and writing DNSEndpoints. A secret."""

    def __init__(self, name: str, args: DnsEdgeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"DnsEdge {name}"
        args = typed_arguments(DnsEdgeArgs, args, called)
        refuse_providers(opts, called)
        edge = read_arguments(Edge, args["edge"], "the edge")
        reached_at, zones, generation = _reached_at(args, called), _zones(args, called), token_generation(args, called)
        super().__init__(TYPE_DNS_EDGE, name, {}, opts)

        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        labels = managed_labels(cluster.role)
        metadata = meta.v1.ObjectMetaArgs(name=DNS_NAMESPACE, labels=labels)
        namespace = make_namespace(f"{name}-namespace", metadata, cluster.options(self))
        if args.get("install_crd", True):
            # A CRD that outlives the component exists at its next creation. One that it removes must be its own.
            keep = args.get("keep_crd", True)
            kept = pulumi.ResourceOptions(retain_on_delete=keep)
            apiextensions.v1.CustomResourceDefinition(
                f"{name}-dnsendpoints",
                metadata=crd.metadata(labels),
                spec=crd.spec(),
                opts=pulumi.ResourceOptions.merge(cluster.options(self, adopt=keep), kept),
            )
        if zones:
            self._admit(name, zones, cluster)

        accounts = _accounts(called, name, edge, labels, generation)
        kubeconfigs = {
            account.name: account.kubeconfig(
                edge.name,
                account.token(cluster, account.make(cluster, namespace, parent=self), parent=self),
                reached_at.get("api_server") or edge.api_server or cluster.server,
                reached_at.get("certificate_authority") or cluster.certificate_authority,
            )
            for account in accounts
        }
        self.publisher_kubeconfig = kubeconfigs[PUBLISHER_ACCOUNT]
        self.reader_kubeconfig = kubeconfigs[READER_ACCOUNT]
        self.register_outputs(
            {"publisher_kubeconfig": self.publisher_kubeconfig, "reader_kubeconfig": self.reader_kubeconfig}
        )

    def _admit(self, name: str, zones: Sequence[str], cluster: DataPlaneCluster) -> None:
        """The ValidatingAdmissionPolicy that rejects names outside of zones, and its binding."""
        metadata = meta.v1.ObjectMetaArgs(name=zones_admission.NAME, labels=managed_labels(cluster.role))
        policy = admission.ValidatingAdmissionPolicy(
            f"{name}-zones", metadata=metadata, spec=zones_admission.policy_spec(zones), opts=cluster.options(self)
        )
        admission.ValidatingAdmissionPolicyBinding(
            f"{name}-zones",
            metadata=metadata,
            spec=zones_admission.binding_spec(DNS_NAMESPACE),
            opts=cluster.options(self, depends_on=[policy]),
        )


def _reached_at(args: DnsEdgeArgs, called: str) -> dict[str, Any]:
    """The API server's address and authority from the component's arguments, checked once Outputs resolve."""
    given: dict[str, Any] = {**args}
    return {key: checked(given[key], rule, key, called) for key, rule in OUTPUTS.items() if key in given}


def _zones(args: DnsEdgeArgs, called: str) -> list[str]:
    return [
        checked(zone, domain, f"admission_zones[{position}]", called)
        for position, zone in enumerate(args.get("admission_zones", []))
    ]


def _accounts(called: str, name: str, edge: Edge, labels: Mapping[str, str], generation: int) -> list[Account]:
    """Accounts of the publisher and the reader. Module `rights` has their rights and the reasons."""
    grants = {
        PUBLISHER_ACCOUNT: [Grant("reads", "hosted-mesh-dns-publisher", PUBLISHER, everywhere=True)],
        READER_ACCOUNT: [
            Grant("reads", "hosted-mesh-dns-reader", reader_rules(edge.sources), everywhere=True),
            Grant("writes", READER_ACCOUNT, WRITER),
        ],
    }
    return [
        Account(
            called=called,
            prefix=f"{name}-{account}",
            name=account,
            namespace=DNS_NAMESPACE,
            labels=labels,
            grants=granted,
            generations=range(generation, generation + 1),
            holder="the bridge",
            authority="certificate_authority",
        )
        for account, granted in grants.items()
    ]
