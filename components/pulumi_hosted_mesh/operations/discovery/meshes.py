"""Derives the meshes from the objects of clusters. Pure: the same objects give the same facts.

An installation is one revision in one namespace of one cluster: an istiod's Deployment, or webhooks that call one
elsewhere. Installations with one mesh ID are one mesh; so are those without an ID in one namespace of a cluster.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation, Manifest
from pulumi_hosted_mesh.operations.discovery.facts import (
    Discovery,
    FoundGateway,
    FoundMesh,
    Installation,
    MeshNamespace,
)
from pulumi_hosted_mesh.operations.discovery.managers import manager_of
from pulumi_hosted_mesh.operations.discovery.mesh_identity import (
    MeshIdentity,
    annotations_of,
    containers_of,
    environment_of,
    identity_of,
    image_version,
    labels_of,
    name_of,
    namespace_of,
    revision_of,
)
from pulumi_hosted_mesh.operations.discovery.overlaps import INJECTOR, called, overlaps
from pulumi_hosted_mesh.operations.discovery.removed import Place, described, removed, revision_of_sidecar
from pulumi_hosted_mesh.operations.discovery.selectors import demands_a_label, selects
from pulumi_hosted_mesh.operations.discovery.services import services_of
from pulumi_hosted_mesh.vocabulary import (
    MESH_LABEL,
    NETWORK_LABEL,
    PEERS_ANNOTATION,
    REVISION_LABEL,
    TAG_LABEL,
    owner_of,
)

AMBIENT = ("istio.io/dataplane-mode", "ambient")
REMOTE_CLUSTER = "networking.istio.io/cluster"
BESIDE = {"ztunnel": "ztunnel", "istio-cni-node": "cni", "kiali": "kiali"}
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def discover(observed: Sequence[ClusterObservation]) -> Discovery:
    """The meshes of several clusters, sorted by name; and the unreadable clusters and kinds."""
    seen_there: list[tuple[Installation, MeshIdentity, set[str]]] = []
    unreachable = {one.cluster: one.unreachable for one in observed if one.unreachable}
    twice: dict[str, tuple[str, ...]] = {}
    left_behind: dict[str, tuple[str, ...]] = {}
    for one in _distinct(observed):
        try:
            seen = [(here, identity, set(_peers(one, here, identity))) for here, identity in installations(one)]
            old = tuple(described(removed(one, [(here.namespace, here.revision) for here, _, _ in seen])))
            shared = tuple(
                f"{pods}: by {called(first)} and {called(second)}"
                for first, second, pods in overlaps(one.of("MutatingWebhookConfiguration"))
            )
        except UNREADABLE as error:  # discovery continues with the other clusters
            unreachable[one.cluster] = f"its objects have an invalid form ({type(error).__name__})"
            continue
        if shared:
            twice[one.cluster] = shared
        if old:
            left_behind[one.cluster] = old
        seen_there += seen
    found: dict[str, list[tuple[Installation, MeshIdentity]]] = defaultdict(list)
    peers: dict[str, set[str]] = defaultdict(set)
    tenants = {
        (identity.mesh, host): identity.tenant
        for _, identity, _ in seen_there
        if identity.tenant
        for host in identity.hosts
    }
    for installation, identity, others in seen_there:
        # A data plane's objects have no tenant: its webhooks call a host of the tenant's istiod.
        tenant = identity.tenant or tenants.get((identity.mesh, installation.istiod))
        name = identity.mesh or f"{installation.cluster}/{installation.namespace}"
        name = owner_of(name, tenant or None)
        found[name].append((installation, identity))
        peers[name] |= others
    return Discovery(
        [_mesh(name, parts, peers[name]) for name, parts in sorted(found.items())],
        unreachable,
        {one.cluster: one.unreadable for one in observed if one.unreadable},
        twice,
        left_behind,
    )


def discover_all(observed: Sequence[ClusterObservation]) -> Discovery:
    """The meshes with their services."""
    found = discover(observed)
    readable = [one for one in observed if one.cluster not in found.unreachable]
    return dataclasses.replace(found, services=services_of(readable, found))


def installations(observed: ClusterObservation) -> Iterator[tuple[Installation, MeshIdentity]]:
    """Installations of one cluster, by namespace and revision, each with the mesh identity in its configuration."""
    istiods = {(namespace_of(one), revision_of(one)): one for one in observed.of("Deployment") if _is_istiod(one)}
    hooks: dict[Place, list[Manifest]] = defaultdict(list)
    for one in observed.of("MutatingWebhookConfiguration"):
        if any(INJECTOR in str(hook.get("name")) for hook in one.get("webhooks") or []):
            hooks[_place_of_webhook(one, istiods)].append(one)
    gone = removed(observed, {*istiods, *hooks})
    several = len({namespace for namespace, _ in [*istiods, *hooks]}) > 1
    for place in sorted({*istiods, *hooks}):
        namespace, revision = place
        istiod, own_hooks = istiods.get(place), hooks.get(place, [])
        first = istiod or own_hooks[0]
        identity = identity_of(observed.of("ConfigMap"), namespace, revision, first)
        # Objects without a label of their installation belong to it if it is the only one.
        alone = not several and (revision == "default" or len({*istiods, *hooks}) == 1)
        yield (
            Installation(
                cluster=observed.cluster,
                namespace=namespace,
                revision=revision,
                role=_role(istiod),
                managed_by=manager_of(first),
                version=_version(istiod, own_hooks),
                istiod="" if istiod else _host(own_hooks),
                ready=_ready(istiod) if istiod else "",
                cluster_id=identity.cluster_id or _from_url(own_hooks, "cluster"),
                network=identity.network or _from_url(own_hooks, "net"),
                tags=tuple(sorted(labels_of(one)[TAG_LABEL] for one in own_hooks if TAG_LABEL in labels_of(one))),
                components=tuple(_components(observed, namespace, istiod, alone)),
                members=tuple(_members(observed, own_hooks, revision, gone, alone)),
                gateways=tuple(_gateways(observed, place, identity, alone)),
            ),
            identity,
        )


def _distinct(observed: Iterable[ClusterObservation]) -> Iterator[ClusterObservation]:
    """Each cluster once: two contexts of one cluster have the same uid of kube-system."""
    seen = set()
    for one in observed:
        uids = [space["metadata"].get("uid") for space in one.of("Namespace") if name_of(space) == "kube-system"]
        if uids and uids[0] is not None:
            if uids[0] in seen:
                continue
            seen.add(uids[0])
        yield one


def _mesh(name: str, parts: Sequence[tuple[Installation, MeshIdentity]], peers: Iterable[str]) -> FoundMesh:
    domains = [identity.trust_domain for _, identity in parts if identity.trust_domain]
    order = {"control-plane": 0, "istiod": 1, "data-plane": 2}
    ordered = sorted((one for one, _ in parts), key=lambda one: (order[one.role], one.cluster, one.revision))
    return FoundMesh(name, domains[0] if domains else "", tuple(sorted(set(peers) - {name})), tuple(ordered))


def _is_istiod(deployment: Manifest) -> bool:
    if labels_of(deployment).get("app") == "istiod":
        return True
    return any("discovery" in (one.get("args") or [])[:1] for one in containers_of(deployment))


def _role(istiod: Manifest | None) -> str:
    if istiod is None:
        return "data-plane"
    return "control-plane" if environment_of(istiod).get("EXTERNAL_ISTIOD") == "true" else "istiod"


def _version(istiod: Manifest | None, hooks: Sequence[Manifest]) -> str:
    if istiod:
        image = next((str(one.get("image", "")) for one in containers_of(istiod)), "")
        if found := image_version(image):
            return found
    for one in [istiod, *hooks]:
        if one and (labelled := labels_of(one).get("app.kubernetes.io/version")):
            return labelled
    return ""


def _ready(istiod: Manifest) -> str:
    wanted = (istiod.get("spec") or {}).get("replicas", 1)
    return f"{(istiod.get('status') or {}).get('readyReplicas', 0)}/{wanted}"


def _place_of_webhook(hook: Manifest, istiods: Mapping[Place, Manifest]) -> Place:
    """Namespace and revision of a webhook configuration.

    The namespace comes from its Service. With a URL it comes from this project's label, else from the end of its name,
    as Istio's charts set it.
    """
    revision, client = revision_of(hook), hook["webhooks"][0].get("clientConfig") or {}
    if "service" in client:
        return str(client["service"]["namespace"]), revision
    if mesh := labels_of(hook).get(MESH_LABEL):
        return f"mesh-{mesh}", revision
    named = [namespace for namespace, _ in istiods if name_of(hook).endswith(f"-{namespace}")]
    return (named[0] if named else "istio-system"), revision


def _host(hooks: Sequence[Manifest]) -> str:
    client = hooks[0]["webhooks"][0].get("clientConfig") or {}
    if "url" in client:
        return str(urlsplit(str(client["url"])).hostname)
    service = client.get("service") or {}
    return f"{service.get('name')}.{service.get('namespace')}.svc"


def _from_url(hooks: Sequence[Manifest], part: str) -> str:
    """A part of the URL `/inject/cluster/<id>/net/<network>`, which contains a Pod's cluster and network."""
    for one in hooks:
        steps = urlsplit(str((one["webhooks"][0].get("clientConfig") or {}).get("url", ""))).path.split("/")
        if part in steps[:-1]:
            return steps[steps.index(part) + 1]
    return ""


