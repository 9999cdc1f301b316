"""Intents of type `inter-cluster`: within one mesh policies and locality, between meshes exports and imports. Pure."""

from __future__ import annotations

from pulumi_hosted_mesh.intents.destinations import has_settings
from pulumi_hosted_mesh.intents.egress import paths, through
from pulumi_hosted_mesh.intents.intra_cluster import add_callee
from pulumi_hosted_mesh.intents.policies import behind_gateway, to_callee
from pulumi_hosted_mesh.intents.resolved import Caller, Resolved
from pulumi_hosted_mesh.intents.routes import destinations_of
from pulumi_hosted_mesh.intents.work import Work
from pulumi_hosted_mesh.spec.intents import WireProtocol
from pulumi_hosted_mesh.spec.inventory import GatewayRole, InventoryFederation

BY_ROUTE = (
    "weights",
    "mirror",
    "retries",
    "timeout",
    "headless",
    "service_accounts",
    "load_balancing",
    "circuit_breaking",
    "locality",
    "jwt",
)


def compile_inter_cluster(work: Work, one: Resolved) -> None:
    """Each mesh of the callee, with each mesh of the callers."""
    callers, served = one.by_mesh(), work.places.meshes(one.service)
    for mesh, those in callers.items():
        if mesh in served:
            _within(work, one, mesh, those)
            continue
        joined = [(other, found) for other in served if (found := work.places.federation(mesh, other))]
        if not joined:
            names = ", ".join(f"{caller.service.namespace}/{caller.service.name}" for caller in those)
            rule = f"has callers in mesh {mesh} ({names}), and no federation joins it to {' or '.join(served)}"
            work.refuse(one, "clients", rule, "Add a federation to the inventory, or place both in one mesh")
        for other, federation in joined:
            _between(work, one, federation, (mesh, other), those)


def _within(work: Work, one: Resolved, mesh: str, callers: list[Caller]) -> None:
    config = work.places.config(mesh)
    direct, gateways = paths(work, one, mesh, callers)
    if gateways and one.intent.jwt:
        rule = "is set with an egressGateway, which would have to judge the token before the callee"
        work.refuse(one, "jwt", rule, "Leave one of the two out")
        return
    principals = [name for caller in direct for name in caller.accounts(config.domain)]
    add_callee(work, one, config, principals)
    host = one.host(config)
    if not has_settings(one.intent):
        work.near.setdefault((mesh, host), []).append(one)
    for path in gateways:
        fix = "Send the callers of one service through one gateway, in one intent"
        if work.claim(one, "egressGateway", fix, mesh, "routes of host", host):
            onward = destinations_of(one, host)
            work.add(config, through(work, one, path, host, onward, serves_http=one.intent.protocol.is_http))
    if gateways:
        inside = behind_gateway(one)
        work.add(config, to_callee(inside, config, [path.principal for path in gateways], is_caller=False))


def _between(
    work: Work, one: Resolved, federation: InventoryFederation, meshes: tuple[str, str], callers: list[Caller]
) -> None:
    """An export of the callee's mesh and an import of the callers'. meshes: the callers', and the callee's."""
    mesh, other = meshes
    config, intent = work.places.config(other), one.intent
    if not _is_possible(work, one):
        return
    given = [caller.client.egress_gateway or intent.egress_gateway for caller in callers]
    if any(gateway and gateway.is_dedicated for gateway in given):
        rule = "makes a dedicated gateway for callers of another mesh, whose way is MeshFederation's"
        work.refuse(one, "egressGateway", rule, "Name a gateway of role egress in the inventory, or leave it out")
        return
    gateways = [gateway for _, gateway in work.places.gateways(other, GatewayRole.EAST_WEST)]
    if not gateways:
        rule = f"is exported by mesh {other}, which has no gateway of role east-west in the inventory"
        work.refuse(one, "service", rule, "Add the gateway that MeshFederation uses")
        return
    names = {found.name for caller in callers if (found := one.egress(caller)) and found.name}
    known = {gateway.name: gateway for _, gateway in work.places.gateways(mesh, GatewayRole.EGRESS)}
    if missing := sorted(names - known.keys()):
        rule = f"names gateway {missing[0]}, which mesh {mesh} does not have"
        work.refuse(one, "egressGateway", rule, "Add it to the inventory with role egress")
        return
    for name in sorted(names):
        gateway = known[name].model_dump(mode="json", by_alias=True, include={"namespace", "port", "ports"})
        made = {"gateway": name, **{field: value for field, value in gateway.items() if value}}
        if (other_way := work.compiled.egress.setdefault(mesh, made)) != made:
            rule = f"leaves mesh {mesh} by {name}, and another intent by {other_way['gateway']}"
            work.refuse(one, "egressGateway", rule, "Use one egress gateway for a mesh's calls to its peers")
    host = {} if intent.external_prefix is None else {"host": f"{intent.external_prefix}.{federation.domain}"}
    protocol = "TCP" if intent.protocol is WireProtocol.TLS else intent.protocol.value
    service = {"namespace": one.service.namespace, "service": one.service.name, "port": one.port}
    domain = work.places.config(mesh).domain
    identities = sorted({identity for caller in callers for identity in _identities(caller, domain)})
    if not identities:
        return
    namespaces = sorted({identity.partition("/")[0] for identity in identities})
    audience = {"mesh": mesh, "identities": identities}
    work.compiled.exports.setdefault(other, []).append(
        (federation.name, {**service, "protocol": protocol, **host, "to": [audience]})
    )
    work.compiled.imports.setdefault(mesh, []).append(
        (federation.name, {"meshes": [other], **service, "namespaces": namespaces})
    )
    entrance = gateways[0]
    principal = f"{config.domain}/ns/{entrance.namespace or config.root_namespace}/sa/{entrance.name}"
    work.add(config, _once(work, one, to_callee(one, config, [principal], is_caller=False), other))


def _once(work: Work, one: Resolved, made: list[dict[str, object]], mesh: str) -> list[dict[str, object]]:
    """The callee's policies for its gateway are the same for each mesh of callers."""
    key = (mesh, "gateway's policy of", one.name)
    if key in work.claims:
        return []
    work.claims[key] = one
    return made


def _identities(caller: Caller, domain: str) -> list[str]:
    """A caller's accounts in its mesh, `namespace/account`, as an export names them."""
    return ["/".join(one.split("/")[2::2]) for one in caller.accounts(domain)]


def _is_possible(work: Work, one: Resolved) -> bool:
    """MeshFederation routes between meshes, and its gateway stands for all callers."""
    intent = one.intent
    for field in BY_ROUTE:
        if getattr(intent, field):
            words = "".join(part.capitalize() if at else part for at, part in enumerate(field.split("_")))
            rule = f"has {words} for callers of another mesh, whose routes are MeshFederation's"
            work.refuse(one, words, rule, f"Leave {words} out, or split the intent by mesh")
            return False
    if any(rule.namespaces or rule.service_accounts or rule.ranges for rule in intent.access):
        rule_text = "limits callers of another mesh, for which the callee sees the gateway's identity only"
        work.refuse(one, "access", rule_text, "Name the accounts in clients[].serviceAccounts")
        return False
    others = [
        found for found in work.by_callee[one.service.key] if found is not one and found.intent.type is intent.type
    ]
    for other in others:
        if other.intent.access != intent.access and {*other.by_mesh()} - {*work.places.meshes(one.service)}:
            rule_text = (
                f"has other access rules than intent {other.name}, and one gateway stands for the callers of both"
            )
            work.refuse(one, "access", rule_text, "Give both the same access, or make them one intent")
            return False
    return True
