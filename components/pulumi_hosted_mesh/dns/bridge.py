"""The DNS bridge on the control plane: an external-dns for each edge and provider, and for each edge one that reads it.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import apps, core, meta, networking

from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, refuse_providers
from pulumi_hosted_mesh.clusters.kubeconfig import Asked
from pulumi_hosted_mesh.dns import manifests, records
from pulumi_hosted_mesh.dns.arguments import KUBECONFIG
from pulumi_hosted_mesh.dns.credentials import problems
from pulumi_hosted_mesh.dns.election import election, rights
from pulumi_hosted_mesh.dns.plan import SOURCE, Pair, own_pairs, pairs, warnings
from pulumi_hosted_mesh.inputs import DnsBridgeArgs
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.dns import Authentication, DnsBridge, DnsProvider, Edge
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import (
    DNS_EDGE_LABEL,
    DNS_PROVIDER_LABEL,
    LOCATION_LABEL,
    PROJECT_LABEL,
    READ_AT_START_ANNOTATION,
    SKIP_AWAIT_ANNOTATION,
    TYPE_EXTERNAL_DNS_BRIDGE,
    managed_labels,
)


class ExternalDNSBridgeArgs(TypedDict):
    """What a DNS bridge is made of."""

    bridge: DnsBridgeArgs
    """Edges and providers."""
    cluster: ControlPlaneCluster
    """The control plane's cluster."""
    publisher_kubeconfigs: dict[str, pulumi.Input[str]]
    """By name of the edge: `DnsEdge.publisher_kubeconfig`. Secret."""
    reader_kubeconfigs: dict[str, pulumi.Input[str]]
    """By name of the edge: `DnsEdge.reader_kubeconfig`. Secret."""
    credentials: NotRequired[dict[str, dict[str, pulumi.Input[str]]]]
    """By id of the provider, then by key, as docs/components/dns.md lists them. Secret."""
    records: NotRequired[dict[str, pulumi.Input[list[pulumi.Input[str]]]]]
    """What the program itself knows, such as istiod's host: addresses, or one host name, by host. Each host lies in one
    of the providers' `controlPlaneZones`."""
    install_crd: NotRequired[bool]
    """False where somebody else installs DNSEndpoint in the control plane's cluster. Only where a provider has
    `controlPlaneZones`. Default: true."""


