"""What a mesh exports: from its part of the document, and from the Services of its cluster where labels select them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
            field = f"exports[{position}]"
            if len(one.host) > LONGEST_HOST:
                raise _refused(mesh, field, f"has a host of more than {LONGEST_HOST} characters", "Give it a host")
            if one.host in found:
                raise _refused(mesh, field, f"has host {one.host}, and so has another export", "Give it another host")
            found[one.host] = one
    return Offer(federation=federation.name, mesh=mesh, services=tuple(found[host] for host in sorted(found)))


def needs_reading(federation: Federation, mesh: str) -> bool:
    """Whether some export of a peer selects Services, so that its cluster has to be read."""
    return any(export.service is None for export in federation.peer(mesh).exports)


def identities(federation: Federation, mesh: str, offered: OfferedService) -> dict[str, tuple[str, ...]]:
    """Who may call what a mesh offers: identities by peer. Of exports that overlap, all of them."""
    allowed: dict[str, tuple[str, ...]] = {}
    for export in federation.peer(mesh).exports:
        if export.namespace == offered.namespace and export.service in (None, offered.service):
            for one in export.to:
                if one.mesh in offered.to:
                    allowed[one.mesh] = (*allowed.get(one.mesh, ()), *one.identities)
    return {peer: tuple(sorted(set(found))) for peer, found in sorted(allowed.items())}


def protocol_of(port: Manifest) -> Protocol:
    """What a port of a Service speaks, as Istio reads it; what it would have to guess counts as TCP."""
    said = str(port.get("appProtocol") or "").removeprefix("kubernetes.io/").replace("h2c", "http2")
    name = str(port.get("name") or "")
    return BY_PREFIX.get(said) or BY_PREFIX.get(name) or BY_PREFIX.get(name.partition("-")[0]) or Protocol.TCP


def _offered(federation: Federation, export: Export, services: list[Manifest]) -> Iterator[OfferedService]:
    to = tuple(sorted(one.mesh for one in export.to))
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


def _refused(mesh: str, field: str, rule: str, fix: str) -> InvalidInputError:
    return InvalidInputError([Problem(f"{field} of {mesh}", rule, fix)], "the federation")
