"""Meshes of different owners are apart: none has a namespace, host, key or credential of another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.clusters import Role, is_tenants
from hosted_mesh_plan.istiod import discovery_container, environment
from hosted_mesh_plan.model import IN_SECRET, SECRET_DATA, Resource
from hosted_mesh_plan.tree import UNKNOWN, at, leaves, show

from ..detect.leaf.content import held
from ..detect.leaf.level import Level, level_of
from ..detect.search.index import Index
from ..detect.secrets.resource_types import ALL_SECRET_TYPES, KEY_TYPE
from ..detect.value.control_plane_secrets import add_secrets_of
from ..detect.value.inspection import inspect
from ..evaluation.context import Context
from ..evaluation.finding import Severity, Warned
from ..evaluation.rule import Rule
from ..evaluation.settings import schema_of
from .whose import ONE_TENANTS

OWN_SECRETS: Final = frozenset({vocabulary.CACERTS_SECRET, vocabulary.KUBECONFIG_SECRET})
"""Secrets of one mesh alone. A registry login or a DNS credential may be shared by choice."""
_NAME = re.compile(rb"[A-Za-z0-9_.-]+")


@dataclass
class Meshes:
    """The mesh of each resource, by URN, and of each namespace and host."""

    of: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    """Hosts, and namespaces that one mesh alone uses, in any cluster."""
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """By cluster, its namespaces that one mesh alone uses there."""


def meshes(context: Context) -> Meshes:
    """By the mesh label on objects and their namespaces; then every object in such a namespace."""
    found = Meshes()
    shared = set(context.settings.shared_namespaces)
    by_namespace: dict[tuple[str, str], set[str]] = {}
    by_name: dict[str, set[str]] = {}
    for resource in context.stack.resources:
        mesh = at(resource.body, "metadata", "labels", vocabulary.MESH_LABEL) if resource.is_kubernetes else None
        if isinstance(mesh, str) and resource.provider:
            found.of[resource.urn] = mesh
            namespace = resource.object_name if resource.kind == "Namespace" else resource.namespace
            if namespace and namespace not in shared:
                by_namespace.setdefault((_cluster(context, resource), namespace), set()).add(mesh)
                by_name.setdefault(namespace, set()).add(mesh)
    for (cluster, namespace), names in by_namespace.items():
        if len(names) == 1:
            found.namespaces.setdefault(cluster, {})[namespace] = next(iter(names))
    found.words.update((name, next(iter(names))) for name, names in by_name.items() if len(names) == 1)
    for resource in context.stack.resources:
        here = found.namespaces.get(_cluster(context, resource), {}) if resource.is_kubernetes else {}
        if mesh := here.get(resource.namespace):
            found.of.setdefault(resource.urn, mesh)
    for resource in context.stack.resources:
        if resource.urn in found.of:
            found.words.update((host, found.of[resource.urn]) for host in _hosts(resource))
    return found


def _cluster(context: Context, resource: Resource) -> str:
    """The cluster of an object, before any operator carries it on."""
    return context.clusters.name_of(resource.provider) if resource.provider else ""


def _hosts(resource: Resource) -> Iterator[str]:
    told = at(resource.body, "metadata", "annotations", vocabulary.EXTERNAL_DNS_HOSTNAME_ANNOTATION)
    own = environment(discovery_container(resource)).get("ISTIOD_CUSTOM_HOST")
    for hosts in (told, own):
        if isinstance(hosts, str):
            yield from (part.strip() for part in hosts.split(",") if part.strip())


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    found = meshes(context)
    yield from _shared(context, found)
    if len(set(found.of.values())) < 2:
        return
    yield from _references(context, found)
    yield from _secrets(context, found)
    yield from _keys(context, found)


def _shared(context: Context, found: Meshes) -> Iterator[tuple[Resource, str, str]]:
    """One secret in Secrets of two data planes' clusters without mesh labels: rejected if settings declare two tenants,
    else a warning, since both clusters may be one tenant's."""
    holders: dict[tuple[str, bytes | str], dict[str, tuple[Resource, str]]] = {}
    kept = [
        (place, resource)
        for resource in context.stack.resources
        if resource.urn not in found.of
        and _is_tenants_secret(context, resource)
        and (place := context.owners.place(resource)) is not None
    ]
    for place, resource in kept if len({place for place, _ in kept}) > 1 else ():
        for key, path in _secrets_of(context, resource):
            holders.setdefault(key, {}).setdefault(place, (resource, path))
    told = set[tuple[str, ...]]()
    for by_place in holders.values():
        names = tuple(sorted(resource.urn for resource, _ in by_place.values()))
        if len(by_place) < 2 or names in told:
            continue
        told.add(names)
        declared = all(map(is_tenants, by_place))
        (first, _), *others = by_place.values()
        for resource, path in others:
            what = f"has the same secret as {first.called}, which is in another data plane"
            yield resource, path, what if declared else Warned(f"{what}. {ONE_TENANTS}")


