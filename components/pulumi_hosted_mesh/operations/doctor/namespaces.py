"""Namespaces whose labels ask for a revision that nobody answers for: their new Pods start without a proxy, unasked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError
from pulumi_hosted_mesh.operations.discovery.marks import labels_of, name_of
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.vocabulary import INJECTION_LABEL, REVISION_LABEL, TAG_LABEL

NAMESPACES: Final = "/api/v1/namespaces"
DEFAULT: Final = "default"
CHECK: Final = "namespaces"


def wishes(api: ApiServer) -> dict[str, str] | None:
    """By namespace the revision or tag that its labels ask for, as Istio's webhooks read them; None if it may not be
    asked. Without those that ask for none, and those that are being deleted. Raises: UnreachableError."""
    try:
        there = [one for one in api.list(NAMESPACES, metadata_only=True) if "deletionTimestamp" not in one["metadata"]]
    except RefusedError:
        return None
    found = {name_of(one): _wish(labels_of(one)) for one in there}
    return {name: wish for name, wish in found.items() if wish}


def _wish(labels: Mapping[str, str]) -> str | None:
    """`istio-injection` wins: beside it the other label is not looked at."""
    if INJECTION_LABEL in labels:
        return DEFAULT if labels[INJECTION_LABEL] == "enabled" else None
    return labels.get(REVISION_LABEL)


def answered(hooks: Collection[Mapping[str, Any]]) -> frozenset[str]:
    """Revisions and tags of injection webhooks. hooks: the labels of their configurations."""
    return frozenset(one[key] for one in hooks for key in (REVISION_LABEL, TAG_LABEL) if key in one)


def namespaces(asked: Mapping[str, str], there: Collection[str], awaited: str | None = None) -> Iterator[Verdict]:
    """asked: as `wishes`. there: as `answered`. awaited: a revision whose webhooks another check misses already."""
    strange = {name: wish for name, wish in asked.items() if wish not in there and wish != awaited}
    for name, wish in sorted(strange.items()):
        seen = f"it asks for {wish}, and no webhooks answer to that: its new Pods have no proxy. There are: "
        fix = f"`kubectl label namespace {name} {INJECTION_LABEL}- {REVISION_LABEL}=... --overwrite` with one that is "
        fix += "there, then restart its workloads; or `pulumi up --refresh` of the stack data-plane, if its own should "
        fix += "be"
        yield Verdict(f"namespace {name}", "unknown-revision", seen + (", ".join(sorted(there)) or "none"), fix)
    if not strange:
        yield Verdict(CHECK, None, f"{len(asked)} ask for proxies, of a revision or tag that is there")
