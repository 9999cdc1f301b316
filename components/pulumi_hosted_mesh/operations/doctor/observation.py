"""What the doctor reads: a mesh's federation objects, its gateway, its roots; on request its authority. Read-only."""

from __future__ import annotations

import base64
import binascii
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.spec.federation import Federation, Peer
from pulumi_hosted_mesh.spec.fields import is_address
from pulumi_hosted_mesh.vocabulary import (
    CACERTS_SECRET,
    FEDERATION_LABEL,
    MESH_LABEL,
    namespace_of,
    root_certificate_config_map,
)

Manifest = Mapping[str, Any]
Resolve = Callable[[str], tuple[str, ...]]
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "Gateway": ("networking.istio.io/v1", "gateways"),
    "VirtualService": ("networking.istio.io/v1", "virtualservices"),
    "ServiceEntry": ("networking.istio.io/v1", "serviceentries"),
    "DestinationRule": ("networking.istio.io/v1", "destinationrules"),
    "AuthorizationPolicy": ("security.istio.io/v1", "authorizationpolicies"),
}


@dataclass(frozen=True)
class Observed:
    """One mesh as it was read.

    objects: what carries the federation's label. service, deployment: the gateway's. root: PEM, as its proxies have it.
    resolved: addresses of each gateway's name, as this machine resolves it; empty where it does not.
    cacerts: files of the mesh's authority, its key among them; None if there is no Secret. authority_was_read: False
    where no credential of the control plane was given. now: UTC.
    """

    objects: tuple[Manifest, ...]
    service: Manifest | None
    deployment: Manifest | None
    root: str | None
    resolved: Mapping[str, tuple[str, ...]]
    now: datetime
    cacerts: Mapping[str, str] | None = None
    authority_was_read: bool = False

    def __repr__(self) -> str:
        """Without what it holds: a private key is among it."""
        return f"Observed({len(self.objects)} objects)"


def resolved_here(host: str) -> tuple[str, ...]:
    """The addresses of a name by this machine's resolver; none if it has none."""
    try:
        return tuple(sorted({str(one[4][0]) for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}))
    except OSError:
        return ()


def observe(
    federation: Federation,
    mesh: str,
    data_plane: ApiServer,
    control_plane: ApiServer | None = None,
    resolve: Resolve = resolved_here,
) -> Observed:
    """Reads one mesh. control_plane: where its istiod runs, to look at its authority. Raises: UnreachableError."""
    peer = federation.peer(mesh)
    space = quote(peer.gateway_namespace)
    service = f"/api/v1/namespaces/{space}/services/{quote(peer.gateway.name)}"
    deployment = f"/apis/apps/v1/namespaces/{space}/deployments/{quote(peer.gateway.name)}"
    root = f"/api/v1/namespaces/{space}/configmaps/{quote(root_certificate_config_map(mesh))}"
    return Observed(
        objects=tuple(_objects(federation.name, mesh, data_plane)),
        service=data_plane.get(service),
        deployment=data_plane.get(deployment),
        root=((data_plane.get(root) or {}).get("data") or {}).get("root-cert.pem"),
        resolved={one.gateway.address: _addresses(one, resolve) for one in _called(federation, peer)},
        cacerts=_cacerts(mesh, control_plane) if control_plane else None,
        authority_was_read=control_plane is not None,
        now=datetime.now(UTC),
    )


def _objects(federation: str, mesh: str, api: ApiServer) -> Iterable[Manifest]:
    selector = urlencode({"labelSelector": f"{FEDERATION_LABEL}={federation},{MESH_LABEL}={mesh}"})
    for kind, (version, plural) in KINDS.items():
        for one in api.list(f"/apis/{version}/{plural}?{selector}"):
            yield {**one, "apiVersion": version, "kind": kind}


def _called(federation: Federation, peer: Peer) -> Iterable[Peer]:
    """Itself, and whom it imports from."""
    wanted = {peer.mesh, *(mesh for one in peer.imports for mesh in one.meshes)}
    return (one for one in federation.peers if one.mesh in wanted)


def _addresses(peer: Peer, resolve: Resolve) -> tuple[str, ...]:
    return (peer.gateway.address,) if is_address(peer.gateway.address) else resolve(peer.gateway.address)


def _cacerts(mesh: str, api: ApiServer) -> Mapping[str, str] | None:
    found = api.get(f"/api/v1/namespaces/{namespace_of(mesh)}/secrets/{CACERTS_SECRET}")
    if found is None:
        return None
    return {name: _decoded(value) for name, value in (found.get("data") or {}).items()}


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
