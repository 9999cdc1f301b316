"""The exports of a mesh: from its part of the document, and from its cluster's Services if labels select them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.federation import Audience, Export, Federation, Offer, OfferedService, Protocol
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.spec.name_lengths import federated_names, require_short_names

Manifest = Mapping[str, Any]
# Istio's ConvertProtocol (pkg/config/kube/conversion.go) and protocol.Parse: in any case, the prefix up to the first
# dash. TLS is passed through, so it is TCP here, like protocols without HTTP's requests.
BY_PREFIX = {"http": Protocol.HTTP, "http2": Protocol.HTTP2, "grpc": Protocol.GRPC}
GRPC_WEB = "grpc-web"
BY_KUBERNETES_NAME = {
    "kubernetes.io/h2c": Protocol.HTTP2,
    "kubernetes.io/ws": Protocol.HTTP,
    "kubernetes.io/wss": Protocol.TCP,
}
"""Only as `appProtocol`."""
LONGEST_HOST = 253


def offer(federation: Federation, mesh: str, services: Iterable[Manifest] = ()) -> Offer:
    """The offer of a peer. services: of its cluster, as its API server stores them; for exports that select by label.

    Raises: InvalidInputError if two exports have one host, or one has an invalid or too long a host.
    """
    peer, own_services = federation.peer(mesh), list(services)
    found: dict[str, OfferedService] = {}
    for position, export in enumerate(peer.exports):
        for one in _offered(federation, export, own_services):
            field = f"exports[{position}] of {mesh}"
            try:
                require_short_names(federated_names(federation.name, one.host, "the host"))
            except RuleBrokenError as broken:
                raise refused(field, broken.rule, broken.fix) from None
            if one.host in found:
                raise refused(field, f"has host {one.host}, and so has another export", "Give it another host")
            found[one.host] = one
    return Offer(federation=federation.name, mesh=mesh, services=tuple(found[host] for host in sorted(found)))


def needs_reading(federation: Federation, mesh: str) -> bool:
    """Whether some export of a peer selects Services, so that its cluster has to be read."""
    return any(export.service is None for export in federation.peer(mesh).exports)


def with_declared(federation: Federation, given: Sequence[Offer]) -> list[Offer]:
    """The given offers, and those of the other peers that the document declares completely."""
    offering = {one.mesh for one in given}
    declared = [
        offer(federation, peer.mesh)
        for peer in federation.peers
        if peer.mesh not in offering and not needs_reading(federation, peer.mesh)
    ]
    return [*given, *declared]


def allowed(federation: Federation, mesh: str, offered: OfferedService) -> list[tuple[str, str]]:
    """The permitted callers of an offered service: peer and identity of each, if offer and document both allow it.

    An offer can be older than the document: callers that the document's export no longer names are rejected.
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
    """Whether the document lets a mesh serve a host: below the federation's domain, or declared in an export.

    Without this check a peer could offer any name, and would receive the requests of other meshes to it.
    """
    declared = {export.host for export in federation.peer(mesh).exports if _covers(federation, export, offered)}
    own = f"{offered.service}.{offered.namespace}.{federation.domain}"
    return offered.host in declared or offered.host == own or offered.host.endswith(f".{own}")


def is_declared(federation: Federation, mesh: str, offered: OfferedService) -> bool:
    """Whether the document itself names an offered service with its port and protocol, not only by labels."""
    exports = federation.peer(mesh).exports
    return any(one.service is not None and _covers(federation, one, offered) for one in exports)


def _covers(federation: Federation, export: Export, offered: OfferedService) -> bool:
    """Whether an export of the document covers an offered service."""
    if export.namespace != offered.namespace:
        return False
    if export.service is None:
        return True
    host = export.host or f"{export.service}.{export.namespace}.{federation.domain}"
    declared = (export.service, export.port, export.protocol, host)
    return declared == (offered.service, offered.port, offered.protocol, offered.host)


def protocol_of(port: Manifest) -> Protocol:
    """Protocol of a Service's port, as Istio reads it. A port without a declared protocol is TCP.

    With `appProtocol` Istio ignores the port's name.
    """
    app_protocol = port.get("appProtocol")
    if app_protocol in BY_KUBERNETES_NAME:
        return BY_KUBERNETES_NAME[app_protocol]
    name = str((port.get("name") or "") if app_protocol is None else app_protocol).lower()
    if name.startswith(GRPC_WEB):
        return Protocol.HTTP
    return BY_PREFIX.get(name.partition("-")[0], Protocol.TCP)


def _offered(federation: Federation, export: Export, services: list[Manifest]) -> Iterator[OfferedService]:
    to = tuple(sorted(export.to, key=lambda one: one.mesh))
    if export.service is not None and export.port is not None:
        host = export.host or f"{export.service}.{export.namespace}.{federation.domain}"
        yield _service(export, export.service, export.port, export.protocol, host, to)
        return
    for one in services:
        metadata, ports = one["metadata"], one["spec"].get("ports") or []
        labels = metadata.get("labels") or {}
        if metadata["namespace"] != export.namespace or not export.labels.items() <= labels.items():
            continue
        if one["spec"].get("type") == "ExternalName":
            # An ExternalName may be an alias of an import. Its export could create a loop.
            continue
        for port in ports:
            if port.get("protocol", "TCP") != "TCP":
                continue
            name = f"{metadata['name']}.{export.namespace}.{federation.domain}"
            # The gateway chooses the port by the TLS server name, so each port has its own name.
            host = name if len(ports) == 1 else f"{port['name']}.{name}"
            yield _service(export, metadata["name"], port["port"], protocol_of(port), host, to)


def _service(
    export: Export, service: str, port: int, protocol: Protocol, host: str, to: tuple[Audience, ...]
) -> OfferedService:
    """An offered service, checked. Raises: InvalidInputError."""
    if len(host) > LONGEST_HOST:
        rule = f"would have a host of {len(host)} characters, more than {LONGEST_HOST}: {host}"
        raise refused(f"exports of {export.namespace}/{service}", rule, "Set host, or a shorter domain")
    facts = {"namespace": export.namespace, "service": service, "port": port, "protocol": protocol, "host": host}
    return read_arguments(OfferedService, {**facts, "to": to}, f"the export of {export.namespace}/{service}")


def refused(field: str, rule: str, fix: str) -> InvalidInputError:
    """An error in a federation's document, or in its offers and Services."""
    return InvalidInputError([Problem(field, rule, fix)], "the federation")
