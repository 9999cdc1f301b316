"""Hosts that the program publishes itself, from other stacks' outputs and the configuration. Pure.

Host names come from the operator's configuration, the control planes' documents and the federation's document. A data
plane's stack supplies addresses only. So its operator can misdirect only callers of their own gateway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.dns import records
from pulumi_hosted_mesh.dns.plan import own_pairs
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.fields import is_address

SOURCE: Final = "the stack's configuration"
RUN: Final = "Run `pulumi up --refresh` of that stack once its load balancer has an address"


@dataclass(frozen=True)
class PublishedHost:
    """A host name, its targets, and the field of the configuration that it comes from."""

    host: str
    targets: tuple[str, ...]
    field: str


def control_plane_hosts(
    mesh: str, endpoints: Mapping[str, Any], addresses: Mapping[str, Sequence[str]]
) -> list[PublishedHost]:
    """istiod's hosts, from the outputs of a stack `control-plane`; none for `exposure: external`.

    Raises: InvalidInputError for a stack of another mesh, and for a load balancer without an address.
    """
    field = f"references.controlPlanes.{mesh}"
    _require_mesh(mesh, endpoints, field)
    if waiting := sorted(host for host, found in addresses.items() if not found):
        raise InvalidInputError([Problem(field, f"names a stack that has no address for {waiting[0]}", RUN)], SOURCE)
    return [PublishedHost(host, tuple(found), field) for host, found in sorted(addresses.items())]


def gateway_host(
    federation: Federation, mesh: str, endpoints: Mapping[str, Any], addresses: Mapping[str, Sequence[str]]
) -> PublishedHost:
    """The host of a peer's east-west gateway, from the outputs of its stack `data-plane`.

    Raises: InvalidInputError if the mesh is no peer, for a stack of another mesh, and for a gateway without a host or
    an address.
    """
    field = f"references.dataPlanes.{mesh}"
    peers = {one.mesh: one for one in federation.peers}
    if mesh not in peers:
        rule = f"is no peer of federation {federation.name}"
        raise InvalidInputError([Problem(field, rule, "Correct the name, or remove it")], SOURCE)
    _require_mesh(mesh, endpoints, field)
    gateway = peers[mesh].gateway
    if is_address(gateway.address):
        rule = f"has no name to publish: in federation {federation.name} its gateway.address is an IP address"
        raise InvalidInputError([Problem(field, rule, "Set a host name there, or remove the reference")], SOURCE)
    name = f"{peers[mesh].gateway_namespace}/{gateway.name}"
    if name not in addresses:
        rule = f"names a stack that has no gateway {name}"
        fix = "Add it to the gateways of that data plane's document, or correct gateway.name in the federation's"
        raise InvalidInputError([Problem(field, rule, fix)], SOURCE)
    if not addresses[name]:
        raise InvalidInputError([Problem(field, f"names a stack that has no address for {name}", RUN)], SOURCE)
    return PublishedHost(gateway.address, tuple(addresses[name]), field)


def published_records(hosts: Iterable[PublishedHost], bridge: DnsBridge) -> dict[str, list[str]]:
    """The targets of each host, for the argument `records` of ExternalDNSBridge.

    bridge: the document with the control plane's zones. Raises: InvalidInputError for a host of two fields, a
    host in no zone of the control plane, and a target that is no address.
    """
    found: dict[str, PublishedHost] = {}
    problems = []
    for one in hosts:
        if one.host in found:
            rule = f"has {one.host}, which {found[one.host].field} has too"
            problems.append(Problem(one.field, rule, "Remove one of them, or rename one"))
        found.setdefault(one.host, one)
    targets = {one.host: list(one.targets) for one in found.values()}
    problems += records.problems(targets, own_pairs(bridge), {one.host: one.field for one in found.values()})
    if problems:
        raise InvalidInputError(problems, SOURCE)
    return targets


def _require_mesh(mesh: str, endpoints: Mapping[str, Any], field: str) -> None:
    others = sorted({str(one["mesh"]) for one in endpoints.values()} - {mesh})
    if others:
        rule = f"names a stack of mesh {others[0]}"
        raise InvalidInputError(
            [Problem(field, rule, "Name the stack of the mesh itself, or correct its name")], SOURCE
        )
