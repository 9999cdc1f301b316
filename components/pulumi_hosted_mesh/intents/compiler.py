"""The compiler: intents and an inventory to objects per cluster. Pure: the same input gives the same objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pulumi_hosted_mesh.intents.addresses import addresses_of
from pulumi_hosted_mesh.intents.compiled import NETWORKING, Compiled, Origin, Pending, manifest, name_of, ordered
from pulumi_hosted_mesh.intents.conflicts import contradictions, unsupported
from pulumi_hosted_mesh.intents.destinations import near
from pulumi_hosted_mesh.intents.inbound import add_entries, compile_inbound
from pulumi_hosted_mesh.intents.inter_cluster import compile_inter_cluster
from pulumi_hosted_mesh.intents.intra_cluster import compile_intra_cluster
from pulumi_hosted_mesh.intents.outbound import closed, compile_outbound
from pulumi_hosted_mesh.intents.policies import deny_all
from pulumi_hosted_mesh.intents.resolved import Places, Resolved, resolve
from pulumi_hosted_mesh.intents.work import Work
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.intents import DefaultDeny, Intents, IntentType, WireProtocol
from pulumi_hosted_mesh.spec.inventory import Inventory, InventoryCluster, InventoryGateway
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.proxies import OutboundTraffic

SOURCE: Final = "the intents"
TYPES: Final[Mapping[IntentType, Callable[[Work, Resolved], Any]]] = {
    IntentType.INTRA_CLUSTER: compile_intra_cluster,
    IntentType.INTER_CLUSTER: compile_inter_cluster,
    IntentType.INBOUND: compile_inbound,
    IntentType.OUTBOUND: compile_outbound,
}


def compile_intents(document: Intents, inventory: Inventory) -> Compiled:
    """The objects of a document. Raises: InvalidInputError with all mistakes; each names its intents."""
    places = Places(inventory)
    hosts = {
        intent.external.host
        for _, intent in document.all()
        if intent.external and intent.external.protocol is WireProtocol.TCP
    }
    work = Work(places, addresses_of(hosts))
    resolved = list[Resolved]()
    for path, intent in sorted(document.all(), key=lambda one: one[1].name):
        found = resolve(path, document, intent, places)
        if isinstance(found, Resolved):
            resolved.append(found)
        elif isinstance(found, str):
            work.compiled.pending.append(Pending(intent.name, found))
        else:
            work.problems += found
    for service in inventory.services:
        if service.namespace in document.namespaces:
            for mesh in places.meshes(service):
                work.needed.add((mesh, service.namespace))
                work.outbound.setdefault((mesh, service.namespace), set())
    for one in resolved:
        for service in (*(caller.service for caller in one.callers), *([one.callee] if one.callee else [])):
            for mesh in places.meshes(service):
                work.outbound.setdefault((mesh, service.namespace), set()).add(one.name)
        if one.callee:
            work.needed |= {(mesh, one.callee.namespace) for mesh in places.meshes(one.callee)}
            work.by_callee.setdefault(one.callee.key, []).append(one)
    work.problems += contradictions(work.by_callee.values())
    opened = list[tuple[Resolved, InventoryCluster, InventoryGateway, int]]()
    for one in resolved:
        if mistakes := list(unsupported(one)):
            work.problems += mistakes
            continue
        given = TYPES[one.intent.type](work, one)
        opened += [(one, *entry) for entry in given or ()]
    if work.problems:
        raise InvalidInputError(sorted({*work.problems}, key=str), SOURCE)
    _shared(work, document, opened)
    for name, objects in work.compiled.objects.items():
        work.compiled.objects[name] = ordered(objects)
    work.compiled.objects = dict(sorted(work.compiled.objects.items()))
    for of_mesh in (work.compiled.exports, work.compiled.imports):
        for mesh, those in of_mesh.items():
            of_mesh[mesh] = sorted(those, key=str)
    return work.compiled


def _shared(
    work: Work, document: Intents, opened: list[tuple[Resolved, InventoryCluster, InventoryGateway, int]]
) -> None:
    """The objects of several intents: deny-all, closed namespaces, locality, and ways from outside."""
    project = document.project
    if document.default_deny is not DefaultDeny.NONE:
        wanted = set(work.needed)
        if document.default_deny is DefaultDeny.MESH:
            wanted = {(mesh, work.places.config(mesh).root_namespace) for mesh, _ in work.needed}
        for mesh, namespace in wanted:
            config = work.places.config(mesh)
            work.add(config, [deny_all(project, config, namespace)])
    if document.outbound_traffic is OutboundTraffic.REGISTRY_ONLY:
        for (mesh, namespace), intents in work.outbound.items():
            config = work.places.config(mesh)
            work.add(config, [closed(project, config, namespace, intents)])
    for (mesh, host), those in work.near.items():
        config, callee = work.places.config(mesh), those[0].service
        if (mesh, "settings of host", host) not in work.claims:
            origin = Origin(tuple(sorted(one.name for one in those)), "type")
            name = name_of(project, f"{callee.name}-{callee.namespace}", "near")
            spec = near(host)
            work.add(
                config,
                [manifest(config, project, NETWORKING, "DestinationRule", callee.namespace, name, spec, origin)],
            )
    add_entries(work, project, opened)


def with_intents(federation: Federation, compiled: Compiled) -> Federation:
    """The federation's document with the exports, imports and egress gateways of intents. Raises: InvalidInputError."""
    document = federation.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for peer in document["peers"]:
        for field, given in (("exports", compiled.exports), ("imports", compiled.imports)):
            if own := of_peer(given, peer["mesh"]).get(federation.name):
                peer[field] = [*peer.get(field, ()), *own]
        if way := compiled.egress.get(peer["mesh"]):
            peer.setdefault("egress", _egress(federation, way))
            if (other := peer["egress"]["gateway"]) != way["gateway"]:
                rule = f"is {other}, and intents of mesh {peer['mesh']} name egressGateway {way['gateway']}"
                problem = Problem(f"egress.gateway of {peer['mesh']}", rule, "Name the same gateway in both")
                raise InvalidInputError([problem], f"federation {federation.name}")
    return read_document(Federation, document, f"federation {federation.name} with the intents")