def _is_tenants_secret(context: Context, resource: Resource) -> bool:
    return (
        resource.kind == "Secret"
        and not resource.read_only
        and context.clusters.role(resource) is Role.DATA_PLANE
        and at(resource.body, "type") not in _LOGINS
    )


def _secrets_of(context: Context, resource: Resource) -> Iterator[tuple[tuple[str, bytes | str], str]]:
    """The secrets of a Secret's data: generated sources, and values that are secret by their form."""
    for name in SECRET_DATA:
        for source in context.stack.sources_of(resource, name):
            generated = source.type == KEY_TYPE or source.type in ALL_SECRET_TYPES
            if generated and context.flow.uses.level(resource, name, source) is Level.SECRET:
                yield ("source", source.urn), name
    for leaf in leaves(resource.asked):
        if leaf.path[:1] in IN_SECRET and leaf.value is not UNKNOWN and leaf.value is not None:
            data = held(leaf)
            if len(data) >= LEAST_SHARED and level_of(data, str(leaf.path[-1]), context.stack.names) is Level.SECRET:
                yield ("value", data), show(leaf.path)


LEAST_SHARED: Final = 8


def _references(context: Context, found: Meshes) -> Iterator[tuple[Resource, str, str]]:
    lengths = {word.count(".") + 1 for words in (found.words, *found.namespaces.values()) for word in words}
    for resource in context.stack.resources:
        mesh = found.of.get(resource.urn)
        if mesh is None or vocabulary.TYPE_MESH_FEDERATION in context.stack.ancestor_types(resource):
            continue
        text, here = context.text(resource), found.namespaces.get(_cluster(context, resource), {})
        told: set[str] = set()
        for name in _NAME.finditer(text.buffer):
            labels = name.group().decode().split(".")
            for word in (".".join(labels[one : one + n]) for n in lengths for one in range(len(labels) - n + 1)):
                owner = here.get(word) or found.words.get(word, mesh)
                if owner != mesh and (path := show(text.path_at(name.start()))) not in told:
                    told.add(path)
                    yield resource, path, f"mesh {mesh} refers to {word}, which is mesh {owner}'s"


def _secrets(context: Context, found: Meshes) -> Iterator[tuple[Resource, str, str]]:
    """One mesh's CA key or kubeconfig in an object of another mesh, in any cluster; and content of a mesh's Secret in a
    cluster where that mesh has nothing."""
    holders = _holders(context, found)
    if not holders:
        return
    index, homes = Index(), _homes(context, found)
    for number, one in enumerate(holders):
        index.add([one], str(number))
    told = list(holders.values())
    held: dict[tuple[str, str, str], tuple[Resource, bool]] = {}
    for resource in context.stack.resources:
        mesh = found.of.get(resource.urn)
        given = context.owners.is_given_away(resource)
        if mesh is None and not given:
            continue
        for match in inspect(context.text(resource), index, look_for_shapes=False).matches:
            for owner, own in sorted(told[int(match.origin)]):
                away = given and context.owners.place(resource) not in homes[owner]
                if mesh != owner and (away or (own and mesh is not None)):
                    held.setdefault((resource.urn, show(match.path), owner), (resource, own))
    of_one = _of_one_mesh(context, ((resource, owner) for (_, _, owner), (resource, _) in held.items()))
    for (_, path, owner), (resource, own) in held.items():
        if own or context.owners.place(resource) not in of_one:
            yield resource, path, f"holds a credential of mesh {owner}"


def _of_one_mesh(context: Context, given: Iterable[tuple[Resource, str]]) -> frozenset[str | None]:
    """The data planes' accounts with credentials of one mesh alone. An account has no mesh label, so it counts as that
    mesh's.

    given: resources, each with a mesh that has a credential in it.
    """
    owners: dict[str | None, set[str]] = {}
    for resource, mesh in given:
        if context.owners.is_in_data_planes_account(resource):
            owners.setdefault(context.owners.place(resource), set()).add(mesh)
    return frozenset(place for place, meshes in owners.items() if len(meshes) == 1)


