"""The way of calls through an egress gateway of the callers' side. Pure.

The caller's proxy wraps the call into mutual TLS to the gateway. So the gateway sees the caller's identity and judges
it, for TCP and the caller's own TLS too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_hosted_mesh.intents.compiled import NETWORKING, Manifest, name_of
from pulumi_hosted_mesh.intents.policies import policies, rules
from pulumi_hosted_mesh.intents.resolved import Caller, Resolved
from pulumi_hosted_mesh.intents.routes import http_route
from pulumi_hosted_mesh.intents.work import Work, made
from pulumi_hosted_mesh.spec.intents import Action, EgressGateway, WireProtocol
from pulumi_hosted_mesh.spec.inventory import GatewayRole, InventoryCluster, InventoryGateway


@dataclass(frozen=True)
class EgressPath:
    """The gateway of some callers, in one mesh."""

    cluster: InventoryCluster
    name: str
    namespace: str
    port: int
    is_dedicated: bool
    callers: tuple[Caller, ...]

    @property
    def service(self) -> str:
        """Host name of the gateway's Service."""
        return f"{self.name}.{self.namespace}.svc.{self.cluster.cluster_domain}"

    @property
    def principal(self) -> str:
        """The gateway's identity, as callees see it."""
        return f"{self.cluster.domain}/ns/{self.namespace}/sa/{self.name}"


def paths(work: Work, one: Resolved, mesh: str, callers: Sequence[Caller]) -> tuple[list[Caller], list[EgressPath]]:
    """The callers that connect themselves, and the gateways of the others. A missing gateway is a mistake."""
    direct: list[Caller] = []
    found: dict[str, tuple[EgressGateway, list[Caller]]] = {}
    for caller in callers:
        gateway = one.egress(caller)
        if gateway is None:
            direct.append(caller)
        else:
            name = gateway.name or name_of("", one.name, "egress")
            found.setdefault(name, (gateway, []))[1].append(caller)
    config = work.places.config(mesh)
    made_paths = []
    for name, (gateway, those) in sorted(found.items()):
        given = {one.name: one for _, one in work.places.gateways(mesh, GatewayRole.EGRESS)}
        existing: InventoryGateway | None = given.get(name)
        if gateway.is_dedicated:
            if existing:
                rule = f"makes a dedicated gateway {name}, which the inventory has already"
                work.refuse(one, "egressGateway", rule, "Choose another name, or leave dedicated out")
                continue
            if not work.claim(one, "egressGateway", "Name each its own gateway", mesh, "egress gateway", name):
                continue
            path = EgressPath(config, name, config.root_namespace, 15443, True, tuple(those))
        elif existing is None:
            has = f"its egress gateways are {', '.join(sorted(given))}" if given else "it has none"
            rule = f"names gateway {name}, which mesh {mesh} does not have: {has}"
            work.refuse(one, "egressGateway", rule, "Add it to the inventory with role egress, or set dedicated: true")
            continue
        else:
            namespace = existing.namespace or config.root_namespace
            path = EgressPath(config, name, namespace, existing.port, False, tuple(those))
        made_paths.append(path)
    return direct, made_paths