def _egress(federation: Federation, way: dict[str, Any]) -> dict[str, Any]:
    """A gateway of the inventory as a federation's document has it, with ports for its own peers alone."""
    peers = {one.mesh for one in federation.peers}
    ports = {mesh: port for mesh, port in way.get("ports", {}).items() if mesh in peers}
    return {**{field: value for field, value in way.items() if field != "ports"}, **({"ports": ports} if ports else {})}


def of_peer(given: Mapping[str, list[tuple[str, dict[str, Any]]]], mesh: str) -> dict[str, list[dict[str, Any]]]:
    """The exports or imports of a mesh by federation, each service once. given: of all meshes."""
    found: dict[str, list[dict[str, Any]]] = {}
    for federation, one in given.get(mesh, ()):
        found.setdefault(federation, []).append(one)
    return {federation: _united(parts) for federation, parts in found.items()}


def _united(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each service: the audiences of several intents, or their callers' namespaces and serving meshes."""
    found: dict[str, dict[str, Any]] = {}
    for part in parts:
        key = str([part["namespace"], part["service"], part["port"], part.get("host")])
        known = found.setdefault(key, dict(part))
        if "to" in part:
            known["to"] = _audiences([*known["to"], *part["to"]])
        else:
            known |= {field: sorted({*known[field], *part[field]}) for field in ("meshes", "namespaces")}
    return list(found.values())


def _audiences(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_mesh: dict[str, set[str]] = {}
    for one in given:
        by_mesh.setdefault(one["mesh"], set()).update(one["identities"])
    return [{"mesh": mesh, "identities": sorted(names)} for mesh, names in sorted(by_mesh.items())]
