"""Meshes of different owners do not know of each other: no namespace, host, key or credential of another's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .. import vocabulary
from ..detect.leaf.level import Level
from ..detect.search.index import Index
from ..detect.secrets.resource_types import ALL_SECRET_TYPES, KEY_TYPE
from ..detect.value.control_plane_secrets import add_secrets_of
from ..detect.value.inspection import inspect
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Rule
from ..evaluation.settings import schema_of
from ..plan.istiod import discovery_container, environment
from ..plan.model import Resource
from ..plan.tree import at, show

OWN_SECRETS: Final = frozenset({vocabulary.CACERTS_SECRET, vocabulary.KUBECONFIG_SECRET})
"""Secrets that no two meshes may share. A registry login or a DNS credential may be shared by choice."""
_NAME = re.compile(rb"[A-Za-z0-9_.-]+")


@dataclass
class Meshes:
    """Which resource, by URN, and which name of a namespace or a host is which mesh's."""

    of: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    """Hosts, and the names of namespaces that one mesh alone uses, in whichever cluster."""
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """By cluster, its namespaces that one mesh alone uses there, whoever uses the same name elsewhere."""


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
    """The cluster in which an object is made, wherever an operator carries it."""
    return context.clusters.name_of(resource.provider) if resource.provider else ""


def _hosts(resource: Resource) -> Iterator[str]:
    told = at(resource.body, "metadata", "annotations", vocabulary.EXTERNAL_DNS_HOSTNAME_ANNOTATION)
    own = environment(discovery_container(resource)).get("ISTIOD_CUSTOM_HOST")
    for hosts in (told, own):
        if isinstance(hosts, str):
            yield from (part.strip() for part in hosts.split(",") if part.strip())


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    found = meshes(context)
    if len(set(found.of.values())) < 2:
        return
    yield from _references(context, found)
    yield from _secrets(context, found)
    yield from _keys(context, found)


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
    """One mesh's CA key or kubeconfig in an object of another mesh, in whichever cluster; what a Secret in its cluster
    has, in a cluster where it has nothing."""
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
    """The data planes' accounts in which credentials of one mesh alone are. An account is no cluster, and has no mesh's
    label: so it is taken for that mesh's.

    given: resources, each with a mesh that has a credential in it.
    """
    owners: dict[str | None, set[str]] = {}
    for resource, mesh in given:
        if context.owners.is_in_data_planes_account(resource):
            owners.setdefault(context.owners.place(resource), set()).add(mesh)
    return frozenset(place for place, meshes in owners.items() if len(meshes) == 1)


def _holders(context: Context, found: Meshes) -> Mapping[bytes, set[tuple[str, bool]]]:
    """Per fingerprint the meshes whose it is, and whether no other one may have it in whichever cluster."""
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
    """True for a Secret in a data plane; not for a registry's login, which several may be given."""
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
    """One private key that is given to two meshes, one password that is given to the clusters of two, or to a cluster
    in which its mesh has nothing; this shows before any value is known."""
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
    """Whether a generated secret is to be in one mesh only. What the control plane keeps for several meshes, a registry
    login for instance, may be one; what is in two data planes has two owners."""
    return source.type == KEY_TYPE or (source.type in ALL_SECRET_TYPES and context.owners.is_given_away(resource))


TENANTS = Rule(
    name="tenants-are-apart",
    title="Tenants are apart",
    description="No object of one mesh refers to another mesh's namespace, host, key or credential.",
    cure="Give each mesh its own namespace, host name, CA and access, and refer to nothing of another's. Meshes "
    "that are meant to talk are joined by MeshFederation. A namespace that is no mesh's is named in sharedNamespaces.",
    severity=Severity.HIGH,
    page="tenants",
    acceptable=True,
    check_stack=check_stack,
    schema=schema_of(shared_namespaces="Namespaces that belong to no mesh, whatever their labels."),
)
