"""The documents of a mesh's intents: one for all TrafficIntents of the mesh, and their checks."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pulumi_hosted_mesh import (
    Compiled,
    Intents,
    InvalidInputError,
    Inventory,
    Mesh,
    Problem,
    compile_intents,
    read_document,
)
from sqlalchemy import Connection, Row

from hosted_mesh_controller.documents import KINDS, MESHES, SOURCE, Documents, checked, effective, not_the_tenants
from hosted_mesh_controller.settings import Settings, Watch
from hosted_mesh_controller.store import orders, parts
from hosted_mesh_controller.store.orders import Key
from hosted_mesh_controller.store.parts import Part
from hosted_mesh_controller.vocabulary import KindName, ObjectState, Role
from hosted_mesh_controller.watcher.intents_definition import REASONS, USERS
from hosted_mesh_controller.work.rights import Reach, foreign_names, meshes_in

Config = dict[str, Any]
INTENTS: Final = KINDS[KindName.INTENTS]
_OF_INVENTORY: Final = tuple(Inventory.model_fields)
_WORDS: Final[Mapping[str, str]] = {"eastwest": "east-west", "egress": "egress", "ingress": "ingress"}
_STATUS_PORT: Final = 15021


class NoMeshError(Exception):
    """A mesh that is not there, or not ready yet. Its text is the reason."""


@dataclass(frozen=True)
class MeshFacts:
    """A mesh that intents are for. generation: the one that its clusters have. clusters: of an inventory, the config
    cluster first. members: their names there, by the names in the settings.
    """

    name: str
    generation: int
    clusters: tuple[Config, ...]
    members: Mapping[str, str]

    @property
    def target(self) -> Config:
        """The config cluster: istiod reads Istio's objects there."""
        reference, name = next(iter(self.members.items()))
        return {"name": name, "cluster": {"kubeconfig": reference}}


def mesh_of(connection: Connection, settings: Settings, watch: Watch, cluster: str, wanted: str | None) -> MeshFacts:
    """The mesh of a cluster that has this name, or its only one. Raises: NoMeshError, InvalidInputError."""
    rows = meshes_in(connection, settings, watch.tenant, cluster)
    names = [one.name for one in rows]
    if wanted is None and len(rows) > 1:
        fix = f"Name one of {', '.join(names)}"
        raise InvalidInputError([Problem("spec.mesh", "is required in a cluster with several meshes", fix)], SOURCE)
    row = next((one for one in rows if wanted in (None, one.name)), None)
    if row is None:
        raise NoMeshError(f"There is no mesh {wanted} of this cluster." if wanted else "This cluster has no mesh.")
    if not row.ready_generation or row.state == ObjectState.DELETING:
        raise NoMeshError(f"Mesh {row.name} is not ready.")
    return facts_of(settings, row)


def facts_of(settings: Settings, row: Row[Any]) -> MeshFacts:
    """The facts of an ordered mesh."""
    merged = effective(MESHES, json.loads(row.documents), settings, row.tenant)["mesh"]
    mesh = read_document(Mesh, merged, SOURCE)
    clusters, members = [], {}
    for given, member in zip(merged["memberships"], mesh.memberships, strict=True):
        name = member.cluster_id_in(mesh.name)
        members[given["cluster"]["kubeconfig"]] = name
        gateways = [_gateway(one) for one in given.get("gateways", ())]
        entry: Config = {"name": name, "mesh": mesh.name, "trustDomain": mesh.domain, "gateways": gateways}
        clusters.append({**entry, "network": member.network_in(mesh.name), "clusterDomain": member.cluster_domain})
    return MeshFacts(mesh.name, row.ready_generation, tuple(clusters), members)


def mesh_as_ordered(documents: Documents, given: Sequence[Part]) -> MeshFacts:
    """The mesh of an earlier order."""
    target = documents["target"]
    members = {target["cluster"]["kubeconfig"]: target["name"]}
    members |= {one.cluster: one.facts["member"] for one in given}
    clusters, name = tuple(documents["inventory"]["clusters"]), documents["intents"]["project"]
    return MeshFacts(name, max((one.base for one in given), default=0), clusters, members)