def _components(observed: ClusterObservation, namespace: str, istiod: Manifest | None, alone: bool) -> Iterator[str]:
    if istiod:
        yield "istiod"
    found = {
        title
        for one in [*observed.of("DaemonSet"), *observed.of("Deployment")]
        for name, title in BESIDE.items()
        if name_of(one) == name and (alone or namespace_of(one) == namespace)
    }
    yield from sorted(found)


def _members(
    observed: ClusterObservation, hooks: Sequence[Manifest], revision: str, gone: Collection[Place], alone: bool
) -> Iterator[MeshNamespace]:
    """Namespaces that an injection webhook selects without a Pod's label, and namespaces with ambient mode.

    gone: Pods of removed meshes; only those of this revision count.
    """
    selectors = [
        hook.get("namespaceSelector") or {}
        for one in hooks
        for hook in one["webhooks"]
        if not demands_a_label(hook.get("objectSelector") or {})
    ]
    proxies: dict[str, int] = defaultdict(int)
    for pod in observed.of("Pod"):
        is_own = revision_of_sidecar(pod) in (None, revision) and (namespace_of(pod), name_of(pod)) not in gone
        proxies[namespace_of(pod)] += is_own
    for one in sorted(observed.of("Namespace"), key=name_of):
        labels = labels_of(one)
        if any(selects(selector, labels) for selector in selectors):
            yield MeshNamespace(name_of(one), proxies[name_of(one)])
        elif alone and labels.get(AMBIENT[0]) == AMBIENT[1]:
            yield MeshNamespace(name_of(one), 0, "ambient")


