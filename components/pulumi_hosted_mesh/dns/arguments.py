"""Arguments of each external-dns, by pair and by edge. Pure functions: no credential is among them.

What a provider wants as a secret is in `credentials`, as variables or files.
"""

from __future__ import annotations

from typing import Final

from pulumi_hosted_mesh.dns.plan import Pair, pattern
from pulumi_hosted_mesh.spec.dns import Authentication, DnsBridge, DnsProvider, Edge, ProviderType

EDGE_FOLDER: Final = "/etc/hosted-mesh/edge"
KUBECONFIG: Final = "kubeconfig"
PIPE_FOLDER: Final = "/run/hosted-mesh"
# A pipe, by which external-dns gets the address of the proxy beside it. Before that it asks nobody anything.
_KUBECONFIG: Final = f"--kubeconfig={PIPE_FOLDER}/{KUBECONFIG}"
CREDENTIALS_FOLDER: Final = "/etc/hosted-mesh/credentials"
METRICS_PORT: Final = 7979
PROVIDER_METRICS_PORT: Final = 7980
WRITER_PORT: Final = 8888
# external-dns' own, which no flag changes.
PROVIDER_PORT: Final = 8888
GATE_PORT: Final = 8889
EDGE_PORT: Final = 8890
# By default external-dns gives up after 15 s, and then it ends. A replica may wait a minute for its turn, and a large
# change takes minutes.
_PATIENCE: Final = ("--webhook-provider-read-timeout=10m", "--webhook-provider-write-timeout=10m")
# After an event external-dns waits five seconds (v0.21, controller.go), and here are two in a row. A pass at each look
# at its clock, once a second, goes round that: sources are informers, and the program beside it answers from memory or
# lets it wait. Each pass without changes would write a line at level info.
_SOON: Final = (
    "--interval=500ms",
    # Without --events it ends each request after 30 s by default, watches too: two of each kind in a minute.
    "--kube-api-request-timeout=0s",
    f"--metrics-address=:{METRICS_PORT}",
    "--log-format=json",
    "--log-level=warning",
)
# These write names into etcd keys and zone-file text; the others hand them to an API that knows what a name is.
_RAW: Final = (ProviderType.COREDNS, ProviderType.RFC2136)


def publisher_arguments(bridge: DnsBridge, pair: Pair) -> list[str]:
    """Of the external-dns that reads one edge's DNSEndpoints and plans what one provider should have.

    The program's own it reads by its Pod's account, in one namespace; `recordSelector` is for what users write.
    """
    provider = pair.provider
    wanted = {} if pair.own else provider.record_selector
    # It notes in each DNSEndpoint which generation it saw, before it plans: by default 5 a second.
    own = [f"--namespace={bridge.namespace}", "--kube-api-qps=200", "--kube-api-burst=400"]
    selector = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
    return [
        "--source=crd",
        *(own if pair.own else [_KUBECONFIG]),
        *_SOON,
        f"--policy={provider.policy}",
        *(f"--managed-record-types={one}" for one in provider.record_types),
        f"--min-ttl={provider.ttl}s",
        *([f"--label-filter={selector}"] if selector else []),
        *_domains(pair),
        *_registry(bridge, pair),
        *_webhook(GATE_PORT),
    ]


def provider_arguments(bridge: DnsBridge, pair: Pair) -> list[str]:
    """Of the external-dns that has the provider's credential: it writes what it is told, in the pair's domains."""
    return [
        "--webhook-server",
        # One must be named, and this one asks nobody anything before it is used, which it is not.
        "--source=connector",
        *(f"--managed-record-types={one}" for one in pair.provider.record_types),
        *_domains(pair),
        *_registry(bridge, pair),
        *_PATIENCE,
        f"--metrics-address=:{PROVIDER_METRICS_PORT}",
        "--log-format=json",
        *_provider(pair.provider),
    ]