def _gateway(given: Mapping[str, Any]) -> Config:
    """A gateway of the inventory; its role is in its name, as for `hosted-mesh discover --inventory`."""
    plain = given["name"].replace("-", "")
    role = next((role for word, role in _WORDS.items() if word in plain), "ingress")
    made: Config = {"name": given["name"], "role": role}
    if given.get("namespace"):
        made["namespace"] = given["namespace"]
    ports = [one["port"] for one in (given.get("service") or {}).get("ports", ()) if one["port"] != _STATUS_PORT]
    return made | ({"port": ports[0]} if ports and role != "ingress" else {})


def key_of(watch: Watch, mesh: MeshFacts) -> Key:
    """The object of a mesh's intents."""
    return Key(watch.tenant, INTENTS.name, f"{mesh.name}-{mesh.target['name']}")


def merged(mesh: MeshFacts, given: Sequence[Part]) -> Documents:
    """The documents of an order: one for all parts."""
    services: dict[tuple[str, str], Config] = {}
    groups: list[Config] = []
    settings: Config = {}
    namespaces: set[str] = set()
    for part in given:
        spec = copy.deepcopy(dict(part.spec))
        own = mesh.members[part.cluster]
        for one in spec.get("services", ()):
            key = (one["namespace"], one["name"])
            known = services.setdefault(key, {**one, "clusters": []})
            known["clusters"] = sorted({*known["clusters"], *one.get("clusters", [own])})
        for group in spec.get("groups", ()):
            for intent in group.get("intents", ()):
                intent.setdefault("application", spec.get("application", part.resource))
            groups.append(group)
        namespaces |= set(spec.get("namespaces", ()))
        settings |= {name: spec[name] for name in _SETTINGS if name in spec}
    intents = {"project": mesh.name, "application": mesh.name, **settings}
    intents |= {"namespaces": sorted(namespaces), "groups": groups}
    inventory = {"clusters": [*mesh.clusters], "services": [services[key] for key in sorted(services)]}
    return {"intents": intents, "inventory": inventory, "target": mesh.target}


_SETTINGS: Final[Mapping[str, str]] = {"defaultDeny": "namespace", "outboundTraffic": "", "domain": ""}
"""Fields of the whole document, and their defaults."""


def accepted(
    connection: Connection, settings: Settings, cluster: str, watch: Watch, resource: Config
) -> tuple[Key, Part]:
    """The part of a resource, checked alone and beside the mesh's other parts.

    Raises: InvalidInputError, NoMeshError.
    """
    spec = resource.get("spec")
    if not isinstance(spec, dict):
        raise InvalidInputError([Problem("spec", "must be a mapping", "Write its fields as `name: value`")], SOURCE)
    _require_users_fields(spec)
    mesh = mesh_of(connection, settings, watch, cluster, spec.get("mesh"))
    key, metadata = key_of(watch, mesh), resource["metadata"]
    part = Part(cluster, metadata["name"], metadata.get("uid", ""), metadata.get("generation", 0), spec, {}, 0)
    facts = _alone(settings, watch, mesh, part)
    before = parts.find(connection, cluster, part.resource)
    if before is not None and before.name != key.name:
        raise InvalidInputError([Problem("spec.mesh", "cannot change", "Create another resource")], SOURCE)
    rows = parts.of_key(connection, key)
    if not rows and orders.find(connection, key) is not None:
        rule = f"has intents {key.name} that were ordered by REST"
        raise InvalidInputError([Problem("spec.mesh", rule, "Remove those first")], SOURCE)
    me = (cluster, part.resource)
    others = [part_of(one) for one in rows if not one.leaving and (one.cluster, one.resource) != me]
    if problems := list(_conflicts(mesh, part, [one for one in others if one.cluster in mesh.members])):
        raise InvalidInputError(problems, SOURCE)
    facts |= {"mesh": mesh.name, "member": mesh.members[cluster]}
    return key, replace(part, facts=facts, base=mesh.generation)


