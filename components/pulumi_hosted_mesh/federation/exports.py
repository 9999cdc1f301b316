"""What a mesh exports: from its part of the document, and from the Services of its cluster where labels select them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Export, Federation, Offer, OfferedService, Protocol

Manifest = Mapping[str, Any]
# istio.io/docs/ops/configuration/traffic-management/protocol-selection: the port's name up to its first dash.
BY_PREFIX = {"http": Protocol.HTTP, "http2": Protocol.HTTP2, "grpc": Protocol.GRPC, "grpc-web": Protocol.HTTP}
LONGEST_HOST = 253


def offer(federation: Federation, mesh: str, services: Iterable[Manifest] = ()) -> Offer:
    """What a peer exports. services: of its cluster, as its API server stores them; for exports that select by label.

    Raises: InvalidInputError if two exports have one host, or one has too long a host.
    """
    peer, known = federation.peer(mesh), list(services)
    found: dict[str, OfferedService] = {}
    for position, export in enumerate(peer.exports):
        for one in _offered(federation, export, known):
            field = f"exports[{position}] of {mesh}"
            if len(one.host) > LONGEST_HOST:
                raise refused(field, f"has a host of more than {LONGEST_HOST} characters", "Give it a host")
            if one.host in found:
                raise refused(field, f"has host {one.host}, and so has another export", "Give it another host")
            found[one.host] = one
    return Offer(federation=federation.name, mesh=mesh, services=tuple(found[host] for host in sorted(found)))


def needs_reading(federation: Federation, mesh: str) -> bool:
    """Whether some export of a peer selects Services, so that its cluster has to be read."""
    return any(export.service is None for export in federation.peer(mesh).exports)


def with_declared(federation: Federation, given: Sequence[Offer]) -> list[Offer]:
    """The offers that are given, and those of other peers that can be told from the document alone."""
    known = {one.mesh for one in given}
    told = [
        offer(federation, peer.mesh)
        for peer in federation.peers
        if peer.mesh not in known and not needs_reading(federation, peer.mesh)
    ]
    return [*given, *told]


def allowed(federation: Federation, mesh: str, offered: OfferedService) -> list[tuple[str, str]]:
    """Who may call what a mesh offers: peer and identity of each, as its offer says and the document still allows.

    An offer may be older than the document: who is no longer in the document's export is not let in.
    """
    document = {
        (one.mesh, identity)
        for export in federation.peer(mesh).exports
        if _covers(federation, export, offered)
        for one in export.to
        for identity in one.identities
    }
    return sorted({(one.mesh, identity) for one in offered.to for identity in one.identities} & document)


def host_is_agreed(federation: Federation, mesh: str, offered: OfferedService) -> bool:
    """Whether a host is one that the document lets a mesh serve: below the federation's domain, or declared there.

    Without it a peer could offer any name, and what a mesh sends to that name would go to the peer.
    """
    declared = {export.host for export in federation.peer(mesh).exports if _covers(federation, export, offered)}
    own = f"{offered.service}.{offered.namespace}.{federation.domain}"
    return offered.host in declared or offered.host == own or offered.host.endswith(f".{own}")


def is_declared(federation: Federation, mesh: str, offered: OfferedService) -> bool:
    """Whether the document itself names what a mesh offers, with its port and protocol, and not its labels alone."""
    exports = federation.peer(mesh).exports
    return any(one.service is not None and _covers(federation, one, offered) for one in exports)


def _covers(federation: Federation, export: Export, offered: OfferedService) -> bool:
    """Whether an export of the document is about what is offered."""
    if export.namespace != offered.namespace:
        return False
    if export.service is None:
        return True
    host = export.host or f"{export.service}.{export.namespace}.{federation.domain}"
    declared = (export.service, export.port, export.protocol, host)
    return declared == (offered.service, offered.port, offered.protocol, offered.host)


def protocol_of(port: Manifest) -> Protocol:
    """What a port of a Service speaks, as Istio reads it; what it would have to guess counts as TCP."""
    said = str(port.get("appProtocol") or "").removeprefix("kubernetes.io/").replace("h2c", "http2")
    name = str(port.get("name") or "")
    return BY_PREFIX.get(said) or BY_PREFIX.get(name) or BY_PREFIX.get(name.partition("-")[0]) or Protocol.TCP


def _offered(federation: Federation, export: Export, services: list[Manifest]) -> Iterator[OfferedService]:
    to = tuple(sorted(export.to, key=lambda one: one.mesh))
    if export.service is not None and export.port is not None:
        host = export.host or f"{export.service}.{export.namespace}.{federation.domain}"
        yield OfferedService(
            namespace=export.namespace,
            service=export.service,
            port=export.port,
            protocol=export.protocol,
            host=host,
            to=to,
        )
        return
    for one in services:
        metadata, ports = one["metadata"], one["spec"].get("ports") or []
        labels = metadata.get("labels") or {}
        if metadata["namespace"] != export.namespace or not export.labels.items() <= labels.items():
            continue
        if one["spec"].get("type") == "ExternalName":
            # Another name for something elsewhere, for an import too: an export of that could lead in a circle.
            continue
        for port in ports:
            if port.get("protocol", "TCP") != "TCP":
                continue
            name = f"{metadata['name']}.{export.namespace}.{federation.domain}"
            yield OfferedService(
                namespace=export.namespace,
                service=metadata["name"],
                port=port["port"],
                protocol=protocol_of(port),
                # The TLS server name tells the gateway which port is meant, so each port has a name of its own.
                host=name if len(ports) == 1 else f"{port['name']}.{name}",
                to=to,
            )


def refused(field: str, rule: str, fix: str) -> InvalidInputError:
    """An error in a federation's document, or in what belongs to it."""
    return InvalidInputError([Problem(field, rule, fix)], "the federation")
