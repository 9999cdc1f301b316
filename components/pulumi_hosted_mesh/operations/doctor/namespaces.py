"""Namespaces labelled for a revision without webhooks: their new Pods start without a proxy, and without an error."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError
from pulumi_hosted_mesh.operations.discovery.mesh_identity import labels_of, name_of
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.vocabulary import INJECTION_LABEL, REVISION_LABEL, TAG_LABEL

NAMESPACES: Final = "/api/v1/namespaces"
DEFAULT: Final = "default"
CHECK: Final = "namespaces"
LABELS: Final = (INJECTION_LABEL, REVISION_LABEL)
"""The labels of namespaces that the webhooks read."""
ISTIOS_OTHERS: Final = frozenset({"istio.io/dataplane-mode", "istio.io/use-waypoint", "istio-discovery", TAG_LABEL})


def wishes(api: ApiServer) -> dict[str, str] | None:
    """The revision or tag in each namespace's labels, as Istio's webhooks read them; None if the listing is forbidden.

    Without unlabelled namespaces, and those that are being deleted. Raises: UnreachableError.
    """
    there = labels_by_name(api)
    return None if there is None else wishes_in(there)


def labels_by_name(api: ApiServer) -> dict[str, Mapping[str, str]] | None:
    """Labels of each namespace that is not being deleted; None if the listing is forbidden.

    Raises: UnreachableError.
    """
    try:
        there = [one for one in api.list(NAMESPACES, metadata_only=True) if "deletionTimestamp" not in one["metadata"]]
    except RefusedError:
        return None
    return {name_of(one): labels_of(one) for one in there}


def wishes_in(there: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The revision or tag in each namespace's labels. there: as `labels_by_name`."""
    found = {name: _wish(labels) for name, labels in there.items()}
    return {name: wish for name, wish in found.items() if wish}


def misspelt_in(there: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    """Labels that look like a wish for a proxy but have no effect, by namespace: the label, and the intended one."""
    return {name: found for name, labels in there.items() if (found := _near_miss(labels))}


def _near_miss(labels: Mapping[str, str]) -> tuple[str, str] | None:
    for key, value in sorted(labels.items()):
        written = f"{key}={value}"
        if key == INJECTION_LABEL and value not in ("enabled", "disabled"):
            wanted = "disabled" if value.lower() in ("disable", "disabled", "false", "off", "no") else "enabled"
            return written, f"{key}={wanted}"
        if key in LABELS or key in ISTIOS_OTHERS:
            continue
        near = [REVISION_LABEL] if key == "istio.io/revision" else difflib.get_close_matches(key, LABELS, 1, 0.85)
        if near:
            return written, f"{near[0]}={'enabled' if near[0] == INJECTION_LABEL else value}"
    return None


def _wish(labels: Mapping[str, str]) -> str | None:
    """`istio-injection` takes precedence over the other label."""
    if INJECTION_LABEL in labels:
        return DEFAULT if labels[INJECTION_LABEL] == "enabled" else None
    return labels.get(REVISION_LABEL)


def answered(hooks: Collection[Mapping[str, Any]]) -> frozenset[str]:
    """Revisions and tags of injection webhooks. hooks: the labels of their configurations."""
    return frozenset(one[key] for one in hooks for key in (REVISION_LABEL, TAG_LABEL) if key in one)


def misspelt(found: Mapping[str, tuple[str, str]]) -> Iterator[Verdict]:
    """found: as `misspelt_in`."""
    for name, (written, intended) in sorted(found.items()):
        key, wanted = written.partition("=")[0], intended.partition("=")[0]
        remove = f" {key}-" if key != wanted else ""
        seen = f"its label {written} has no effect on injection, but looks like {intended}"
        fix = f"`kubectl label namespace {name}{remove} {intended} --overwrite`, then restart its workloads"
        yield Verdict(f"namespace {name}", "misspelt-label", seen, fix)


def namespaces(wanted: Mapping[str, str], there: Collection[str], awaited: str | None = None) -> Iterator[Verdict]:
    """wanted: as `wishes`. there: as `answered`. awaited: a revision that another check reports without webhooks."""
    strange = {name: wish for name, wish in wanted.items() if wish not in there and wish != awaited}
    for name, wish in sorted(strange.items()):
        seen = f"its labels name {wish}, which has no webhooks, so its new Pods have no proxy. There are: "
        fix = f"`kubectl label namespace {name} {INJECTION_LABEL}- {REVISION_LABEL}=... --overwrite` with one of "
        fix += "these, then restart its workloads; or `pulumi up --refresh` of the stack data-plane, to restore its own"
        yield Verdict(f"namespace {name}", "unknown-revision", seen + (", ".join(sorted(there)) or "none"), fix)
    if not strange:
        yield Verdict(CHECK, None, f"{len(wanted)} have labels for proxies, all of an existing revision or tag")