def part_of(row: Row[Any]) -> Part:
    """The part of a database's row."""
    spec, facts = json.loads(row.spec), json.loads(row.facts)
    return Part(row.cluster, row.resource, row.uid, row.generation, spec, facts, row.base)


def _require_users_fields(spec: Config) -> None:
    """Raises InvalidInputError for other fields than the user's."""
    found = {key: value for key, value in spec.items() if key != "mesh"}
    inventory = {key: found.pop(key) for key in _OF_INVENTORY if key in found}
    problems = []
    if not isinstance(spec.get("mesh", ""), str):
        problems.append(Problem("spec.mesh", "must be a name", "Write the mesh's name"))
    for one in not_the_tenants(USERS, {"intents": found, "inventory": inventory}):
        place = tuple(
            "*" if part.isdigit() else part for part in one.field.replace("[", ".").replace("]", "").split(".")
        )
        rule, _, fix = REASONS.get(place, f"{one.rule}: {one.fix}").partition(": ")
        field = f"spec.{one.field.partition('.')[2]}"
        problems.append(Problem(field, rule, fix[:1].upper() + fix[1:]))
    if problems:
        raise InvalidInputError(problems, SOURCE)


def _alone(settings: Settings, watch: Watch, mesh: MeshFacts, part: Part) -> Config:
    """The facts of a part's compilation. Raises: InvalidInputError if it is not complete and right by itself."""
    _require_shape(part.spec)
    problems = list(_foreign(settings, watch, mesh, part))
    if not problems:
        documents = merged(mesh, [part])
        try:
            checked(INTENTS, documents, settings, watch.tenant, Role.TENANT)
            compiled = _compiled(documents)
        except InvalidInputError as error:
            found = [Problem(field_of(one.field), one.rule, one.fix) for one in error.problems]
            raise InvalidInputError(found, SOURCE) from None
        problems = list(_unreached(mesh, compiled))
    if problems:
        raise InvalidInputError(problems, SOURCE)
    names = [one["name"] for one in _intents(part)]
    waiting = [{"intent": one.intent, "reason": one.reason} for one in compiled.pending]
    clusters = [{"name": name, "objects": len(made)} for name, made in compiled.objects.items()]
    return {"intents": len(names), "pending": waiting, "clusters": clusters}


def _require_shape(spec: Mapping[str, Any]) -> None:
    """Raises InvalidInputError if a part cannot be merged. The documents' models check all else."""
    for name, keys in (("groups", ()), ("services", ("name", "namespace")), ("namespaces", None)):
        found = spec.get(name, [])
        entries = isinstance(found, list) and all(_is_entry(one, keys) for one in found)
        if not entries or (name == "groups" and not all(_has_intents(one) for one in found)):
            fix = "Write it as in the example of the documentation"
            raise InvalidInputError([Problem(f"spec.{name}", "must be a list of its entries", fix)], SOURCE)


def _is_entry(one: Any, keys: Sequence[str] | None) -> bool:
    if keys is None:
        return isinstance(one, str)
    clusters = one.get("clusters", []) if isinstance(one, dict) else None
    is_placed = isinstance(clusters, list) and all(isinstance(name, str) for name in clusters)
    return is_placed and all(isinstance(one.get(key), str) for key in keys)


def _has_intents(group: Config) -> bool:
    intents = group.get("intents", [])
    return isinstance(intents, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in intents
    )


def _foreign(settings: Settings, watch: Watch, mesh: MeshFacts, part: Part) -> Iterator[Problem]:
    """Problems with names of another's, by fields of the part: its spec has both documents' fields."""
    reach = Reach(mesh.name, set(mesh.members.values()), settings.tenants[watch.tenant].domains)
    for one in foreign_names(part.spec, {**part.spec, "clusters": mesh.clusters}, reach):
        yield Problem(field_of(one.field), one.rule, one.fix)


def _unreached(mesh: MeshFacts, compiled: Compiled) -> Iterator[Problem]:
    """Problems with compiled objects in clusters that one stack does not reach."""
    for name in compiled.objects:
        if name != mesh.target["name"]:
            rule = f"need objects in cluster {name}, and the config cluster is {mesh.target['name']}"
            yield Problem("spec.groups", rule, "Leave out a dedicated egress gateway and mutualTls, or order by REST")