def _holders(context: Context, found: Meshes) -> Mapping[bytes, set[tuple[str, bool]]]:
    """Per fingerprint its meshes, and whether it is exclusive in every cluster."""
    holders: dict[bytes, set[tuple[str, bool]]] = {}
    for resource in context.stack.resources:
        own = _is_own_secret(context, resource)
        if resource.urn in found.of and (own or _is_in_its_cluster(context, resource)):
            index = Index()
            add_secrets_of(resource, index, frozenset(), names=context.stack.names)
            for one in index.fingerprints:
                holders.setdefault(one, set()).add((found.of[resource.urn], own))
    return holders


_LOGINS: Final = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")


def _homes(context: Context, found: Meshes) -> Mapping[str, set[str | None]]:
    """Per mesh, the places in which it has an object."""
    homes: dict[str, set[str | None]] = {}
    for resource in context.stack.resources:
        if resource.urn in found.of:
            homes.setdefault(found.of[resource.urn], set()).add(context.owners.place(resource))
    return homes


def _is_in_its_cluster(context: Context, resource: Resource) -> bool:
    """True for a Secret in a data plane, except a registry login, which several may have."""
    return (
        resource.kind == "Secret"
        and context.owners.is_given_away(resource)
        and at(resource.body, "type") not in _LOGINS
    )


def _is_own_secret(context: Context, resource: Resource) -> bool:
    return (
        resource.kind == "Secret"
        and resource.object_name in OWN_SECRETS
        and context.clusters.on_control_plane(resource)
    )


def _keys(context: Context, found: Meshes) -> Iterator[tuple[Resource, str, str]]:
    """One private key in two meshes, one password in the clusters of two, or in a cluster where its mesh has nothing.
    Works before values are known."""
    of, homes = found.of, _homes(context, found)
    takers: dict[str, dict[str, Resource]] = {}
    strangers: list[tuple[Resource, str, Resource]] = []
    for resource in context.stack.resources:
        at_a_mesh = resource.urn in of and resource.kind == "Secret"
        if not at_a_mesh and (resource.urn in of or not context.owners.is_given_away(resource)):
            continue
        for name in resource.sources:
            for source in context.stack.sources_of(resource, name):
                if not _is_for_one(context, resource, source):
                    continue
                if context.flow.uses.level(resource, name, source) is not Level.SECRET:
                    continue
                if at_a_mesh:
                    takers.setdefault(source.urn, {}).setdefault(of[resource.urn], resource)
                elif source.type in ALL_SECRET_TYPES:
                    strangers.append((resource, name, source))
    for urn, by_mesh in takers.items():
        source = context.stack.by_urn[urn]
        places = {context.owners.place(resource) for resource in by_mesh.values()}
        if len(by_mesh) > 1 and (source.type == KEY_TYPE or len(places) > 1):
            names = sorted(by_mesh)
            what = "private key" if source.type == KEY_TYPE else "password"
            for name in names:
                yield by_mesh[name], "data", f"{what} {source.name} is given to meshes {' and '.join(names)}"
    away = [
        (resource, name, source.name, tuple(sorted(meshes)))
        for resource, name, source in strangers
        if (meshes := takers.get(source.urn, {}).keys())
        and not any(context.owners.place(resource) in homes[mesh] for mesh in meshes)
    ]
    of_one = _of_one_mesh(context, ((resource, mesh) for resource, _, _, owners in away for mesh in owners))
    for resource, name, password, owners in away:
        if context.owners.place(resource) not in of_one:
            yield resource, name, f"password {password} is mesh {' and '.join(owners)}'s, which is elsewhere"


def _is_for_one(context: Context, resource: Resource, source: Resource) -> bool:
    """True for a generated secret of one mesh only. The control plane may keep one for several meshes, such as a
    registry login; two data planes are two owners."""
    return source.type == KEY_TYPE or (source.type in ALL_SECRET_TYPES and context.owners.is_given_away(resource))


TENANTS = Rule(
    name="tenants-are-apart",
    title="Tenants are apart",
    description="No object of one mesh refers to another mesh's namespace, host, key or credential.",
    cure="Give each mesh its own namespace, host name, CA and access, and remove references to another mesh. Connect "
    "meshes by MeshFederation. Name namespaces of no mesh in sharedNamespaces.",
    severity=Severity.HIGH,
    page="tenants",
    acceptable=True,
    check_stack=check_stack,
    schema=schema_of(shared_namespaces="Namespaces of no mesh, with any labels."),
)
