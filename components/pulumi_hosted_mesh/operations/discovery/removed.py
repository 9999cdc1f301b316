"""Proxies of meshes and revisions that were removed: their Pods keep the old configuration and identity. Pure.

A Pod's metadata has the revision of its sidecar, but no mesh. So a Pod counts as a removed mesh's if no istiod and no
webhooks in the cluster have its revision, or if the namespaces of all meshes with that revision are younger than it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation, Manifest
from pulumi_hosted_mesh.operations.discovery.mesh_identity import annotations_of, name_of, namespace_of
from pulumi_hosted_mesh.vocabulary import REVISION_LABEL

HOOKS: Final = "MutatingWebhookConfiguration"
Place = tuple[str, str]
"""Namespace and revision."""


def revision_of_sidecar(pod: Manifest) -> str | None:
    """The revision that injected a Pod; None without the annotation."""
    return annotations_of(pod).get(REVISION_LABEL)


def removed(observed: ClusterObservation, places: Collection[Place]) -> dict[Place, str]:
    """Namespace and name of each Pod with a sidecar of a removed mesh or revision, and the reason.

    places: of the cluster's istiods and webhooks. Empty if the credential may not list webhooks.
    """
    if HOOKS in observed.unreadable:
        return {}
    since = {name_of(one): _created(one) for one in observed.of("Namespace")}
    found = {}
    for pod in observed.of("Pod"):
        revision = revision_of_sidecar(pod)
        if revision is None:
            continue
        homes = [since.get(namespace, "") for namespace, own in places if own == revision]
        if not homes:
            found[_place(pod)] = f"of revision {revision}, which has no webhooks"
        elif _created(pod) and all(home > _created(pod) for home in homes):
            found[_place(pod)] = f"of revision {revision}, and older than the mesh with it"
    return found


def described(found: dict[Place, str]) -> Iterator[str]:
    """One line for each reason. found: as `removed`."""
    by_reason = defaultdict[str, Counter[str]](Counter)
    for (namespace, _), reason in found.items():
        by_reason[reason][namespace] += 1
    for reason, counted in sorted(by_reason.items()):
        namespaces = ", ".join(f"{namespace} ({count})" for namespace, count in sorted(counted.items()))
        yield f"proxies of a removed mesh or revision, {reason}: {namespaces}"


def _place(pod: Manifest) -> Place:
    return namespace_of(pod), name_of(pod)


def _created(manifest: Manifest) -> str:
    """In RFC 3339 with Z, so texts compare as times."""
    return str(manifest["metadata"].get("creationTimestamp") or "")