def _conflicts(mesh: MeshFacts, part: Part, others: Sequence[Part]) -> Iterator[Problem]:
    """Contradictions with other parts, each with the names of both resources."""
    plain = [one for other in others for one in _differences(part, other)]
    if plain or not _problems_of(mesh, [part, *others]) or _problems_of(mesh, others):
        # Also where the others alone are wrong, since their mesh changed: this part does not add to it.
        yield from plain
        return
    found = [one for other in others for one in _contradictions(mesh, part, [other], _called(part, other))]
    # Else three contradict each other, though no two of them do.
    yield from found or _contradictions(mesh, part, others, "other TrafficIntents")


def _called(part: Part, other: Part) -> str:
    """The name of another part."""
    place = f" of cluster {other.cluster}" if other.cluster != part.cluster else ""
    return f"TrafficIntents {other.resource}{place}"


def _differences(part: Part, other: Part) -> Iterator[Problem]:
    """Contradictions of two parts that need no compiler."""
    mine, name = f"TrafficIntents {part.resource}", _called(part, other)
    theirs = {one["name"] for one in _intents(other)}
    for at, group in enumerate(part.spec.get("groups", ())):
        for position, intent in enumerate(group.get("intents", ())):
            if intent["name"] in theirs:
                rule = f"is {intent['name']} in {mine} and in {name}"
                yield Problem(f"spec.groups[{at}].intents[{position}].name", rule, "Rename one of them")
    for field, default in _SETTINGS.items():
        one, their = (found.spec.get(field, default) for found in (part, other))
        if one != their and not (field == "domain" and "" in (one, their)):
            rule = f"is {one or 'not set'} in {mine} and {their or 'not set'} in {name}"
            yield Problem(f"spec.{field}", rule, "Give both one value: it is for the whole mesh")
    known = {(one["namespace"], one["name"]): _placed(one) for one in other.spec.get("services", ())}
    for at, service in enumerate(part.spec.get("services", ())):
        if known.get((service["namespace"], service["name"]), _placed(service)) != _placed(service):
            rule = f"{service['namespace']}/{service['name']} differs in {mine} and in {name}"
            yield Problem(f"spec.services[{at}]", rule, "Write the service alike in both")


def _contradictions(mesh: MeshFacts, part: Part, others: Sequence[Part], name: str) -> Iterator[Problem]:
    """The compiler's problems with a part and others, by fields of the part."""
    number = len(part.spec.get("groups", ()))
    for one in _problems_of(mesh, [part, *others]):
        at = one.field.removeprefix("intents.").removeprefix("groups[").partition("]")[0]
        field = field_of(one.field) if at.isdigit() and int(at) < number else "spec.groups"
        yield Problem(field, f"{one.rule} (TrafficIntents {part.resource} contradicts {name})", one.fix)


def _problems_of(mesh: MeshFacts, given: Sequence[Part]) -> Sequence[Problem]:
    """The problems of parts together."""
    try:
        _compiled(merged(mesh, given))
    except InvalidInputError as error:
        return error.problems
    return ()


def _compiled(documents: Documents) -> Compiled:
    intents = read_document(Intents, documents["intents"], SOURCE)
    return compile_intents(intents, read_document(Inventory, documents["inventory"], SOURCE))


def _placed(service: Config) -> Config:
    """A service's facts without its clusters, which add up."""
    return {key: one for key, one in service.items() if key != "clusters"}


def _intents(part: Part) -> list[Config]:
    return [one for group in part.spec.get("groups", ()) for one in group.get("intents", ())]


def field_of(field: str) -> str:
    """A field of the documents, or of the compiler, as one of the resource."""
    if field == "(name)":
        return "spec.mesh"
    for document in ("intents", "inventory"):
        if field == document or field.startswith(f"{document}."):
            inner = field.removeprefix(document).removeprefix(".")
            # The clusters of the inventory follow from the mesh.
            return "spec.mesh" if inner.startswith("clusters") else f"spec.{inner}" if inner else "spec"
    return f"spec.{field}" if field.startswith("groups[") else field
