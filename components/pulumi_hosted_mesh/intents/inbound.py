"""Intents of type `inbound`: callers outside of the meshes, by an entry gateway. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pulumi_hosted_mesh.intents.compiled import GATEWAY_API, NETWORKING, RANGES_ANNOTATION, Manifest, name_of
from pulumi_hosted_mesh.intents.entry import ENTRY, OpenPort, merged
from pulumi_hosted_mesh.intents.intra_cluster import add_routes
from pulumi_hosted_mesh.intents.policies import behind_gateway, policies, rules, to_callee, tokens
from pulumi_hosted_mesh.intents.published_names import NAMES, records
from pulumi_hosted_mesh.intents.resolved import Resolved
from pulumi_hosted_mesh.intents.routes import Entry, routes
from pulumi_hosted_mesh.intents.work import Work, made
from pulumi_hosted_mesh.spec.intents import Action, MeshType, TlsMode, WireProtocol
from pulumi_hosted_mesh.spec.inventory import EntryType, GatewayRole, InventoryCluster, InventoryGateway

HTTP, HTTPS = 80, 443


def compile_inbound(work: Work, one: Resolved) -> list[tuple[InventoryCluster, InventoryGateway, int]]:
    """The host at a gateway in each cluster of the callee. Returns the opened ports, by cluster and gateway."""
    intent = one.intent
    if intent.mutual_tls and (intent.certificate is None or intent.certificate.mode is not TlsMode.MUTUAL):
        work.refuse(
            one, "mutualTls", "is true, and certificate.mode is not MUTUAL", "Set certificate with mode: MUTUAL"
        )
        return []
    opened, names = [], dict[str, str]()
    clusters = [work.places.clusters[name] for name in one.service.clusters]
    entered = {cluster.mesh for cluster in clusters if _entries(cluster)}
    for cluster in clusters:
        gateways = _entries(cluster)
        if not gateways and cluster.mesh in entered:
            continue  # callers reach its endpoints by the gateway of another member
        chosen = [gateway for gateway in gateways if intent.gateway in (None, gateway.name)]
        if len(chosen) != 1:
            has = f"has {', '.join(sorted(one.name for one in gateways))}" if gateways else "has none"
            named = f"names gateway {intent.gateway}" if intent.gateway else "names no gateway"
            rule = f"{named}, and of role ingress cluster {cluster.name} {has}"
            work.refuse(one, "gateway", rule, "Name one, or add it to the inventory")
            continue
        if (first := names.setdefault(cluster.mesh, chosen[0].name)) != chosen[0].name:
            rule = f"enters mesh {cluster.mesh} by gateways {first} and {chosen[0].name}, and an object selects one"
            work.refuse(one, "gateway", rule, "Give the gateways of a mesh's members one name")
            continue
        if opening := _at_gateway(work, one, cluster, chosen[0]):
            opened.append((cluster, chosen[0], opening))
    return opened


def _entries(cluster: InventoryCluster) -> list[InventoryGateway]:
    return [gateway for gateway in cluster.gateways if gateway.role is GatewayRole.INGRESS]


def _at_gateway(work: Work, one: Resolved, cluster: InventoryCluster, gateway: InventoryGateway) -> int | None:
    """The objects at one gateway. Members of a mesh with gateways of one name share them."""
    config = work.places.config(cluster.mesh)
    namespace = gateway.namespace or config.root_namespace
    port, host = _port(one), one.outer_host
    fix = "Give one of them another externalPrefix, port or gateway"
    is_tcp = one.intent.protocol is WireProtocol.TCP
    key = ("host", "*" if is_tcp else host, "port", str(port), "of gateway", f"{namespace}/{gateway.name}")
    if not work.claim(one, "externalPrefix", fix, cluster.mesh, *key):
        return None
    is_nat = any(member.entry is EntryType.NAT for member in work.places.members[cluster.mesh])
    if is_nat and not _is_judged_by_port(work, one, f"{cluster.name}/{gateway.name}", port):
        return None
    done = (cluster.mesh, "entry of", one.name, "at", f"{namespace}/{gateway.name}")
    if done in work.claims:
        return port
    work.claims[done] = one
    name = name_of(one.project, one.name, "entry")
    entry = Entry(name, namespace, "*" if is_tcp else host, port)
    is_nat = any(member.entry is EntryType.NAT for member in work.places.members[config.mesh])
    work.add(
        config, _objects(_without_ranges(one) if is_nat else one, config, gateway, entry, _notes(one) if is_nat else {})
    )
    work.add(config, routes(one, config, entry))
    if not _is_added(work, one, config):
        _add_subsets(work, one, config)
    principal = f"{config.domain}/ns/{namespace}/sa/{gateway.name}"
    if (config.mesh, "entries' policy of", one.name) not in work.claims:
        work.claims[config.mesh, "entries' policy of", one.name] = one
        work.add(config, to_callee(behind_gateway(one), config, [principal], is_caller=False))
    return port


def _allowed_ranges(one: Resolved) -> set[frozenset[str]]:
    """The ranges of each ALLOW rule."""
    allowing = [frozenset(rule.ranges) for rule in one.intent.access if rule.action is Action.ALLOW]
    return {*allowing} or {frozenset()}


def _is_judged_by_port(work: Work, one: Resolved, gateway: str, port: int) -> bool:
    """Behind a NAT box the gateway sees the box's address. So the box compares addresses, and it knows ports only."""
    denies = any(rule.ranges for rule in one.intent.access if rule.action is Action.DENY)
    if denies or len(_allowed_ranges(one)) > 1:
        rule = f"compares addresses in some rules, behind the NAT box of {gateway}, which permits ranges by port only"
        work.refuse(one, "access", rule, "Give all ALLOW rules the same ranges, and DENY rules none")
        return False
    other = work.claims.setdefault(("ranges", gateway, str(port)), one)
    if _allowed_ranges(other) != _allowed_ranges(one):
        rule = f"has other ranges than intent {other.name}, at one port of the NAT box of {gateway}"
        work.refuse(one, "access", rule, "Give both the same ranges, or another gateway")
        return False
    return True


