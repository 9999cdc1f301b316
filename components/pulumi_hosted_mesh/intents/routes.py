"""The seam `mesh`: routes of a service, as VirtualServices or as the Gateway API's. A table of functions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.intents.compiled import GATEWAY_API, NETWORKING, Manifest
from pulumi_hosted_mesh.intents.destinations import subset_name
from pulumi_hosted_mesh.intents.resolved import Resolved
from pulumi_hosted_mesh.intents.work import made
from pulumi_hosted_mesh.spec.intents import Intent, MeshType, WireProtocol
from pulumi_hosted_mesh.spec.inventory import InventoryCluster


@dataclass(frozen=True)
class Entry:
    """The gateway that a route is of. host: as callers outside name the service."""

    gateway: str
    namespace: str
    host: str
    port: int


def has_routes(intent: Intent) -> bool:
    """Whether callers in the mesh need a route."""
    return bool(intent.weights or intent.retries or intent.timeout or intent.mirror)


def routes(one: Resolved, cluster: InventoryCluster, entry: Entry | None = None) -> Iterator[Manifest]:
    """The routes of callers in the mesh, or of an entry gateway."""
    if entry or has_routes(one.intent):
        yield from MESH[one.mesh_type(cluster)](one, cluster, entry)


def http_route(one: Resolved, destinations: list[Manifest], host: str) -> Manifest:
    """One route of a VirtualService, with the intent's treatment of requests."""
    intent, route = one.intent, dict[str, Any](route=destinations)
    if intent.timeout:
        route["timeout"] = intent.timeout
    if intent.retries:
        route["retries"] = {"attempts": intent.retries.attempts, "retryOn": intent.retries.retry_on}
        if intent.retries.per_try_timeout:
            route["retries"]["perTryTimeout"] = intent.retries.per_try_timeout
    if intent.mirror:
        route["mirror"] = {"host": host, "subset": intent.mirror.version, "port": {"number": one.port}}
        route["mirrorPercentage"] = {"value": intent.mirror.percentage}
    return route


def destinations_of(one: Resolved, host: str) -> list[Manifest]:
    """The destinations of a route, with their weights."""
    to = {"host": host, "port": {"number": one.port}}
    if not one.intent.weights:
        return [{"destination": to}]
    return [
        {"destination": {**to, "subset": subset_name(weight)}, "weight": weight.weight}
        for weight in sorted(one.intent.weights, key=subset_name)
    ]


def _istio(one: Resolved, cluster: InventoryCluster, entry: Entry | None) -> Iterator[Manifest]:
    host, protocol = one.host(cluster), one.intent.protocol
    destinations = destinations_of(one, host)
    spec: Manifest = {"hosts": [entry.host if entry else host]}
    if entry:
        spec["gateways"] = [entry.gateway]
    if protocol.is_http:
        spec["http"] = [http_route(one, destinations, host)]
    elif protocol is WireProtocol.TLS:
        match = [{"port": entry.port if entry else one.port, "sniHosts": spec["hosts"]}]
        spec["tls"] = [{"match": match, "route": destinations}]
    else:
        if entry:
            spec["hosts"] = ["*"]
        spec["tcp"] = [{"match": [{"port": entry.port if entry else one.port}], "route": destinations}]
    namespace = entry.namespace if entry else one.service.namespace
    yield made(
        one, cluster, NETWORKING, "VirtualService", namespace, spec, _field(one.intent), "entry" if entry else ""
    )


def _gateway_api(one: Resolved, cluster: InventoryCluster, entry: Entry | None) -> Iterator[Manifest]:
    intent, service = one.intent, one.service
    protocol = intent.protocol
    kind = "GRPCRoute" if protocol is WireProtocol.GRPC else "HTTPRoute" if protocol.is_http else "TCPRoute"
    versions = sorted({weight.version for weight in intent.weights or () if weight.version})
    mirrored = {intent.mirror.version} if intent.mirror else set()
    for version in sorted({*versions, *mirrored}):
        yield _version_service(one, cluster, version)
    backend = {"kind": "Service", "port": one.port, **({"namespace": service.namespace} if entry else {})}
    weights = sorted(intent.weights or (), key=subset_name)
    backends = [{**backend, "name": f"{service.name}-{one.version}", "weight": one.weight} for one in weights]
    rule: Manifest = {"backendRefs": backends or [{**backend, "name": service.name}]}
    if intent.timeout and kind == "HTTPRoute":
        rule["timeouts"] = {"request": intent.timeout}
    if intent.mirror:
        to = {**backend, "name": f"{service.name}-{intent.mirror.version}"}
        rule["filters"] = [
            {"type": "RequestMirror", "requestMirror": {"backendRef": to, "percent": intent.mirror.percentage}}
        ]
    if entry:
        spec: Manifest = {"parentRefs": [{"name": entry.gateway, "namespace": entry.namespace}], "rules": [rule]}
        if kind != "TCPRoute":
            spec["hostnames"] = [entry.host]
    else:
        parent = {"group": "", "kind": "Service", "name": service.name, "port": one.port}
        spec = {"parentRefs": [parent], "rules": [rule]}
    api = GATEWAY_API if kind != "TCPRoute" else "gateway.networking.k8s.io/v1alpha2"
    namespace = entry.namespace if entry else service.namespace
    yield made(one, cluster, api, kind, namespace, spec, _field(intent), "entry" if entry else "")
    if entry and entry.namespace != service.namespace:
        grant = {
            "from": [{"group": "gateway.networking.k8s.io", "kind": kind, "namespace": entry.namespace}],
            "to": [{"group": "", "kind": "Service"}],
        }
        api = "gateway.networking.k8s.io/v1beta1"
        yield made(one, cluster, api, "ReferenceGrant", service.namespace, grant, "service", "entry")


def _version_service(one: Resolved, cluster: InventoryCluster, version: str) -> Manifest:
    """The Gateway API has no subsets: a route's backends are Services."""
    ports = {placed.port: placed.target_port or placed.port for placed in one.service.ports}
    name = one.intent.protocol.value.lower()
    port = {"name": name, "port": one.port, "targetPort": ports.get(one.port, one.port)}
    spec = {"selector": {**one.service.selector, "version": version}, "ports": [port]}
    service = made(one, cluster, "v1", "Service", one.service.namespace, spec, "weights", version)
    service["metadata"]["name"] = f"{one.service.name}-{version}"
    return service


def _field(intent: Intent) -> str:
    return next((field for field in ("weights", "retries", "timeout", "mirror") if getattr(intent, field)), "service")


Routes = Callable[[Resolved, InventoryCluster, Entry | None], Iterator[Manifest]]
MESH: Final[Mapping[MeshType, Routes]] = {MeshType.ISTIO: _istio, MeshType.GATEWAY_API: _gateway_api}
