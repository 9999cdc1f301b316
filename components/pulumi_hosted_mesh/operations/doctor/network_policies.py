"""Whether NetworkPolicies block connections from or to other networks. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulumi_hosted_mesh.operations.discovery.selectors import selects
from pulumi_hosted_mesh.vocabulary import GATEWAY_POD_LABELS

Manifest = Mapping[str, Any]


def keeping_out(policies: Iterable[Manifest], labels: Mapping[str, str], port: int) -> list[str]:
    """Names of the policies that together block a TCP port of Pods with these labels for all other networks.

    Empty if one admits callers by `ipBlock`, whichever it is: the peers' addresses are not available here. Empty also
    if one admits the Pods of the shared gateway, which are the way from other networks then.
    """
    return _refusing(policies, labels, "Ingress", "from", port, None)


def keeping_in(policies: Iterable[Manifest], labels: Mapping[str, str], port: int, address: str | None) -> list[str]:
    """Names of the policies that together block these Pods' connections to a TCP port of an address.

    address: None for every address.
    """
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
    """`policyTypes`, or its default: Ingress, and Egress if the policy has egress rules."""
    if types := spec.get("policyTypes"):
        yield from types
        return
    yield "Ingress"
    if spec.get("egress"):
        yield "Egress"


def _is_of(ports: Iterable[Manifest], port: int) -> bool:
    """Whether a rule's ports include this one. The number of a named port is not available here, so it matches."""
    listed = list(ports)
    return not listed or any(_has(one, port) for one in listed if one.get("protocol", "TCP") == "TCP")


def _has(one: Manifest, port: int) -> bool:
    first = one.get("port")
    return not isinstance(first, int) or first <= port <= int(one.get("endPort") or first)


def _is_for(peers: Iterable[Manifest], address: str | None) -> bool:
    listed = list(peers)
    return not listed or any(
        _holds(one["ipBlock"], address) if one.get("ipBlock") else _is_gateway(one) for one in listed
    )


def _is_gateway(peer: Manifest) -> bool:
    labels = (peer.get("podSelector") or {}).get("matchLabels") or {}
    return bool(peer.get("namespaceSelector") and labels == GATEWAY_POD_LABELS)


def _holds(block: Manifest, address: str | None) -> bool:
    if address is None:
        return True
    given = ipaddress.ip_address(address)
    try:
        blocks = [ipaddress.ip_network(one, strict=False) for one in [block["cidr"], *(block.get("except") or [])]]
    except ValueError:  # 010.0.0.0/8, which Kubernetes accepts
        return True
    inside = [given in one for one in blocks]
    return inside[0] and not any(inside[1:])
