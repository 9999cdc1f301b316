"""The Istio objects of one mesh of a federation. Pure: they contain public facts only, so a preview shows them whole.

- Exports: one Gateway that terminates mutual TLS, a VirtualService for each host, and one AuthorizationPolicy. Without
  exports the policy rejects all requests.
- Imports: a ServiceEntry and a DestinationRule for each host. Hosts that are renamed, or that several meshes serve,
  also have a VirtualService.
- Bundles of roots: EnvoyFilters on both sides.
- Names of imports: a ProxyConfig, so that proxies answer their Pods' DNS queries.
- An egress gateway: its routes (`egress`). The ServiceEntries of imports then lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pulumi_hosted_mesh import vocabulary
from pulumi_hosted_mesh.federation import bundles, egress, shared_objects
from pulumi_hosted_mesh.federation.exports import allowed, refused
from pulumi_hosted_mesh.federation.imports import Imported, imported
from pulumi_hosted_mesh.federation.routes import http_routes, tcp_settings
from pulumi_hosted_mesh.spec.federation import (
    Federation,
    Offer,
    OfferedService,
    Peer,
    Protocol,
    TcpKeepalive,
    principal,
)
from pulumi_hosted_mesh.spec.fields import is_address
from pulumi_hosted_mesh.vocabulary import DATA_PLANE, FEDERATION_LABEL, PEERS_ANNOTATION, namespace_of

Manifest = dict[str, Any]
NETWORKING, SECURITY = "networking.istio.io/v1", "security.istio.io/v1"
PROXY_CONFIG = "networking.istio.io/v1beta1"  # the only version of ProxyConfig
FILTERS = "networking.istio.io/v1alpha3"  # the only version of EnvoyFilter


def objects(federation: Federation, mesh: str, offers: Iterable[Offer]) -> list[Manifest]:
    """All objects of a peer, in its own cluster. offers: its own, and those of the peers that it imports from.

    Raises: InvalidInputError as `imported`, and if the mesh is no peer or its own offer is missing.
    """
    given = list(offers)
    if mesh not in {one.mesh for one in federation.peers}:
        raise refused("mesh", f"{mesh} is no peer of federation {federation.name}", "Name one of its peers")
    own = [one for one in given if one.mesh == mesh and one.federation == federation.name]
    if not own:
        raise refused("offers", f"has none of {mesh} itself", "Add it, or declare its exports by service and port")
    peer, wanted = federation.peer(mesh), imported(federation, mesh, given)
    return [
        *exporting(federation, peer, own[0]),
        *resolving(federation, peer),
        *leaving(federation, peer, wanted),
        *importing_all(federation, peer, wanted),
    ]


def exporting(federation: Federation, peer: Peer, offer: Offer) -> Iterator[Manifest]:
    """The objects of a mesh's exports: gateway, permitted callers and routes."""
    if offer.services:
        yield _object(
            federation, peer, NETWORKING, "Gateway", federation.name, _gateway(federation, peer, offer.services)
        )
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


def resolving(federation: Federation, peer: Peer) -> Iterator[Manifest]:
    """DNS capture in all proxies of a mesh with imports: from the mesh's own namespace it applies to all.

    Capture alone answers only for hosts with an address. With DNS_AUTO_ALLOCATE istiod gives each imported host one of
    240.240.0.0/16 in its memory, without a right to write (autoAllocateIPs in
    pilot/pkg/serviceregistry/serviceentry/auto_allocation.go). With the feature addressAllocation it writes them into
    the status, and the variable has no effect.
    """
    if peer.imports and peer.dns_capture:
        spec = {"environmentVariables": {"ISTIO_META_DNS_CAPTURE": "true", "ISTIO_META_DNS_AUTO_ALLOCATE": "true"}}
        yield _object(federation, peer, PROXY_CONFIG, "ProxyConfig", federation.name, spec)


def leaving(federation: Federation, peer: Peer, wanted: Iterable[Imported]) -> Iterator[Manifest]:
    """The objects of a mesh's egress gateway, if it has one. wanted: all its imports."""
    for route in egress.egress_routes(peer, wanted):
        name = egress.name_of(federation, route.to.mesh)
        for kind, spec in egress.specs(federation, route):
            yield _object(federation, peer, NETWORKING, kind, name, spec, namespace=peer.egress_namespace)


def importing_all(federation: Federation, peer: Peer, wanted: Sequence[Imported]) -> Iterator[Manifest]:
    """The objects for callers of all imported services."""
    shared = shared_objects.groups(federation, peer, wanted)
    if shared:
        policy = {"tls": {"mode": "ISTIO_MUTUAL"}, "connectionPool": {"tcp": tcp_settings(TcpKeepalive())}}
        rule = {"host": f"*.{federation.domain}", "trafficPolicy": policy}
        name = shared_objects.rule_name(federation)
        yield _object(federation, peer, NETWORKING, "DestinationRule", name, rule)
    for name, those in sorted(shared.items()):
        first = those[0]
        scope = {"exportTo": list(first.namespaces)} if first.namespaces else {}
        spec = {**_entry(peer, first), "hosts": [one.host for one in those], **scope}
        annotations = {PEERS_ANNOTATION: ",".join(other.mesh for other in first.peers)}
        yield _object(federation, peer, NETWORKING, "ServiceEntry", name, spec, annotations)
    together = {one.host for those in shared.values() for one in those}
    for one in wanted:
        if one.host not in together:
            yield from importing(federation, peer, one)


