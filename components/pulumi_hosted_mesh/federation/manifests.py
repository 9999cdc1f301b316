"""The Istio objects of one mesh of a federation. Pure and plain: public facts alone, so a preview shows all of it.

Exports: one Gateway whose servers end mutual TLS, a VirtualService for each host, and one AuthorizationPolicy, which
also refuses everything where nothing is exported. Imports: a ServiceEntry and a DestinationRule for each host, and a
VirtualService where it is renamed or several meshes serve it. With bundles of roots EnvoyFilters on both sides. Of a
mesh with an egress gateway also what that one is told (`egress`), and a ServiceEntry leads there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.federation import bundles, egress
from pulumi_hosted_mesh.federation.exports import allowed, refused
from pulumi_hosted_mesh.federation.imports import Imported, imported
from pulumi_hosted_mesh.federation.routes import http_routes
from pulumi_hosted_mesh.spec.federation import Federation, Offer, OfferedService, Peer, Protocol
from pulumi_hosted_mesh.spec.fields import is_address
from pulumi_hosted_mesh.vocabulary import DATA_PLANE, FEDERATION_LABEL, PEERS_ANNOTATION, namespace_of

Manifest = dict[str, Any]
NETWORKING, SECURITY = "networking.istio.io/v1", "security.istio.io/v1"
FILTERS = "networking.istio.io/v1alpha3"  # the only version of EnvoyFilter
# Until TLS is established. Istio's own is 10 s, for each try at a gateway whose packets vanish. A lost first packet is
# sent again after 1 s (RFC 6298), which leaves a second for the rest.
CONNECT_TIMEOUT = "2s"


def objects(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Manifest]:
    """All objects of a peer, in its own cluster. offers: its own, and of those that it imports from.

    Raises: InvalidInputError as `imported`, and where the mesh is no peer or its own offer is missing.
    """
    given = list(offers)
    if mesh not in {one.mesh for one in federation.peers}:
        raise refused("mesh", f"{mesh} is no peer of federation {federation.name}", "Name one of its peers")
    own = [one for one in given if one.mesh == mesh and one.federation == federation.name]
    if not own:
        raise refused("offers", f"has none of {mesh} itself", "Give it, or declare its exports by service and port")
    peer, wanted = federation.peer(mesh), imported(federation, mesh, given)
    return [
        *exporting(federation, peer, own[0]),
        *leaving(federation, peer, wanted),
        *(made for one in wanted for made in importing(federation, peer, one)),
    ]


def exporting(federation: Federation, peer: Peer, offer: Offer) -> Iterator[Manifest]:
    """The gateway's side of a mesh: what it lets in, whom, and where it sends it."""
    if offer.services:
        yield _object(federation, peer, NETWORKING, "Gateway", federation.name, _gateway(peer, offer.services))
    yield _object(
        federation, peer, SECURITY, "AuthorizationPolicy", federation.name, _authorization(federation, peer, offer)
    )
    if federation.has_bundles and (callers := _callers(federation, peer, offer.services)):
        spec = bundles.of_callers(peer, callers)
        yield _object(federation, peer, FILTERS, "EnvoyFilter", federation.name, spec, namespace=peer.gateway_namespace)
    for one in offer.services:
        yield _object(
            federation,
            peer,
            NETWORKING,
            "VirtualService",
            f"{federation.name}-{one.host}",
            _route(federation, peer, one),
        )


def leaving(federation: Federation, peer: Peer, wanted: Iterable[Imported]) -> Iterator[Manifest]:
    """What the egress gateway of a mesh needs, if it has one. wanted: all that the mesh imports."""
    for way in egress.ways(peer, wanted):
        name = egress.name_of(federation, way.to.mesh)
        for kind, spec in egress.specs(federation, way):
            yield _object(federation, peer, NETWORKING, kind, name, spec, namespace=peer.egress_namespace)


def importing(federation: Federation, peer: Peer, one: Imported) -> Iterator[Manifest]:
    """What callers in a mesh need for one service of others."""
    name = f"{federation.name}-{one.host}"
    annotations = {PEERS_ANNOTATION: ",".join(other.mesh for other in one.peers)}
    made = [("ServiceEntry", name, _entry(peer, one)), ("DestinationRule", name, _destination(one))]
    if routes := http_routes(one):
        # The name of an exported host's route is taken where a mesh both serves and calls it.
        made.append(("VirtualService", f"{name}-as", {"hosts": [one.host], "http": routes}))
    for kind, called, spec in made:
        scope = {"exportTo": list(one.namespaces)} if one.namespaces else {}
        yield _object(federation, peer, NETWORKING, kind, called, {**spec, **scope}, annotations)
    if federation.has_bundles:
        spec = bundles.of_gateways(one.host, one.peers)
        # Without a field like exportTo it is for the proxies of its namespace; in the mesh's own, for all.
        for namespace in one.namespaces or (namespace_of(peer.mesh),):
            yield _object(federation, peer, FILTERS, "EnvoyFilter", name, spec, annotations, namespace)


def _gateway(peer: Peer, services: Iterable[OfferedService]) -> Manifest:
    """Servers that end the callers' mutual TLS, for a policy can judge only what the gateway has seen.

    AUTO_PASSTHROUGH would leave it closed: Istio builds those filter chains without any authorization
    (pilot/pkg/networking/core/gateway.go, builtAutoPassthroughFilterChains).
    """
    # Without minProtocolVersion, which Istio reads where a server has its own certificate (isSimpleOrMutual there).
    tls = {"mode": "ISTIO_MUTUAL"}
    port = peer.gateway.port
    servers: list[Manifest] = []
    for name, of_server in _by_server(services).items():
        tcp = of_server[0].protocol is Protocol.TCP
        named = {"number": port, "name": name, "protocol": "TLS" if tcp else "HTTPS"}
        servers.append({"port": named, "tls": tls, "hosts": [egress.routed_here(one.host) for one in of_server]})
    return {"selector": {"app": peer.gateway.name}, "servers": servers}