def through(
    work: Work, one: Resolved, path: EgressPath, host: str, onward: list[Manifest], *, serves_http: bool
) -> Iterator[Manifest]:
    """The objects of one path. host: as callers name the callee. onward: the gateway's destinations."""
    cluster = path.cluster
    if path.is_dedicated:
        _deploy(work, one, path)
    gateway = name_of(one.project, one.name, "egress")
    scope = sorted({*(caller.service.namespace for caller in path.callers), path.namespace})
    server = {"number": path.port, "name": f"tls-{one.name}", "protocol": "HTTPS" if serves_http else "TLS"}
    servers = [{"port": server, "tls": {"mode": "ISTIO_MUTUAL"}, "hosts": [host]}]
    spec = {"selector": {"app": path.name}, "servers": servers}
    yield made(one, cluster, NETWORKING, "Gateway", path.namespace, spec, "egressGateway", "egress")
    subset = {"name": one.name, "trafficPolicy": {"tls": {"mode": "ISTIO_MUTUAL", "sni": host}}}
    spec = {"host": path.service, "subsets": [subset], "exportTo": scope}
    yield made(one, cluster, NETWORKING, "DestinationRule", path.namespace, spec, "egressGateway", "egress")
    entrance = [{"destination": {"host": path.service, "subset": one.name, "port": {"number": path.port}}}]
    spec = {
        "hosts": [host],
        "gateways": ["mesh", gateway],
        "exportTo": scope,
        **_legs(one, gateway, host, entrance, onward),
    }
    yield made(one, cluster, NETWORKING, "VirtualService", path.namespace, spec, "egressGateway", "egress")
    principals = [name for caller in path.callers for name in caller.accounts(cluster.domain)]
    hosts, sni = ([host], None) if serves_http else ((), host)
    allowed = rules(one, Action.ALLOW, principals, hosts=hosts, sni=sni)
    denied = rules(one, Action.DENY, principals, hosts=hosts, sni=sni)
    yield from policies(one, cluster, path.namespace, {"app": path.name}, allowed, denied, "egress")


def _legs(
    one: Resolved, gateway: str, host: str, entrance: list[Manifest], onward: list[Manifest]
) -> dict[str, list[Manifest]]:
    """From callers to the gateway, and from the gateway on."""
    protocol = one.intent.protocol
    leaving = {"gateways": [gateway]}
    if protocol.is_http:
        first: Manifest = {"match": [{"gateways": ["mesh"], "port": one.port}], "route": entrance}
        if one.callee:  # callers may use a short name, which the gateway does not have
            first["rewrite"] = {"authority": host}
        return {"http": [first, {"match": [leaving], **http_route(one, onward, host)}]}
    second = {"match": [leaving], "route": onward}
    if protocol is WireProtocol.TLS:
        match = [{"gateways": ["mesh"], "port": one.port, "sniHosts": [host]}]
        return {"tls": [{"match": match, "route": entrance}], "tcp": [second]}
    return {"tcp": [{"match": [{"gateways": ["mesh"], "port": one.port}], "route": entrance}, second]}


def _deploy(work: Work, one: Resolved, path: EgressPath) -> None:
    """A dedicated gateway: account, Deployment and Service, in each cluster of its callers."""
    wanted = {name for caller in path.callers for name in caller.service.clusters}
    for cluster in (one for one in work.places.members[path.cluster.mesh] if one.name in wanted):
        work.add(cluster, deployment(one, cluster, path))


def deployment(one: Resolved, cluster: InventoryCluster, path: EgressPath) -> Iterator[Manifest]:
    """A proxy by the injection's template `gateway`, and nothing else."""
    labels = {"app": path.name}
    account = {**made(one, cluster, "v1", "ServiceAccount", path.namespace, {}, "egressGateway")}
    del account["spec"]
    pod: Mapping[str, Any] = {
        "metadata": {
            "labels": {**labels, **cluster.injection_labels},
            "annotations": {"inject.istio.io/templates": "gateway"},
        },
        "spec": {
            "serviceAccountName": path.name,
            "securityContext": {"sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]},
            "containers": [
                {
                    "name": "istio-proxy",
                    "image": "auto",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": True,
                        "runAsNonRoot": True,
                    },
                }
            ],
        },
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    proxy = made(one, cluster, "apps/v1", "Deployment", path.namespace, spec, "egressGateway")
    ports = [{"name": "tls", "port": path.port, "targetPort": path.port}]
    service = made(one, cluster, "v1", "Service", path.namespace, {"selector": labels, "ports": ports}, "egressGateway")
    for each in (account, proxy, service):
        each["metadata"]["name"] = path.name
        yield each