def importing(federation: Federation, peer: Peer, one: Imported) -> Iterator[Manifest]:
    """The objects for callers of one imported service."""
    name = f"{federation.name}-{one.host}"
    annotations = {PEERS_ANNOTATION: ",".join(other.mesh for other in one.peers)}
    made = [("ServiceEntry", name, _entry(peer, one)), ("DestinationRule", name, _destination(one))]
    if routes := http_routes(one):
        # A mesh that also exports the host already has a VirtualService of this name.
        made.append(("VirtualService", f"{name}-as", {"hosts": [one.host], "http": routes}))
    for kind, called, spec in made:
        scope = {"exportTo": list(one.namespaces)} if one.namespaces else {}
        yield _object(federation, peer, NETWORKING, kind, called, {**spec, **scope}, annotations)
    if federation.has_bundles:
        spec = bundles.of_gateways(one.host, one.peers)
        # An EnvoyFilter has no exportTo: it applies to its namespace, or from the mesh's own namespace to all.
        for namespace in one.namespaces or (namespace_of(peer.mesh),):
            yield _object(federation, peer, FILTERS, "EnvoyFilter", name, spec, annotations, namespace)


def _gateway(federation: Federation, peer: Peer, services: Iterable[OfferedService]) -> Manifest:
    """Servers that terminate the callers' mutual TLS, so that the AuthorizationPolicy applies.

    For AUTO_PASSTHROUGH Istio builds filter chains without authorization
    (pilot/pkg/networking/core/gateway.go, builtAutoPassthroughFilterChains).
    """
    # Istio reads minProtocolVersion only for servers with their own certificate (isSimpleOrMutual there).
    tls = {"mode": "ISTIO_MUTUAL"}
    port = peer.gateway.port
    servers: list[Manifest] = []
    for name, of_server in _by_server(services).items():
        tcp = of_server[0].protocol is Protocol.TCP
        named = {"number": port, "name": name, "protocol": "TLS" if tcp else "HTTPS"}
        hosts = [
            egress.routed_here(name)
            for one in of_server
            for name in shared_objects.server_names(federation, one.host, one.protocol)
        ]
        servers.append({"port": named, "tls": tls, "hosts": hosts})
    return {"selector": {"app": peer.gateway.name}, "servers": servers}


def _by_server(services: Iterable[OfferedService]) -> dict[str, list[OfferedService]]:
    """The services of each server of the gateway, by the server's name.

    All HTTP services share a server. Each TCP service has its own: for several hosts Istio would use one route.
    """
    given = list(services)
    http = [one for one in given if one.protocol is not Protocol.TCP]
    tcp = [one for one in given if one.protocol is Protocol.TCP]
    return {**({"https": http} if http else {}), **{f"tls-{number}": [one] for number, one in enumerate(tcp)}}


def _callers(federation: Federation, peer: Peer, services: Iterable[OfferedService]) -> list[tuple[str, list[Peer]]]:
    """For each of the gateway's servers with permitted callers: its first host, and the callers' peers."""
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
    """The permitted callers of each host. Without exports there are no rules, so the policy rejects all requests."""
    rules = []
    for one in offer.services:
        principals = [
            principal(federation.peer(mesh).domain, identity) for mesh, identity in allowed(federation, peer.mesh, one)
        ]
        if not principals:  # an empty list would admit every caller
            continue
        rule: Manifest = {
            "from": [{"source": {"principals": principals}}],
            "when": [
                {"key": "connection.sni", "values": shared_objects.server_names(federation, one.host, one.protocol)}
            ],
        }
        if one.protocol is not Protocol.TCP:
            # The route uses this name, so a caller of one service cannot reach another on the same connection.
            rule["to"] = [{"operation": {"hosts": [one.host, f"{one.host}:*"]}}]
        rules.append(rule)
    selector = {"matchLabels": {"app": peer.gateway.name}}
    return {"selector": selector, "action": "ALLOW", **({"rules": rules} if rules else {})}


def _entry(caller: Peer, one: Imported) -> Manifest:
    """Addresses and identities of the gateways in one object, so that a proxy receives both together.

    Identities in a DestinationRule would arrive at another time than the addresses. Until both have arrived, proxies
    would reject a new gateway. Without identities in the rule Istio uses those of the entry
    (pilot/pkg/networking/core/cluster_tls.go, buildUpstreamTLSSettings).

    Through an egress gateway too there is one endpoint for each peer, with the peer's locality: the caller's proxy
    chooses the peer, also for retries. caller: the importing peer.
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
        "connectionPool": {"tcp": tcp_settings(one.keepalive)},
    }
    if len(one.peers) > 1:
        # Ejects failing gateways for a while. A single gateway has no alternative, so it is never ejected.
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
    """An object of the mesh. namespace: by default the gateway's for objects of the gateway, else the mesh's."""
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