def _by_server(services: Iterable[OfferedService]) -> dict[str, list[OfferedService]]:
    """What each server of the gateway serves, by its name.

    All of HTTP is in one, and each of TCP by itself: of one server with several hosts Istio would take one route.
    """
    given = list(services)
    http = [one for one in given if one.protocol is not Protocol.TCP]
    tcp = [one for one in given if one.protocol is Protocol.TCP]
    return {**({"https": http} if http else {}), **{f"tls-{number}": [one] for number, one in enumerate(tcp)}}


def _callers(federation: Federation, peer: Peer, services: Iterable[OfferedService]) -> list[tuple[str, list[Peer]]]:
    """For each of the gateway's servers that somebody may call: its first host, and the peers of the callers."""
    found = []
    for of_server in _by_server(services).values():
        meshes = {mesh for one in of_server for mesh, _ in allowed(federation, peer.mesh, one)}
        if meshes:
            found.append((of_server[0].host, [federation.peer(mesh) for mesh in sorted(meshes)]))
    return found


def _route(federation: Federation, peer: Peer, one: OfferedService) -> Manifest:
    host = f"{one.service}.{one.namespace}.svc.{peer.cluster_domain}"
    route = [{"destination": {"host": host, "port": {"number": one.port}}}]
    kind = "tcp" if one.protocol is Protocol.TCP else "http"
    return {"hosts": [one.host], "gateways": [federation.name], kind: [{"route": route}]}


def _authorization(federation: Federation, peer: Peer, offer: Offer) -> Manifest:
    """Who may call what. Without rules it lets nobody in, which is right where nothing is exported."""
    rules = []
    for one in offer.services:
        principals = [
            f"{federation.peer(mesh).domain}/ns/{namespace}/sa/{account}"
            for mesh, identity in allowed(federation, peer.mesh, one)
            for namespace, _, account in [identity.partition("/")]
        ]
        if not principals:  # an empty list would let everybody in
            continue
        rule: Manifest = {
            "from": [{"source": {"principals": principals}}],
            "when": [{"key": "connection.sni", "values": [one.host]}],
        }
        if one.protocol is not Protocol.TCP:
            # The route goes by this name, so a caller of one service cannot ask for another on the same connection.
            rule["to"] = [{"operation": {"hosts": [one.host, f"{one.host}:*"]}}]
        rules.append(rule)
    selector = {"matchLabels": {"app": peer.gateway.name}}
    return {"selector": selector, "action": "ALLOW", **({"rules": rules} if rules else {})}


def _entry(caller: Peer, one: Imported) -> Manifest:
    """Where the gateways are and who they are, in one object: a proxy never has the one without the other.

    Identities in the DestinationRule would arrive at another moment than the addresses, and a gateway that comes or
    goes would for that moment be called without being believed. Istio takes those of the entry where the rule has none
    (pilot/pkg/networking/core/cluster_tls.go, buildUpstreamTLSSettings).

    Through an egress gateway too there is one endpoint for each peer, with the peer's locality: which peer is asked,
    and asked again, is the caller's choice. caller: whose import it is.
    """
    name = one.offered.protocol.value.lower()
    addresses = {
        peer.mesh: egress.entrance(caller, peer) or (peer.gateway.address, peer.gateway.port) for peer in one.peers
    }
    endpoints = [
        {
            "address": addresses[peer.mesh][0],
            "ports": {name: addresses[peer.mesh][1]},
            **({"locality": peer.locality} if peer.locality else {}),
        }
        for peer in one.peers
    ]
    return {
        "hosts": [one.host],
        "location": "MESH_INTERNAL",
        "resolution": "STATIC" if all(is_address(address) for address, _ in addresses.values()) else "DNS",
        "ports": [{"number": one.offered.port, "name": name, "protocol": one.offered.protocol.value}],
        "endpoints": endpoints,
        "subjectAltNames": [peer.gateway_identity for peer in one.peers],
    }


def _destination(one: Imported) -> Manifest:
    policy: Manifest = {
        "tls": {"mode": "ISTIO_MUTUAL", "sni": one.offered.host},
        "connectionPool": {"tcp": {"connectTimeout": CONNECT_TIMEOUT}},
    }
    if len(one.peers) > 1:
        # A gateway that fails is left for a while. Where there is one alone there is nothing better than to try it.
        policy["outlierDetection"] = {
            "consecutiveGatewayErrors": 3,
            "consecutive5xxErrors": 0,
            "interval": "5s",
            "baseEjectionTime": "15s",
            "maxEjectionPercent": 100,
        }
        policy["loadBalancer"] = {"simple": "LEAST_REQUEST", "localityLbSetting": {"enabled": True}}
    return {"host": one.host, "trafficPolicy": policy}


def _object(
    federation: Federation,
    peer: Peer,
    api: str,
    kind: str,
    name: str,
    spec: Manifest,
    annotations: dict[str, str] | None = None,
    namespace: str | None = None,
) -> Manifest:
    """By default in the gateway's namespace where the gateway selects it, else in the mesh's."""
    at_gateway = kind in ("Gateway", "AuthorizationPolicy") or "gateways" in spec
    labels = {**vocabulary.labels(peer.mesh, DATA_PLANE), FEDERATION_LABEL: federation.name}
    metadata: Manifest = {
        "name": name,
        "namespace": namespace or (peer.gateway_namespace if at_gateway else namespace_of(peer.mesh)),
        "labels": labels,
    }
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
