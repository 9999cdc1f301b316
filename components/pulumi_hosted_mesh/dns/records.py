"""The program's own records, for istiod's host and east-west gateways: their problems and their DNSEndpoints. Pure,
except for targets that are Outputs.

They are in the control plane's cluster, so users' clusters cannot change them (`own_records` creates them there).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

import pulumi

from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.fields import host_name

SOURCE: Final = "the DNS bridge's records"
Records = Mapping[str, pulumi.Input[Sequence[pulumi.Input[str]]]]


def problems(records: Records, pairs: Sequence[Pair], fields: Mapping[str, str] | None = None) -> list[Problem]:
    """Problems of records that appear before Outputs among their targets resolve. pairs: the control plane's own.

    fields: the field of each host, if not under `records`.
    """
    found = []
    zones = sorted({zone for pair in pairs for zone in pair.include})
    for host, targets in records.items():
        where = (fields or {}).get(host, f"records.{host}")
        try:
            host_name(host)
        except RuleBrokenError as broken:
            found.append(Problem(where, broken.rule, broken.fix))
            continue
        if not any(pair.admits(host) for pair in pairs):
            rule = f"lies in none of the control plane's zones ({', '.join(zones) or 'there are none'})"
            rule = rule if where.endswith(host) else f"has {host}, which {rule}"
            found.append(Problem(where, rule, "Add its domain to a provider's controlPlaneZones, or correct the host"))
        if isinstance(targets, pulumi.Output | Awaitable):
            continue  # `endpoints` checks them once they resolve
        if isinstance(targets, str) or not targets:
            found.append(Problem(where, "must be a list of one address or more", "Set its Service's address"))
        elif any(not isinstance(one, str | pulumi.Output) for one in targets):
            found.append(
                Problem(where, "has a target that is neither text nor an Output of text", "Write addresses as text")
            )
        elif all(isinstance(one, str) for one in targets):
            found += _wrong_targets(host, [str(one) for one in targets], where)
    return found


def endpoints(host: str, targets: Sequence[str]) -> list[dict[str, Any]]:
    """`spec.endpoints` of a host's DNSEndpoint. Raises: InvalidInputError."""
    if not targets:
        rule = "has no address yet"
        raise InvalidInputError(
            [Problem(f"records.{host}", rule, "Run `pulumi up --refresh` once its load balancer has one")], SOURCE
        )
    if wrong := _wrong_targets(host, targets, f"records.{host}"):
        raise InvalidInputError(wrong, SOURCE)
    by_type: dict[str, list[str]] = {}
    for one in targets:
        by_type.setdefault(_type(one), []).append(one)
    return [{"dnsName": host, "recordType": kind, "targets": sorted(set(of))} for kind, of in sorted(by_type.items())]


def _wrong_targets(host: str, targets: Sequence[str], where: str) -> list[Problem]:
    for one in targets:
        if _type(one) == "CNAME":
            try:
                host_name(one)
            except RuleBrokenError:
                rule = f"has the target {one!r}, which is neither an address nor a host name"
                return [Problem(where, rule, "Set the address of its Service")]
    names = {one for one in targets if _type(one) == "CNAME"}
    if names and len(set(targets)) > 1:
        return [Problem(where, "has a host name among several targets", "Set one host name, or addresses only")]
    return [Problem(where, "is its own target", "Set the address of its Service")] if host in names else []


def _type(target: str) -> str:
    try:
        return "AAAA" if ipaddress.ip_address(target).version == 6 else "A"
    except ValueError:
        return "CNAME"
