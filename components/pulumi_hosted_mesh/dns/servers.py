"""The DNS servers and accounts that providers write to: two providers with one server are found. Pure functions.

A document identifies a server by its address or its account. Two names of one server cannot be detected.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pulumi_hosted_mesh.spec.dns import DnsProvider, Visibility

Server = tuple[str, ...]


def servers(provider: DnsProvider) -> frozenset[Server]:
    """Parts of a server with records of their own. Two providers with a common part write to the same records.

    Route 53, Cloudflare and other accounts are known by their credentials only, so `project` distinguishes them.
    """
    kind = str(provider.type)
    account = (kind, provider.project or "")
    if coredns := provider.coredns:
        return frozenset((kind, endpoint, coredns.prefix) for endpoint in coredns.endpoints)
    if rfc2136 := provider.rfc2136:
        return frozenset({(kind, rfc2136.host, str(rfc2136.port))})
    if powerdns := provider.powerdns:
        return frozenset({(kind, powerdns.url, powerdns.server_id)})
    if google := provider.google:
        return frozenset((kind, google.project, one) for one in _visible(google.visibility))
    if azure := provider.azure:
        zones = "private" if azure.private else "public"
        return frozenset({(kind, azure.subscription.lower(), azure.resource_group.lower(), zones)})
    if webhook := provider.webhook:
        return frozenset({(kind, webhook.url)})
    if other := provider.other:
        return frozenset({(*account, other.provider, *sorted(other.flags))})
    if route53 := provider.route53:
        return frozenset((*account, route53.assume_role or "", one) for one in _visible(route53.zone_type))
    return frozenset((*account, "", one) for one in _visible(None))


def one_server(first: DnsProvider, second: DnsProvider) -> bool:
    """Whether two providers write to the same records."""
    return not servers(first).isdisjoint(servers(second))


def addresses(provider: DnsProvider) -> list[str]:
    """`HOST:PORT` of the provider's servers in the document; none for a cloud."""
    if provider.rfc2136:
        return [_address(provider.rfc2136.host, provider.rfc2136.port)]
    urls = [*(provider.coredns.endpoints if provider.coredns else ())]
    urls += [provider.webhook.url] if provider.webhook else []
    urls += [provider.powerdns.url] if provider.powerdns else []
    found = [urlsplit(one) for one in urls]
    return [_address(str(one.hostname), one.port or (443 if one.scheme == "https" else 80)) for one in found]


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _visible(only: Visibility | None) -> tuple[str, ...]:
    return (str(only),) if only else tuple(map(str, Visibility))
