"""The services that an import selects, and the reasons why it does not include a matching one. Pure."""

from __future__ import annotations

from pulumi_hosted_mesh.federation.exports import is_declared
from pulumi_hosted_mesh.spec.federation import Federation, Import, Offer, OfferedService, Protocol


def fitting(wish: Import, mesh: str, offered: Offer) -> list[OfferedService]:
    """The services of an offer for a mesh that match an import, named or not."""
    return [one for one in offered.services if one.is_for(mesh) and fits(wish, one)]


def fits(wish: Import, offered: OfferedService) -> bool:
    """Whether an offered service matches an import."""
    return (
        wish.namespace in (None, offered.namespace)
        and wish.service in (None, offered.service)
        and wish.port in (None, offered.port)
    )


def unnamed(federation: Federation, peer: str, wish: Import, offered: OfferedService) -> str | None:
    """The reason why an import does not include a matching service; None if it does.

    An offer alone must not choose these, so the import has to name them:
    - A TCP port: an import has no address of its own, so the peer would receive all TCP of the mesh to that port.
    - A port that proxies open for HTTP: they wait there for the client's first bytes, so server-first protocols would
      hang.
    - A host outside of the federation's domain: it may belong to another owner.
    """
    port = wish.port is not None or is_declared(federation, peer, offered)
    if offered.protocol is Protocol.TCP:
        if wish.service is None or not port:
            return f"is TCP, so all TCP to port {offered.port} would go there"
    elif not port and offered.port not in wish.ports:
        return f"is selected by labels only, and would make proxies treat port {offered.port} as HTTP"
    if wish.service is None and not offered.host.endswith(f".{federation.domain}"):
        return "lies outside of the federation's domain"
    return None


def import_to_add(peer: str, offered: OfferedService) -> str:
    """The fix for a service that is not imported: the import that names it."""
    port = f"port: {offered.port}"
    named = f"{{meshes: [{peer}], namespace: {offered.namespace}, service: {offered.service}, {port}}}"
    ports = "" if offered.protocol is Protocol.TCP else "; or its port in ports of this one"
    return f"Name it in an import, `{named}`{ports}"
