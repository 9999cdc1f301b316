"""Which names the program publishes itself, and what says so: other stacks' outputs, and the configuration. Pure.

Hosts come from what the operator wrote, his control planes' documents and the federation's; of a data plane's stack the
address alone is taken, so who runs that can lead nobody astray but callers of his own gateway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.dns import records
from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.fields import is_address

SOURCE: Final = "the stack's configuration"
RUN: Final = "Run `pulumi up --refresh` of that stack once its load balancer has an address"


@dataclass(frozen=True)
class Known:
    """A name, where it leads, and which field of the configuration it comes from."""

    host: str
    targets: tuple[str, ...]
    field: str


def of_control_plane(mesh: str, endpoints: Mapping[str, Any], addresses: Mapping[str, Sequence[str]]) -> list[Known]:
    """istiod's hosts, of the outputs of a stack `control-plane`; none for `exposure: external`.

    Raises: InvalidInputError if it is another mesh's, or has no address yet.
    """
    field = f"references.controlPlanes.{mesh}"
    _require_mesh(mesh, endpoints, field)
    if waiting := sorted(host for host, found in addresses.items() if not found):
        raise InvalidInputError([Problem(field, f"names a stack that has no address for {waiting[0]}", RUN)], SOURCE)
    return [Known(host, tuple(found), field) for host, found in sorted(addresses.items())]


def of_gateway(
    federation: Federation, mesh: str, endpoints: Mapping[str, Any], addresses: Mapping[str, Sequence[str]]
) -> Known:
    """The host of a peer's east-west gateway, of the outputs of its stack `data-plane`.

    Raises: InvalidInputError if it is no peer, or another mesh's stack; if the gateway has no host, or no address yet.
    """
    field = f"references.dataPlanes.{mesh}"
    peers = {one.mesh: one for one in federation.peers}
    if mesh not in peers:
        rule = f"is no peer of federation {federation.name}"
        raise InvalidInputError([Problem(field, rule, "Correct the name, or leave it out")], SOURCE)
    _require_mesh(mesh, endpoints, field)
    gateway = peers[mesh].gateway
    if is_address(gateway.address):
        rule = f"has no name to publish: in federation {federation.name} its gateway.address is an IP address"
        raise InvalidInputError([Problem(field, rule, "Give a host name there, or leave the reference out")], SOURCE)
    name = f"{peers[mesh].gateway_namespace}/{gateway.name}"
    if name not in addresses:
        rule = f"names a stack that has no gateway {name}"
        fix = "Add it to the gateways of that data plane's document, or correct gateway.name in the federation's"
        raise InvalidInputError([Problem(field, rule, fix)], SOURCE)
    if not addresses[name]:
        raise InvalidInputError([Problem(field, f"names a stack that has no address for {name}", RUN)], SOURCE)
    return Known(gateway.address, tuple(addresses[name]), field)


def own_records(known: Iterable[Known], pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Targets by host. pairs: the control plane's own.

    Raises: InvalidInputError for a host that two fields give, that lies in no zone of the control plane's, or that
    leads to what is no address.
    """
    found: dict[str, Known] = {}
    problems = []
    for one in known:
        if one.host in found:
            rule = f"has {one.host}, which {found[one.host].field} has too"
            problems.append(Problem(one.field, rule, "Leave it out of one of them, or give one another name"))
        found.setdefault(one.host, one)
    targets = {one.host: list(one.targets) for one in found.values()}
    problems += records.problems(targets, pairs, {one.host: one.field for one in found.values()})
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
