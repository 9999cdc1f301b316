"""Are Istio's custom resource definitions in a data plane's cluster, and of istiod's version or newer? Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from pulumi_hosted_mesh.data_plane.rights import ISTIO_KINDS
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

# Istio's base chart labels what it makes so, in a release. In Istio's source tree its version is always this one.
VERSION_LABEL: Final = "app.kubernetes.io/version"
UNRELEASED: Final = (1, 0, 0)
GROUPS: Final = (".istio.io",)
# Those of the oldest istiod that this library takes. A newer one may have more.
NEEDED: Final = frozenset(f"{kind}.{group}" for group, kinds in ISTIO_KINDS.items() for kind in kinds)


def versions_of(definitions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Of Istio's definitions, by name: the version that a label says; empty where none does."""
    found = {str(one["metadata"]["name"]): one["metadata"].get("labels") or {} for one in definitions}
    return {name: labels.get(VERSION_LABEL, "") for name, labels in found.items() if name.endswith(GROUPS)}


def require_crds(without: Collection[str]) -> frozenset[str]:
    """The same names. Raises: InvalidInputError if one is of no definition that is looked for."""
    if not NEEDED.issuperset(without):
        fix = f"Name it as `kubectl get crds` does. They are: {', '.join(sorted(NEEDED))}"
        problem = Problem("--without-crd", "is no definition of Istio's that is looked for", fix)
        raise InvalidInputError([problem], "the command line")
    return frozenset(without)


def crds(
    istio_version: str, versions: Mapping[str, str] | None, without: Collection[str] = frozenset()
) -> list[Verdict]:
    """One verdict on what is missing, else one on versions; none where nothing can be compared.

    istiod runs without any of them: to it a kind that is not there has no objects (`NewDelayedInformer`,
    pkg/kube/kclient/client.go). So nothing in a cluster tells one that was deleted from one that was never wanted.

    istio_version: istiod's. versions: the definitions', by name; None where they may not be listed. without: those
    that their owner says are not wanted.
    """
    if versions is None:
        return []
    if missing := sorted(NEEDED - versions.keys() - set(without)):
        fix = "Run `pulumi up --refresh` of the stack cluster, or have their owner install them. Objects of these "
        fix += "kinds went with them, so what policies refused is let through: apply them anew. Of one that is left "
        fix += f"out on purpose say so: `--without-crd {missing[0]}`"
        seen = f"{len(missing)} of {len(NEEDED)} are missing: {few(missing)}"
        return [Verdict("Istio's CRDs are there", "missing-crds", seen, fix)]
    wanted = _numbers(istio_version)
    numbers = {name: _numbers(version) for name, version in versions.items()}
    known = {name: found for name, found in numbers.items() if found and found != UNRELEASED}
    if wanted is None or not known:
        return []
    check = "Istio's CRDs are of istiod's version or newer"
    if older := sorted(name for name, found in known.items() if found < wanted):
        seen = f"istiod is {istio_version}, and {few([f'{name} {versions[name]}' for name in older])}"
        fix = f"Run `pulumi up` of the stack cluster with charts.version {istio_version}, or have their owner do so"
        return [Verdict(check, "older-crds", seen, fix)]
    there = ", ".join(sorted({versions[name] for name in known}))
    return [Verdict(check, None, f"istiod is {istio_version}, they are {there}")]


def _numbers(version: str) -> tuple[int, ...] | None:
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else None
