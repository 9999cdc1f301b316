"""The imports of a mesh: its part of the document, matched with its peers' offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pulumi_hosted_mesh.federation.exports import host_is_agreed, refused
from pulumi_hosted_mesh.federation.overlaps import overlaps, repeated_host
from pulumi_hosted_mesh.federation.selection import fitting, import_to_add, unnamed
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation, Import, Offer, OfferedService, Peer, Retry, TcpKeepalive
from pulumi_hosted_mesh.spec.fields import is_address


@dataclass(frozen=True)
class Imported:
    """A service of other meshes, as the importing mesh calls it.

    host: its name in the importing mesh. offered: the service as its peers offer it, one for all of them.
    peers: those that serve it. namespaces: of its callers; empty for all. retry: requests that are repeated at another
    peer. try_timeout: seconds; None for no limit. keepalive: of idle connections.
    """

    host: str
    offered: OfferedService
    peers: tuple[Peer, ...]
    namespaces: tuple[str, ...] = ()
    retry: Retry = Retry.IDEMPOTENT
    try_timeout: int | None = None
    keepalive: TcpKeepalive = field(default_factory=TcpKeepalive)


def imported(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Imported]:
    """The imports of a peer, ordered by host. An import without a matching offer is left out (`withdrawn`).

    Raises: InvalidInputError for two imports of one host; for a `required` import that a peer does not export; for
    peers that serve one import under different hosts, ports or kinds of address.
    """
    by_mesh = {one.mesh: one for one in offers if one.federation == federation.name}
    if overlapping := overlaps(federation, mesh):
        raise InvalidInputError(overlapping, "the federation")
    found: dict[str, tuple[int, Imported]] = {}
    for position, wish in enumerate(federation.peer(mesh).imports):
        field = f"imports[{position}] of {mesh}"
        for one in _wished(federation, mesh, wish, by_mesh, field):
            if one.host in found:
                first, other = found[one.host]
                meshes = {peer.mesh for peer in (*one.peers, *other.peers)}
                raise InvalidInputError([repeated_host(mesh, (first, position), one.host, meshes)], "the federation")
            found[one.host] = position, one
    return [found[host][1] for host in sorted(found)]


def require_usable(federation: Federation, mesh: str, offers: Iterable[Offer]) -> None:
    """Checks a peer's imports as far as the document and the given offers show them.

    Raises: InvalidInputError as `imported`.
    """
    given = list(offers)
    known = {one.mesh for one in given if one.federation == federation.name}
    if {peer for wish in federation.peer(mesh).imports for peer in wish.meshes} <= known:
        imported(federation, mesh, given)
    elif problems := overlaps(federation, mesh):
        raise InvalidInputError(problems, "the federation")


def withdrawn(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Problem]:
    """The peers of imports that export no matching service: their imports are left out, the others stay.

    Peers without an offer are skipped.
    """
    by_mesh = {one.mesh: one for one in offers if one.federation == federation.name}
    return [
        Problem(
            f"imports[{position}] of {mesh}",
            f"is left out for {peer}, which exports no such service to {mesh}",
            f"Remove it or correct it; with `required: true` this is an error. Without an import {mesh} goes on, and "
            f"the import returns with an export of {peer}",
        )
        for position, wish in enumerate(federation.peer(mesh).imports)
        for peer in wish.meshes
        if peer in by_mesh and not fitting(wish, mesh, by_mesh[peer])
    ]


def notices(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Problem]:
    """All parts of a peer's imports that are left out: withdrawn services, and services that an import must name."""
    given = list(offers)
    return [*withdrawn(federation, mesh, given), *left_out(federation, mesh, given)]


def left_out(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Problem]:
    """The offered services that match an import but are not imported: each with the reason and the fix.

    Peers without an offer are skipped.
    """
    by_mesh = {one.mesh: one for one in offers if one.federation == federation.name}
    matching = [
        (f"imports[{position}] of {mesh}", peer, one, unnamed(federation, peer, wish, one))
        for position, wish in enumerate(federation.peer(mesh).imports)
        for peer in wish.meshes
        if peer in by_mesh
        for one in fitting(wish, mesh, by_mesh[peer])
    ]
    taken = {(peer, one.host) for _, peer, one, why in matching if why is None}
    return [
        Problem(field, f"does not import {one.host} of {peer}, which {why}", import_to_add(peer, one))
        for field, peer, one, why in matching
        if why is not None and (peer, one.host) not in taken
    ]


def _wished(
    federation: Federation, mesh: str, wish: Import, offers: dict[str, Offer], field: str
) -> Iterator[Imported]:
    served: dict[str, list[tuple[Peer, OfferedService]]] = {}
    for peer in wish.meshes:
        if peer not in offers:
            raise refused(field, f"needs the offer of {peer}, which is missing", f"Add the offer of {peer}")
        matching = fitting(wish, mesh, offers[peer])
        if not matching and wish.required:
            rule = f"names a service that {peer} does not export to {mesh}"
            raise refused(field, rule, f"Export it there to {mesh}, or remove required or the import")
        for one in matching:
            if not host_is_agreed(federation, peer, one):
                rule = f"would import host {one.host} from {peer}, but the document does not let {peer} serve it"
                raise refused(field, rule, f"Correct the offer of {peer}, or declare host in its exports")
        named = [one for one in matching if unnamed(federation, peer, wish, one) is None]
        if matching and not named and wish.required:
            rule = f"would import {matching[0].host} from {peer}, which {unnamed(federation, peer, wish, matching[0])}"
            raise refused(field, rule, f"{import_to_add(peer, matching[0])}; or remove the import")
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
        # Through an egress gateway each peer has its own address.
        direct = federation.peer(mesh).egress is None
        if direct and len({is_address(peer.gateway.address) for peer in peers}) > 1:
            rule = f"has {host} from gateways with IP addresses and from gateways with names"
            raise refused(field, rule, "Give all of their gateways names, or all addresses")
        serving_peers = tuple(sorted(peers, key=lambda one: one.mesh))
        namespaces = tuple(sorted({*wish.namespaces}))
        yield Imported(
            wish.host or host,
            offered,
            serving_peers,
            namespaces,
            wish.retry,
            wish.try_timeout_seconds,
            wish.tcp_keepalive,
        )
