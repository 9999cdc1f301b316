"""Of which revision proxies are, and whether their cluster knows it: from metadata alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operations.discovery.marks import annotations_of, labels_of, namespace_of
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.vocabulary import REVISION_LABEL

# Both templates of injection, of sidecars and of gateways, give this label and the annotation istio.io/rev.
PODS: Final = "/api/v1/pods?labelSelector=service.istio.io/canonical-name"
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
Proxies = Counter[tuple[str, str]]
"""How many there are, by namespace and revision."""


def proxies_of(api: ApiServer) -> Proxies:
    """The proxies of a cluster. Raises: UnreachableError."""
    found: Proxies = Counter()
    for pod in api.list(PODS, metadata_only=True):
        if revision := annotations_of(pod).get(REVISION_LABEL):
            found[namespace_of(pod), revision] += 1
    return found


def revisions_of(api: ApiServer) -> frozenset[str]:
    """The revisions that a cluster has injection webhooks of. Raises: UnreachableError."""
    hooks: list[Any] = list(api.list(WEBHOOKS, metadata_only=True))
    return frozenset(labels_of(one)[REVISION_LABEL] for one in hooks if REVISION_LABEL in labels_of(one))


def proxies(found: Proxies, revisions: Collection[str]) -> Iterator[Verdict]:
    """A proxy of a revision that is gone has no istiod, or one that is to go: it keeps what it had."""
    strange = {place: count for place, count in sorted(found.items()) if place[1] not in revisions}
    for (namespace, revision), count in strange.items():
        there = ", ".join(sorted(revisions)) or "none"
        seen = f"{count} of revision {revision}, of which the cluster has no webhooks; there are: {there}"
        fix = "Label the namespace for a revision that is there, then "
        fix += f"`kubectl rollout restart deployment -n {namespace}`"
        yield Verdict(f"proxies in namespace {namespace}", "unknown-revision", seen, fix)
    if not strange:
        used = ", ".join(sorted({revision for _, revision in found})) or "no revision"
        yield Verdict("proxies", None, f"{found.total()}, of {used}")