def reader_arguments(edge: Edge) -> list[str]:
    """Of the external-dns that finds an edge's names; the writer beside it makes DNSEndpoints of them.

    Names are not filtered here: one outside the edge's zones becomes a DNSEndpoint too, whose status says why it is not
    published.
    """
    return [
        *(f"--source={source}" for source in edge.sources),
        _KUBECONFIG,
        *_SOON,
        # Other types would need the right to read Pods and nodes.
        "--service-type-filter=LoadBalancer",
        "--policy=sync",
        "--registry=noop",
        *_webhook(WRITER_PORT),
    ]


def _webhook(port: int) -> list[str]:
    return ["--provider=webhook", f"--webhook-provider-url=http://127.0.0.1:{port}", *_PATIENCE]


def _domains(pair: Pair) -> list[str]:
    if pair.provider.type not in _RAW:
        # Such a filter also chooses among the account's zones, by their names.
        return [
            *(f"--domain-filter={one}" for one in pair.include),
            *(f"--exclude-domains={one}" for one in pair.exclude),
        ]
    excluded = [f"--regex-domain-exclusion={pattern(pair.exclude)}"] if pair.exclude else []
    return [f"--regex-domain-filter={pattern(pair.include)}", *excluded]


def _registry(bridge: DnsBridge, pair: Pair) -> list[str]:
    owner = f"--txt-owner-id={bridge.owner}.{pair.edge.name}"
    if pair.provider.type is ProviderType.COREDNS:
        # Keeps the owner beside each target; its TXT registry loses track of a record with two of them.
        return ["--registry=noop", "--coredns-strictly-owned", owner]
    # A label of its own keeps the registry's records inside the zone, also those of the zone's own name.
    return ["--registry=txt", owner, "--txt-prefix=%{record_type}-owner.", "--txt-wildcard-replacement=any"]


def _provider(provider: DnsProvider) -> list[str]:
    found: list[str] = []
    if coredns := provider.coredns:
        found = ["--provider=coredns", f"--coredns-prefix={coredns.prefix}"]
    elif rfc2136 := provider.rfc2136:
        found = [
            "--provider=rfc2136",
            f"--rfc2136-host={rfc2136.host}",
            f"--rfc2136-port={rfc2136.port}",
            *(f"--rfc2136-zone={one}" for one in rfc2136.server_zones),
            "--rfc2136-tsig-axfr",
        ]
        if provider.authentication is Authentication.NONE:
            found.append("--rfc2136-insecure")
        else:
            found.append(f"--rfc2136-tsig-keyname={rfc2136.tsig_key_name}")
            found.append(f"--rfc2136-tsig-secret-alg={rfc2136.tsig_algorithm}")
    elif provider.type is ProviderType.ROUTE53:
        found = ["--provider=aws", "--aws-zone-match-parent"]
        if route53 := provider.route53:
            found += [f"--aws-zone-type={route53.zone_type}"] if route53.zone_type else []
            found += [f"--aws-assume-role={route53.assume_role}"] if route53.assume_role else []
            found += [] if route53.evaluate_target_health else ["--no-aws-evaluate-target-health"]
    elif google := provider.google:
        found = ["--provider=google", f"--google-project={google.project}"]
        found += [f"--google-zone-visibility={google.visibility}"] if google.visibility else []
    elif azure := provider.azure:
        found = [
            f"--provider={'azure-private-dns' if azure.private else 'azure'}",
            f"--azure-resource-group={azure.resource_group}",
            f"--azure-subscription-id={azure.subscription}",
            f"--azure-config-file={CREDENTIALS_FOLDER}/azure.json",
        ]
    elif provider.type is ProviderType.CLOUDFLARE:
        proxied = provider.cloudflare is not None and provider.cloudflare.proxied
        found = ["--provider=cloudflare", *(["--cloudflare-proxied"] if proxied else [])]
    elif webhook := provider.webhook:
        found = ["--provider=webhook", f"--webhook-provider-url={webhook.url}"]
    elif other := provider.other:
        found = [f"--provider={other.provider}", *other.flags]
    return found