def _without_ranges(one: Resolved) -> Resolved:
    access = tuple(rule.model_copy(update={"ranges": ()}) for rule in one.intent.access)
    return replace(one, intent=one.intent.model_copy(update={"access": access}))


def _notes(one: Resolved) -> dict[str, str]:
    (ranges,) = _allowed_ranges(one)
    return {RANGES_ANNOTATION: ",".join(sorted(ranges))} if ranges else {}


def _is_added(work: Work, one: Resolved, config: InventoryCluster) -> bool:
    key = (config.mesh, "callee of", one.name)
    found = key in work.claims
    work.claims[key] = one
    return found


def _add_subsets(work: Work, one: Resolved, config: InventoryCluster) -> None:
    """The gateway's route uses the subsets. Callers in the mesh keep their own retries and timeout."""
    intent = one.intent.model_copy(update={"retries": None, "timeout": None})
    add_routes(work, replace(one, intent=intent), config)


def _port(one: Resolved) -> int:
    if not one.intent.protocol.is_http:
        return one.port
    return HTTPS if one.intent.certificate else HTTP


def _objects(
    one: Resolved, config: InventoryCluster, gateway: InventoryGateway, entry: Entry, more_notes: Mapping[str, str]
) -> Iterator[Manifest]:
    intent = one.intent
    notes = {**NAMES[config.names](gateway), **more_notes}
    if one.mesh_type(config) is MeshType.GATEWAY_API:
        yield _gateway_api(one, config, gateway, entry, notes)
    else:
        yield _istio(one, config, gateway, entry, notes)
    hosts = [entry.host] if intent.protocol.is_http else ()
    sni = entry.host if intent.protocol is WireProtocol.TLS else None
    ports = (entry.port,) if intent.protocol is WireProtocol.TCP else ()
    allowed = rules(one, Action.ALLOW, (), is_caller=False, hosts=hosts, ports=ports, sni=sni)
    denied = rules(one, Action.DENY, (), is_caller=False, hosts=hosts, ports=ports, sni=sni)
    selector = {"app": gateway.name}
    yield from policies(one, config, entry.namespace, selector, allowed, denied, "entry")
    yield from tokens(one, config, entry.namespace, selector)