class ExternalDNSBridge(pulumi.ComponentResource):
    """Publishes the names of edges from the control plane: credentials of DNS providers are in its cluster alone.

    Raises: InvalidInputError if the cluster is not a control plane, the document cannot be used, two edges would write
    the same names, or a kubeconfig or a credential is missing.
    """

    namespace: pulumi.Output[str]
    """Where all of it runs, on the control plane."""
    zones: pulumi.Output[dict[str, list[str]]]
    """Domains in which each edge may publish, by its name. Public: for `DnsEdge`'s `admission_zones`."""

    def __init__(self, name: str, args: ExternalDNSBridgeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"ExternalDNSBridge {name}"
        args = typed_arguments(ExternalDNSBridgeArgs, args, called)
        refuse_providers(opts, called)
        bridge = read_arguments(DnsBridge, args["bridge"], SOURCE)
        found, given = pairs(bridge), dict(args.get("credentials") or {})
        edges = {pair.edge.name: pair.edge for pair in found}
        own_ones, known = own_pairs(bridge), dict(args.get("records") or {})
        _require(bridge, list(edges), args, given, records.problems(known, own_ones))
        texts = _kubeconfigs(edges, args)
        super().__init__(TYPE_EXTERNAL_DNS_BRIDGE, name, {}, opts)
        for warning in warnings(bridge):
            pulumi.log.warn(str(warning), self)
        cluster = ControlPlaneCluster.of(args["cluster"], name=name, parent=self)
        labels = managed_labels(cluster.role)

        def metadata(called: str, more: Mapping[str, str] | None = None) -> meta.v1.ObjectMetaArgs:
            return meta.v1.ObjectMetaArgs(name=called, namespace=bridge.namespace, labels={**labels, **(more or {})})

        namespace = core.v1.Namespace(
            f"{name}-dns",
            metadata=meta.v1.ObjectMetaArgs(name=bridge.namespace, labels=labels),
            opts=cluster.options(self),
        )
        within = cluster.options(self, depends_on=[namespace])
        shared: list[pulumi.Resource] = [
            *rights(name, bridge, metadata, within),
            networking.v1.NetworkPolicy(
                f"{name}-network", metadata=metadata("dns-bridge"), spec=manifests.network_policy(), opts=within
            ),
            program := core.v1.ConfigMap(
                f"{name}-edge-writer",
                metadata=metadata("dns-edge-writer"),
                data=manifests.program_files(),
                opts=within,
            ),
        ]

        def secret(
            of: str, called: str, data: Mapping[str, pulumi.Input[str]], own: Mapping[str, str]
        ) -> core.v1.Secret:
            files = {key: pulumi.Output.secret(value) for key, value in data.items()}
            return core.v1.Secret(f"{name}-{of}", metadata=metadata(called, own), string_data=files, opts=within)

        def run(of: str, pod: Any, own: Mapping[str, str], read: list[Any], after: list[pulumi.Resource]) -> None:
            started_with = pulumi.Output.all(*(one.metadata.apply(_version) for one in read)).apply("-".join)
            annotations = {READ_AT_START_ANNOTATION: pulumi.Output.unsecret(started_with)}
            itself = metadata(f"dns-{of}", own)
            if not bridge.wait_until_ready:
                itself.annotations = {SKIP_AWAIT_ANNOTATION: "true"}
            runs = apps.v1.Deployment(
                f"{name}-{of}",
                metadata=itself,
                spec=manifests.deployment(bridge, f"dns-{of}", pod, {**labels, **own}, annotations),
                opts=cluster.options(self, depends_on=[*shared, *read, *after]),
            )
            election(name, bridge, f"dns-{of}", metadata(f"dns-{of}", own), cluster.options(self, depends_on=[runs]))

        secrets, accounts = {}, {}
        for provider in {pair.provider.id: pair.provider for pair in (*found, *own_ones)}.values():
            own = _provider_labels(provider)
            if provider.id in given:
                of, called = f"credentials-{provider.id}", manifests.credentials_secret(provider.id)
                secrets[provider.id] = secret(of, called, given[provider.id], own)
            if provider.authentication is Authentication.WORKLOAD_IDENTITY:
                account = metadata(f"dns-provider-{provider.id}", own)
                account.annotations = dict(provider.service_account_annotations)
                accounts[provider.id] = core.v1.ServiceAccount(
                    f"{name}-account-{provider.id}", metadata=account, opts=within
                )
        publishes_own: list[pulumi.Resource] = []
        conditions: list[pulumi.Resource] = []
        if own_ones:
            told = manifests.conditions_config(bridge, own_ones)
            named = metadata(manifests.RECORDS_ACCOUNT)
            # For one of several publishers, which keeps the conditions of all of the program's records.
            conditions = [core.v1.ConfigMap(f"{name}-records", metadata=named, data=told, opts=within)]
            of_pods = [f"dns-provider-{one.provider.id}" for one in own_ones if one.provider.id in accounts]
            publishes_own = records.make(
                name,
                known,
                [manifests.RECORDS_ACCOUNT, *of_pods],
                metadata,
                args.get("install_crd", True) is not False,
                lambda after: cluster.options(self, depends_on=[namespace, *after]),
            )
        kubeconfigs = {
            (edge, holder): secret(
                f"edge-{edge}-{holder}",
                manifests.kubeconfig_secret(edge, holder),
                {KUBECONFIG: text},
                {DNS_EDGE_LABEL: edge},
            )
            for (edge, holder), text in texts.items()
        }
        for edge in edges.values():
            own = {DNS_EDGE_LABEL: edge.name}
            config = core.v1.ConfigMap(
                f"{name}-writer-{edge.name}",
                metadata=metadata(f"dns-edge-{edge.name}-writer", own),
                data=manifests.writer_config(bridge, [pair for pair in found if pair.edge == edge]),
                opts=within,
            )
            read = [kubeconfigs[edge.name, "reader"], config, program]
            run(f"reader-{edge.name}", manifests.reader_pod(bridge, edge), own, read, [])
        for pair in (*found, *own_ones):
            keys = list(given.get(pair.provider.id, ()))
            own = _pair_labels(pair)
            read = [program] if pair.own else [kubeconfigs[pair.edge.name, "publisher"], program]
            read += [secrets[pair.provider.id]] if pair.provider.id in secrets else []
            account_of = manifests.RECORDS_ACCOUNT if pair.own else manifests.ACCOUNT
            account_of = f"dns-provider-{pair.provider.id}" if pair.provider.id in accounts else account_of
            kept = conditions if pair in own_ones[:1] else []
            read += kept
            pod = manifests.publisher_pod(bridge, pair, keys, account_of, keeps_conditions=bool(kept))
            after = publishes_own if pair.own else []
            after = [*after, accounts[pair.provider.id]] if pair.provider.id in accounts else after
            run(f"publisher-{pair.name}", pod, own, read, after)
        self.namespace = pulumi.Output.from_input(bridge.namespace)
        zones = {
            edge: sorted({one for pair in found if pair.edge.name == edge for one in pair.include}) for edge in edges
        }
        self.zones = pulumi.Output.from_input(zones)
        self.register_outputs({"namespace": self.namespace, "zones": self.zones})


def _require(
    bridge: DnsBridge,
    edges: list[str],
    args: ExternalDNSBridgeArgs,
    given: Mapping[str, Mapping[str, Any]],
    found: list[Problem],
) -> None:
    """Raises InvalidInputError unless every edge has its kubeconfigs and every provider what it needs.

    found: what else is wrong.
    """
    for edge in edges:
        for field in ("publisher_kubeconfigs", "reader_kubeconfigs"):
            if edge not in args[field]:
                found.append(Problem(field, f"has none for edge {edge}", "Give that of its DnsEdge"))
    for provider in bridge.providers:
        found += problems(provider, given.get(provider.id))
    for unknown in sorted(set(given) - {provider.id for provider in bridge.providers}):
        found.append(Problem(f"credentials.{unknown}", "is of no provider", "Remove it, or correct the provider's id"))
    if found:
        raise InvalidInputError(found, SOURCE)


def _kubeconfigs(edges: Mapping[str, Edge], args: ExternalDNSBridgeArgs) -> dict[tuple[str, str], pulumi.Output[str]]:
    """By edge and who holds it."""

    def asked(edge: str, holder: str) -> Asked:
        server = edges[edge].api_server
        return Asked(server=server, identity=edge, field=f"{holder}_kubeconfigs.{edge}", source=SOURCE)

    return {
        (edge, holder): account_kubeconfig(texts[edge], asked(edge, holder), "Give its DnsEdge's")
        for holder, texts in (("publisher", args["publisher_kubeconfigs"]), ("reader", args["reader_kubeconfigs"]))
        for edge in edges
    }


def _provider_labels(provider: DnsProvider) -> dict[str, str]:
    """Also whose it is and where, if the document says."""
    own = {DNS_PROVIDER_LABEL: provider.id, PROJECT_LABEL: provider.project, LOCATION_LABEL: provider.location}
    return {label: value for label, value in own.items() if value}


def _pair_labels(pair: Pair) -> dict[str, str]:
    return {**_provider_labels(pair.provider), DNS_EDGE_LABEL: pair.edge.name}


def _version(metadata: Any) -> str:
    """Changes with each change of an object, and tells nothing of what is in it."""
    return str(metadata.resource_version or "")
