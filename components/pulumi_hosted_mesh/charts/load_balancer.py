"""A Service of type LoadBalancer, as documents expose one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.vocabulary import EXTERNAL_DNS_HOSTNAME_ANNOTATION, OPEN_TO_ALL_ANNOTATION


def load_balancer_annotations(
    own: Mapping[str, str], *, host: str | None = None, opened_by: str | None = None
) -> dict[str, str]:
    """Annotations of the Service. own: the document's. host: published by external-dns; None for none.

    opened_by: the field that lets every address connect, for the policies; None if ranges limit it.
    """
    found = dict(own)
    if host:
        found[EXTERNAL_DNS_HOSTNAME_ANNOTATION] = host
    if opened_by:
        found[OPEN_TO_ALL_ANNOTATION] = opened_by
    return found


def load_balancer_spec(
    selector: Mapping[str, str],
    ports: Sequence[Mapping[str, Any]],
    source_ranges: Sequence[str],
    *,
    allocate_node_ports: bool = False,
    load_balancer_class: str | None = None,
) -> dict[str, Any]:
    """`spec` of the Service. source_ranges: none for every address."""
    found: dict[str, Any] = {
        "type": "LoadBalancer",
        "selector": dict(selector),
        "ports": [dict(one) for one in ports],
        "allocateLoadBalancerNodePorts": allocate_node_ports,
    }
    if source_ranges:
        found["loadBalancerSourceRanges"] = list(source_ranges)
    if load_balancer_class:
        found["loadBalancerClass"] = load_balancer_class
    return found
