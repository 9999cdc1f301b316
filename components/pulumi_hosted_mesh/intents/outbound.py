"""Intents of type `outbound`: hosts outside of the meshes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_hosted_mesh.intents.compiled import NETWORKING, Manifest, Origin, manifest, name_of
from pulumi_hosted_mesh.intents.egress import paths, through
from pulumi_hosted_mesh.intents.resolved import Resolved
from pulumi_hosted_mesh.intents.work import Work, made
from pulumi_hosted_mesh.spec.intents import EgressProxy, ExternalService, WireProtocol
from pulumi_hosted_mesh.spec.inventory import InventoryCluster

HTTPS = 443


def compile_outbound(work: Work, one: Resolved) -> None:
    """The host's entry in each mesh of callers, and the way to it."""
    external = one.intent.external
    assert external is not None
    for mesh, callers in one.by_mesh().items():
        config = work.places.config(mesh)
        fix = "Make them one intent with the clients of both"
        if not work.claim(one, "external.host", fix, mesh, "host", external.host, "port", str(external.port)):
            continue
        direct, gateways = paths(work, one, mesh, callers)
        namespaces = {caller.service.namespace for caller in callers}
        scope = sorted({*namespaces, *(path.namespace for path in gateways)})
        leaving = sorted({*(caller.service.namespace for caller in direct), *(path.namespace for path in gateways)})
        work.add(config, _entries(work, one, config, external, scope))
        work.add(config, _origination(one, config, external, leaving))
        if external.proxy:
            work.add(config, _tunnel(one, config, external, external.proxy, leaving))
        onward = [{"destination": _target(one, external)}]
        if direct and (external.proxy or _is_routed(one)):
            local = sorted({caller.service.namespace for caller in direct})
            work.add(config, [_route(one, config, external, onward, local)])
        for path in gateways:
            if direct and {*namespaces} & {caller.service.namespace for caller in direct}:
                rule = "has callers of one namespace with and without an egressGateway: a route is for a namespace"
                work.refuse(one, "clients", rule, "Give all clients of the namespace the same egressGateway")
                break
            serves_http = external.protocol.is_http
            work.add(config, through(work, one, path, external.host, onward, serves_http=serves_http))


def _is_routed(one: Resolved) -> bool:
    return bool(
        one.intent.external and one.intent.external.protocol.is_http and (one.intent.timeout or one.intent.retries)
    )


def _target(one: Resolved, external: ExternalService) -> Manifest:
    """The destination of the last proxy in a mesh."""
    if external.proxy:
        return {"host": external.proxy.host, "port": {"number": external.proxy.port}, "subset": one.name}
    return {"host": external.host, "port": {"number": external.port}}


def _entries(
    work: Work, one: Resolved, config: InventoryCluster, external: ExternalService, scope: list[str]
) -> Iterator[Manifest]:
    target = external.target_port or (HTTPS if external.tls else None)
    port: Manifest = {
        "number": external.port,
        "name": f"{external.protocol.value.lower()}-{external.port}",
        "protocol": external.protocol.value,
        **({"targetPort": target} if target and target != external.port else {}),
    }
    entry = _entry(external.host, port, external.addresses)
    if external.protocol is WireProtocol.TCP and not external.host.startswith("*."):
        entry["addresses"] = list(work.addresses[external.host])
    namespace = config.root_namespace
    yield made(one, config, NETWORKING, "ServiceEntry", namespace, {**entry, "exportTo": scope}, "external")
    proxy = external.proxy
    if proxy and (config.mesh, "proxy", proxy.host) not in work.claims:
        work.claims[config.mesh, "proxy", proxy.host] = one
        port = {"number": proxy.port, "name": f"tcp-{proxy.port}", "protocol": "TCP"}
        entry = _entry(proxy.host, port, proxy.addresses)
        yield made(one, config, NETWORKING, "ServiceEntry", namespace, entry, "external.proxy", "proxy")


def _entry(host: str, port: Manifest, addresses: tuple[str, ...]) -> Manifest:
    if addresses:
        where: Manifest = {"resolution": "STATIC", "endpoints": [{"address": one} for one in sorted(addresses)]}
    else:
        where = {"resolution": "NONE" if host.startswith("*.") else "DNS"}
    return {"hosts": [host], "location": "MESH_EXTERNAL", "ports": [port], **where}


def _origination(
    one: Resolved, config: InventoryCluster, external: ExternalService, leaving: list[str]
) -> Iterator[Manifest]:
    """TLS of the last proxy to the host, and limits of connections."""
    policy: Manifest = {}
    if external.tls:
        tls = external.tls
        policy["tls"] = {"mode": tls.mode.value, "caCertificates": tls.ca_certificates}
        if not external.host.startswith("*."):
            # With an sni and no names Istio accepts any certificate of these authorities.
            policy["tls"] |= {"sni": external.host, "subjectAltNames": [external.host]}
        if tls.client_certificate:
            policy["tls"] |= {"clientCertificate": tls.client_certificate, "privateKey": tls.private_key}
    breaking = one.intent.circuit_breaking
    if breaking and breaking.max_connections:
        policy["connectionPool"] = {"tcp": {"maxConnections": breaking.max_connections}}
    if policy:
        spec = {"host": external.host, "trafficPolicy": policy, "exportTo": leaving}
        field = "external.tls" if external.tls else "circuitBreaking"
        yield made(one, config, NETWORKING, "DestinationRule", config.root_namespace, spec, field)


def _tunnel(
    one: Resolved, config: InventoryCluster, external: ExternalService, proxy: EgressProxy, leaving: list[str]
) -> Iterator[Manifest]:
    """A subset of the proxy for this host: CONNECT to it. Istio merges the subsets of several rules."""
    target = {"protocol": "CONNECT", "targetHost": external.host, "targetPort": external.target_port or external.port}
    subset = {"name": one.name, "trafficPolicy": {"tunnel": target}}
    spec = {"host": proxy.host, "subsets": [subset], "exportTo": leaving}
    yield made(one, config, NETWORKING, "DestinationRule", config.root_namespace, spec, "external.proxy", "tunnel")


def _route(
    one: Resolved, config: InventoryCluster, external: ExternalService, onward: list[Manifest], scope: list[str]
) -> Manifest:
    spec: Manifest = {"hosts": [external.host], "exportTo": scope}
    match: Manifest = {"port": external.port}
    if external.protocol is WireProtocol.TLS:
        spec["tls"] = [{"match": [{**match, "sniHosts": [external.host]}], "route": onward}]
    elif external.protocol is WireProtocol.TCP:
        spec["tcp"] = [{"match": [match], "route": onward}]
    else:
        retries = one.intent.retries
        route: Manifest = {"match": [match], "route": onward}
        if one.intent.timeout:
            route["timeout"] = one.intent.timeout
        if retries:
            route["retries"] = {"attempts": retries.attempts, "retryOn": retries.retry_on}
        spec["http"] = [route]
    return made(one, config, NETWORKING, "VirtualService", config.root_namespace, spec, "external.proxy")


def closed(project: str, config: InventoryCluster, namespace: str, intents: set[str]) -> Manifest:
    """Hosts without a ServiceEntry are closed for a namespace."""
    spec = {"outboundTrafficPolicy": {"mode": "REGISTRY_ONLY"}}
    origin = Origin(tuple(sorted(intents)), "outboundTraffic")
    name = name_of(project, "outbound")
    return manifest(config, project, NETWORKING, "Sidecar", namespace, name, spec, origin)
