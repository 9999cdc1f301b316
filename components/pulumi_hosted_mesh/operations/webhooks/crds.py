"""Checks that a data plane's cluster has Istio's CRDs, of istiod's version or newer. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from pulumi_hosted_mesh.data_plane.rights import ISTIO_KINDS
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

# Istio's base chart sets this label in a release. In Istio's source tree its version is always this one.
VERSION_LABEL: Final = "app.kubernetes.io/version"
UNRELEASED: Final = (1, 0, 0)
GROUPS: Final = (".istio.io",)
# The CRDs of the oldest istiod that this library supports. A newer one may have more.
NEEDED: Final = frozenset(f"{kind}.{group}" for group, kinds in ISTIO_KINDS.items() for kind in kinds)


def versions_of(definitions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Versions of Istio's CRDs, by name, from their label; empty without one."""
    found = {str(one["metadata"]["name"]): one["metadata"].get("labels") or {} for one in definitions}
    return {name: labels.get(VERSION_LABEL, "") for name, labels in found.items() if name.endswith(GROUPS)}


def require_crds(without: Collection[str]) -> frozenset[str]:
    """The same names, checked. Raises: InvalidInputError for a name that is none of the required CRDs."""
    if not NEEDED.issuperset(without):
        fix = f"Name it as `kubectl get crds` does. They are: {', '.join(sorted(NEEDED))}"
        problem = Problem("--without-crd", "is none of the required Istio CRDs", fix)
        raise InvalidInputError([problem], "the command line")
    return frozenset(without)


def crds(
    istio_version: str, versions: Mapping[str, str] | None, without: Collection[str] = frozenset()
) -> list[Verdict]:
    """One verdict on missing CRDs, else one on versions; none if no CRD has a version.

    istiod runs without CRDs: it treats a missing kind as one without objects (`NewDelayedInformer`,
    pkg/kube/kclient/client.go). So a cluster does not show whether a CRD was deleted or left out on purpose.

    istio_version: istiod's. versions: the CRDs', by name; None if they may not be listed. without: names of CRDs that
    their owner leaves out on purpose.
    """
    if versions is None:
        return []
    if missing := sorted(NEEDED - versions.keys() - set(without)):
        fix = "Run `pulumi up --refresh` of the stack cluster, or have their owner install them. Their objects were "
        fix += "deleted with them, so policies no longer apply: create them again. For a CRD that is left out on "
        fix += f"purpose add `--without-crd {missing[0]}`"
        seen = f"{len(missing)} of {len(NEEDED)} are missing: {few(missing)}"
        return [Verdict("Istio's CRDs are there", "missing-crds", seen, fix)]
    wanted = _numbers(istio_version)
    numbers = {name: _numbers(version) for name, version in versions.items()}
    released = {name: found for name, found in numbers.items() if found and found != UNRELEASED}
    if wanted is None or not released:
        return []
    check = "Istio's CRDs are of istiod's version or newer"
    if older := sorted(name for name, found in released.items() if found < wanted):
        seen = f"istiod is {istio_version}, and {few([f'{name} {versions[name]}' for name in older])}"
        fix = f"Run `pulumi up` of the stack cluster with charts.version {istio_version}, or have their owner do so"
        return [Verdict(check, "older-crds", seen, fix)]
    there = ", ".join(sorted({versions[name] for name in released}))
    return [Verdict(check, None, f"istiod is {istio_version}, they are {there}")]


def _numbers(version: str) -> tuple[int, ...] | None:
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else None
