"""What a mesh imports: its wishes in the document, held against what its peers offer to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pulumi_hosted_mesh.federation.exports import host_is_agreed, is_declared, refused
from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.federation import Federation, Import, Offer, OfferedService, Peer, Protocol, Retry
from pulumi_hosted_mesh.spec.fields import is_address


@dataclass(frozen=True)
class Imported:
    """A service of others as a mesh calls it.

    host: its name here. offered: what it is there; one for all peers that serve it. peers: who serves it.
    namespaces: of its callers here, or none for all. retry: what is asked again of another of several peers.
    try_timeout: seconds, or none for no limit.
    """

    host: str
    offered: OfferedService
    peers: tuple[Peer, ...]
    namespaces: tuple[str, ...] = ()
    retry: Retry = Retry.IDEMPOTENT
    try_timeout: int | None = None


def imported(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Imported]:
    """What a peer imports, by host.

    Raises: InvalidInputError for an import of what nobody exports to this mesh, for two of one host, and where several
    peers serve one import under different hosts, ports or kinds of address.
    """
    by_mesh = {one.mesh: one for one in offers if one.federation == federation.name}
    found: dict[str, Imported] = {}
    for position, wish in enumerate(federation.peer(mesh).imports):
        field = f"imports[{position}] of {mesh}"
        for one in _wished(federation, mesh, wish, by_mesh, field):
            if one.host in found:
                rule = f"has host {one.host}, and so has another import"
                raise refused(field, rule, "Give one of them a host of its own, or name both meshes in one import")
            found[one.host] = one
    return [found[host] for host in sorted(found)]


def left_out(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Problem]:
    """What is offered to a peer and fits an import, and is not imported: each with the reason, and how to import it.

    Of a peer whose offer is missing nothing is said.
    """
    by_mesh = {one.mesh: one for one in offers if one.federation == federation.name}
    fitting = [
        (f"imports[{position}] of {mesh}", peer, one, _unnamed(federation, peer, wish, one))
        for position, wish in enumerate(federation.peer(mesh).imports)
        for peer in wish.meshes
        if peer in by_mesh
        for one in by_mesh[peer].services
        if one.is_for(mesh) and _fits(wish, one)
    ]
    taken = {(peer, one.host) for _, peer, one, why in fitting if why is None}
    return [
        Problem(field, f"does not import {one.host} of {peer}, which {why}", _name_it(peer, one))
        for field, peer, one, why in fitting
        if why is not None and (peer, one.host) not in taken
    ]


def _wished(
    federation: Federation, mesh: str, wish: Import, offers: dict[str, Offer], field: str
) -> Iterator[Imported]:
    served: dict[str, list[tuple[Peer, OfferedService]]] = {}
    for peer in wish.meshes:
        if peer not in offers:
            raise refused(field, f"needs what {peer} exports, which is not given", f"Give the offer of {peer}")
        fitting = [one for one in offers[peer].services if one.is_for(mesh) and _fits(wish, one)]
        if not fitting:
            rule = f"asks for what {peer} does not export to {mesh}"
            raise refused(field, rule, f"Export it there to {mesh}, or leave the import out")
        for one in fitting:
            if not host_is_agreed(federation, peer, one):
                rule = f"would take host {one.host} from {peer}, which the document does not let it serve"
                raise refused(field, rule, f"Have {peer} correct its offer, or declare host in its exports")
        named = [one for one in fitting if _unnamed(federation, peer, wish, one) is None]
        if not named:
            rule = f"would take {fitting[0].host} from {peer}, which {_unnamed(federation, peer, wish, fitting[0])}"
            raise refused(field, rule, f"{_name_it(peer, fitting[0])}; or leave the import out")
        for one in named:
            served.setdefault(one.host, []).append((federation.peer(peer), one))
    if wish.host is not None and len(served) > 1:
        rule = f"has one host for {len(served)} services ({', '.join(sorted(served))})"
        raise refused(field, rule, "Export them under one host, or import each by itself")
    for host, serving in served.items():
        peers, offered = [peer for peer, _ in serving], serving[0][1]
        if len({(one.port, one.protocol) for _, one in serving}) > 1:
            rule = f"has {host} from peers that serve it on different ports or protocols"
            raise refused(field, rule, "Import from one of them, or make them the same")
        # Through an egress gateway each has an entry of its own.
        direct = federation.peer(mesh).egress is None
        if direct and len({is_address(peer.gateway.address) for peer in peers}) > 1:
            rule = f"has {host} from gateways of which some are IP addresses and some are names"
            raise refused(field, rule, "Give all of their gateways names, or all addresses")
        serving_peers = tuple(sorted(peers, key=lambda one: one.mesh))
        namespaces = tuple(sorted({*wish.namespaces}))
        yield Imported(wish.host or host, offered, serving_peers, namespaces, wish.retry, wish.try_timeout_seconds)


def _fits(wish: Import, offered: OfferedService) -> bool:
    return (
        wish.namespace in (None, offered.namespace)
        and wish.service in (None, offered.service)
        and wish.port in (None, offered.port)
    )


def _unnamed(federation: Federation, peer: str, wish: Import, offered: OfferedService) -> str | None:
    """Why what fits an import is not taken by it; None if it is.

    By its offer alone a peer may not choose a port of which it gets all TCP of the importing mesh: an import has no
    address of its own. Nor one that proxies open for HTTP, for they wait there until a client has spoken, and so for
    ever where a server would begin. And a host outside of the federation's domain may be anybody's.
    """
    port = wish.port is not None or is_declared(federation, peer, offered)
    if offered.protocol is Protocol.TCP:
        if wish.service is None or not port:
            return f"is TCP, of which all to port {offered.port} would go there"
    elif not port and offered.port not in wish.ports:
        return f"would have proxies take what goes to port {offered.port} for HTTP, by its labels alone"
    if wish.service is None and not offered.host.endswith(f".{federation.domain}"):
        return "lies outside of the federation's domain"
    return None


def _name_it(peer: str, offered: OfferedService) -> str:
    """What to do to import what is offered: the import that names it."""
    port = f"port: {offered.port}"
    named = f"{{meshes: [{peer}], namespace: {offered.namespace}, service: {offered.service}, {port}}}"
    ports = "" if offered.protocol is Protocol.TCP else "; or its port in ports of this one"
    return f"To have it, name it in an import, `{named}`{ports}"
