"""Arguments of each external-dns, by pair and by edge. Pure functions: no argument contains a credential.

`credentials` has the providers' secrets, as variables or files.
"""

from __future__ import annotations

from typing import Final

from pulumi_hosted_mesh.dns.plan import Pair, exact_pattern, parents, pattern
from pulumi_hosted_mesh.spec.dns import Authentication, DnsBridge, DnsProvider, Edge, ProviderType

EDGE_FOLDER: Final = "/etc/hosted-mesh/edge"
KUBECONFIG: Final = "kubeconfig"
PIPE_FOLDER: Final = "/run/hosted-mesh"
# A named pipe: external-dns waits here for the address of the proxy beside it, and sends no request before.
_KUBECONFIG: Final = f"--kubeconfig={PIPE_FOLDER}/{KUBECONFIG}"
CREDENTIALS_FOLDER: Final = "/etc/hosted-mesh/credentials"
METRICS_PORT: Final = 7979
PROVIDER_METRICS_PORT: Final = 7980
READER_PORT: Final = 8888
# external-dns fixes this port: no flag changes it.
PROVIDER_PORT: Final = 8888
GATE_PORT: Final = 8889
EDGE_PORT: Final = 8890
# By default external-dns exits after 15 s without a response. A replica may wait a minute for its turn, and a large
# change takes minutes.
_PATIENCE: Final = ("--webhook-provider-read-timeout=10m", "--webhook-provider-write-timeout=10m")
# After an event external-dns waits five seconds (v0.21, controller.go), and two of them run in a row. An interval below
# its one-second clock avoids this wait: sources are informers, and the sidecar answers from memory or delays the
# request. At level info each pass without changes would write a line.
_SOON: Final = (
    "--interval=500ms",
    # Without --events it ends each request after 30 s by default, also watches: two of each kind in a minute.
    "--kube-api-request-timeout=0s",
    f"--metrics-address=:{METRICS_PORT}",
    "--log-format=json",
    "--log-level=warning",
)
# These write names into etcd keys and zone-file text; the others pass them to an API that validates names.
_RAW: Final = (ProviderType.COREDNS, ProviderType.RFC2136)
# They use the zones that the filter admits by their own names (zones in provider/google/google.go, azure/azure.go and
# cloudflare/cloudflare.go, partitionZones in pdns/pdns.go), so a zone above the pair's domains needs an entry. Route 53
# has a flag for it.
_ZONES_BY_FILTER: Final = (
    *(ProviderType.GOOGLE, ProviderType.AZURE, ProviderType.CLOUDFLARE),
    ProviderType.POWERDNS,
)
AZURE_FILE: Final = "azure.json"


def publisher_arguments(bridge: DnsBridge, pair: Pair) -> list[str]:
    """Arguments of the external-dns that reads one edge's DNSEndpoints and plans one provider's records.

    It reads the program's own records with its Pod's account, in one namespace. `recordSelector` applies to users'
    records only.
    """
    provider = pair.provider
    wanted = {} if pair.own else provider.record_selector
    # Before it plans, it writes the observed generation into each DNSEndpoint, by default 5 a second.
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
    """Arguments of the external-dns with the provider's credential: it applies changes in the pair's domains."""
    return [
        "--webhook-server",
        # external-dns requires a source. This one sends no request until it is read, and a webhook server reads none.
        "--source=connector",
        *(f"--managed-record-types={one}" for one in pair.provider.record_types),
        *(_domains_and_zones(pair) if pair.provider.type in _ZONES_BY_FILTER else _domains(pair)),
        *_registry(bridge, pair),
        *_PATIENCE,
        f"--metrics-address=:{PROVIDER_METRICS_PORT}",
        "--log-format=json",
        *_provider(pair.provider),
    ]


def reader_arguments(edge: Edge) -> list[str]:
    """Arguments of the external-dns that finds an edge's names. The sidecar stores them as DNSEndpoints.

    It does not filter names: a name outside the edge's zones becomes a DNSEndpoint too. Its status has the reason why
    it is not published.
    """
    return [
        *(f"--source={source}" for source in edge.sources),
        _KUBECONFIG,
        *_SOON,
        # Other types would need the right to read Pods and nodes.
        "--service-type-filter=LoadBalancer",
        "--policy=sync",
        "--registry=noop",
        *_webhook(READER_PORT),
    ]


def _webhook(port: int) -> list[str]:
    return ["--provider=webhook", f"--webhook-provider-url=http://127.0.0.1:{port}", *_PATIENCE]


def _domains(pair: Pair) -> list[str]:
    if pair.provider.type not in _RAW:
        # This filter also selects the account's zones by name.
        return [
            *(f"--domain-filter={one}" for one in pair.include),
            *(f"--exclude-domains={one}" for one in pair.exclude),
        ]
    return _patterns(pair, pattern(pair.include))


def _domains_and_zones(pair: Pair) -> list[str]:
    """The filter of the writing container: the pair's domains, and the names of zones that can hold them.

    It also admits a record with the exact name of such a zone. The planning container's filter does not.
    """
    return _patterns(pair, f"{pattern(pair.include)}|{exact_pattern(parents(pair.include))}")


def _patterns(pair: Pair, admitted: str) -> list[str]:
    excluded = [f"--regex-domain-exclusion={pattern(pair.exclude)}"] if pair.exclude else []
    return [f"--regex-domain-filter={admitted}", *excluded]


def owner_id(bridge: DnsBridge, pair: Pair) -> str:
    """The owner of a pair's records. Without the provider's id, so that a renamed provider owns its records still."""
    return f"{bridge.owner}.{pair.edge.name}"


def _registry(bridge: DnsBridge, pair: Pair) -> list[str]:
    owner = f"--txt-owner-id={owner_id(bridge, pair)}"
    if pair.provider.type is ProviderType.COREDNS:
        # Stores the owner beside each target. The TXT registry of this provider loses records with two targets.
        return ["--registry=noop", "--coredns-strictly-owned", owner]
    # A separate label keeps the registry's records inside the zone, also the record of the zone's own name.
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
    elif powerdns := provider.powerdns:
        found = ["--provider=pdns", f"--pdns-server={powerdns.url}", f"--pdns-server-id={powerdns.server_id}"]
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
            f"--azure-config-file={CREDENTIALS_FOLDER}/{AZURE_FILE}",
        ]
    elif provider.type is ProviderType.CLOUDFLARE:
        proxied = provider.cloudflare is not None and provider.cloudflare.proxied
        found = ["--provider=cloudflare", *(["--cloudflare-proxied"] if proxied else [])]
    elif webhook := provider.webhook:
        found = ["--provider=webhook", f"--webhook-provider-url={webhook.url}"]
    elif other := provider.other:
        found = [f"--provider={other.provider}", *other.flags]
    return found
