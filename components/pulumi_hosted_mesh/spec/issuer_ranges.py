"""The ranges of addresses from which istiod fetches no keys of token issuers (JWKS).

A user's RequestAuthentication can name any URL. istiod fetches it from inside the control plane's network, and sends
the response to the user's proxies (pilot/pkg/model/jwks_resolver.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Annotated, Final

from pydantic import AfterValidator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import Cidr

NEVER: Final = ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/128", "::1/128", "fe80::/10")
"""Loopback, unspecified and link-local: istiod itself, and the metadata of clouds. No NetworkPolicy covers loopback."""
PRIVATE: Final = ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Private, shared (RFC 6598) and unique local ranges: Pods, Services and nodes of the control plane."""
Network = IPv4Network | IPv6Network


def private_range(value: str) -> str:
    """A range inside a blocked one that may be admitted."""
    if not any(_is_within(ip_network(value), ip_network(one)) for one in PRIVATE):
        rule = f"must be inside one of {', '.join(PRIVATE)}, the private ranges that istiod fetches no keys from"
        raise RuleBrokenError(rule, "Leave it out: other addresses are admitted, loopback and link-local never are")
    return value


PrivateRange = Annotated[Cidr, AfterValidator(private_range)]


def blocked_ranges(admitted: Iterable[str]) -> list[str]:
    """The blocked ranges without the admitted ones."""
    found: list[Network] = [ip_network(one) for one in PRIVATE]
    for one in map(ip_network, admitted):
        found = [rest for network in found for rest in _without(network, one)]
    by_version: list[Network] = []
    for kind in (IPv4Network, IPv6Network):
        by_version += collapse_addresses(one for one in found if isinstance(one, kind))  # type: ignore[type-var]
    return [*NEVER, *map(str, by_version)]


def _without(network: Network, other: Network) -> list[Network]:
    if _is_within(network, other):
        return []
    return list(network.address_exclude(other)) if _is_within(other, network) else [network]  # type: ignore[arg-type]


def _is_within(one: Network, other: Network) -> bool:
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]