def _istio(
    one: Resolved, config: InventoryCluster, gateway: InventoryGateway, entry: Entry, notes: Mapping[str, str]
) -> Manifest:
    intent, certificate = one.intent, one.intent.certificate
    protocol = intent.protocol
    wire = protocol.value if not protocol.is_http else "HTTPS" if certificate else "HTTP"
    server: Manifest = {
        "port": {"number": entry.port, "name": f"{wire.lower()}-{intent.name}", "protocol": wire},
        "hosts": [entry.host],
    }
    if certificate and protocol.is_http:
        tls: Manifest = {"mode": certificate.mode.value, "minProtocolVersion": "TLSV1_2"}
        if certificate.secret:
            tls["credentialName"] = certificate.secret
        else:
            tls |= {"serverCertificate": certificate.certificate, "privateKey": certificate.private_key}
            if certificate.ca_certificates:
                tls["caCertificates"] = certificate.ca_certificates
        server["tls"] = tls
    elif protocol is WireProtocol.TLS:
        server["tls"] = {"mode": "PASSTHROUGH"}
    spec = {"selector": {"app": gateway.name}, "servers": [server]}
    return made(one, config, NETWORKING, "Gateway", entry.namespace, spec, "service", "entry", notes)


def _gateway_api(
    one: Resolved, config: InventoryCluster, gateway: InventoryGateway, entry: Entry, notes: Mapping[str, str]
) -> Manifest:
    """A Gateway that uses the existing proxies, by the address of their Service."""
    certificate, protocol = one.intent.certificate, one.intent.protocol
    listener: Manifest = {"name": one.name, "port": entry.port, "allowedRoutes": {"namespaces": {"from": "Same"}}}
    if not protocol.is_http:
        listener["protocol"] = "TCP"
    else:
        listener |= {"protocol": "HTTPS" if certificate else "HTTP", "hostname": entry.host}
        if certificate:
            listener["tls"] = {"mode": "Terminate", "certificateRefs": [{"name": certificate.secret}]}
    address = {"type": "Hostname", "value": f"{gateway.name}.{entry.namespace}.svc.{config.cluster_domain}"}
    spec = {"gatewayClassName": "istio", "addresses": [address], "listeners": [listener]}
    return made(one, config, GATEWAY_API, "Gateway", entry.namespace, spec, "service", "entry", notes)


def add_entries(
    work: Work, project: str, opened: list[tuple[Resolved, InventoryCluster, InventoryGateway, int]]
) -> None:
    """The ways from outside to the gateways, and the published hosts."""
    ports: dict[tuple[str, str], list[OpenPort]] = {}
    places: dict[tuple[str, str], tuple[InventoryCluster, InventoryGateway]] = {}
    hosts: dict[str, list[tuple[str, InventoryGateway, str]]] = {}
    for one, cluster, gateway, port in opened:
        key = (cluster.name, gateway.name)
        places[key] = (cluster, gateway)
        allowing = [rule for rule in one.intent.access if rule.action is Action.ALLOW]
        limited = bool(allowing) and all(rule.ranges for rule in allowing)
        ranges = tuple(sorted({item for rule in allowing for item in rule.ranges})) if limited else ()
        by_address = any(rule.ranges for rule in one.intent.access)
        ports.setdefault(key, []).append(OpenPort(port, (one.name,), ranges, by_address))
        if one.intent.protocol is not WireProtocol.TCP:
            hosts.setdefault(cluster.name, []).append((one.outer_host, gateway, one.name))
    for key, (cluster, gateway) in sorted(places.items()):
        parts = ENTRY[cluster.entry](project, cluster, gateway, merged(ports[key]))
        work.add(cluster, parts.objects)
        work.compiled.files.update(parts.files)
    for name, those in sorted(hosts.items()):
        work.compiled.files.update(records(work.places.clusters[name], those))