def _gateways(
    observed: ClusterObservation, place: Place, identity: MeshIdentity, alone: bool
) -> Iterator[FoundGateway]:
    for one in observed.of("Deployment"):
        template = (one.get("spec") or {}).get("template") or {}
        labels = labels_of(template)
        injected = "gateway" in annotations_of(template).get("inject.istio.io/templates", "")
        runs = any((part.get("args") or [])[:2] == ["proxy", "router"] for part in containers_of(one))
        if not (injected or runs or "gateway.networking.k8s.io/gateway-name" in labels):
            continue
        owned = labels_of(one).get(MESH_LABEL)
        revision = labels.get(REVISION_LABEL)
        ours = owned == identity.mesh if owned else namespace_of(one) == place[0] or alone
        if not ours or (revision is not None and revision != place[1]):
            continue
        addresses, ports = _addresses(observed, namespace_of(one), labels)
        yield FoundGateway(namespace_of(one), name_of(one), addresses, ports, labels.get(NETWORK_LABEL, ""))


def _addresses(
    observed: ClusterObservation, namespace: str, labels: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    addresses: set[str] = set()
    ports: set[int] = set()
    for one in observed.of("Service"):
        selector = (one.get("spec") or {}).get("selector") or {}
        if namespace_of(one) != namespace or not selector or not selector.items() <= labels.items():
            continue
        ports |= {int(port["port"]) for port in one["spec"].get("ports") or []}
        ingress: Any = ((one.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
        addresses |= {str(given) for entry in ingress if (given := entry.get("ip") or entry.get("hostname"))}
    return tuple(sorted(addresses)), tuple(sorted(ports))


def _peers(observed: ClusterObservation, installation: Installation, identity: MeshIdentity) -> Iterator[str]:
    """Meshes that an installation imports from, and clusters that its istiod has credentials for."""
    for one in observed.of("ServiceEntry"):
        if labels_of(one).get(MESH_LABEL) == identity.mesh:
            yield from filter(None, annotations_of(one).get(PEERS_ANNOTATION, "").split(","))
    for one in observed.of("Secret"):
        if namespace_of(one) == installation.namespace:
            yield f"cluster {annotations_of(one).get(REMOTE_CLUSTER) or name_of(one)}"
