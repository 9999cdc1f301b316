"""Whether NetworkPolicies keep out, or in, what comes from or goes to other networks. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulumi_hosted_mesh.operations.discovery.selectors import selects

Manifest = Mapping[str, Any]


def keeping_out(policies: Iterable[Manifest], labels: Mapping[str, str], port: int) -> list[str]:
    """Names of the policies that together let nobody from another network in at a TCP port of Pods with these labels.

    Empty where one lets somebody in by address, whichever: only the peers know theirs.
    """
    return _refusing(policies, labels, "Ingress", "from", port, None)


def keeping_in(policies: Iterable[Manifest], labels: Mapping[str, str], port: int, address: str | None) -> list[str]:
    """Names of the policies that together let these Pods out to no address at a TCP port; or not to this one."""
    return _refusing(policies, labels, "Egress", "to", port, address)


def _refusing(
    policies: Iterable[Manifest], labels: Mapping[str, str], direction: str, peers: str, port: int, address: str | None
) -> list[str]:
    names = []
    for one in policies:
        spec = one.get("spec") or {}
        if direction not in _types(spec) or not selects(spec.get("podSelector") or {}, labels):
            continue
        for rule in spec.get(direction.lower()) or []:
            if _is_of(rule.get("ports") or [], port) and _is_for(rule.get(peers) or [], address):
                return []
        names.append(str(one["metadata"]["name"]))
    return sorted(names)


def _types(spec: Manifest) -> Iterator[str]:
    """The API server fills them in; a policy that says nothing is about what comes in, and what it has rules for."""
    if said := spec.get("policyTypes"):
        yield from said
        return
    yield "Ingress"
    if spec.get("egress"):
        yield "Egress"


def _is_of(ports: Iterable[Manifest], port: int) -> bool:
    """Whether a rule's ports have this one. Of a port that has a name nothing is known here, so it may be this one."""
    listed = list(ports)
    return not listed or any(_has(one, port) for one in listed if one.get("protocol", "TCP") == "TCP")


def _has(one: Manifest, port: int) -> bool:
    first = one.get("port")
    return not isinstance(first, int) or first <= port <= int(one.get("endPort") or first)


def _is_for(peers: Iterable[Manifest], address: str | None) -> bool:
    listed = list(peers)
    return not listed or any(_holds(one["ipBlock"], address) for one in listed if one.get("ipBlock"))


def _holds(block: Manifest, address: str | None) -> bool:
    if address is None:
        return True
    given = ipaddress.ip_address(address)
    try:
        blocks = [ipaddress.ip_network(one, strict=False) for one in [block["cidr"], *(block.get("except") or [])]]
    except ValueError:  # 010.0.0.0/8, which Kubernetes takes
        return True
    inside = [given in one for one in blocks]
    return inside[0] and not any(inside[1:])
