"""Verdicts on objects of federations that the document at hand says nothing of. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.operations.discovery.marks import labels_of
from pulumi_hosted_mesh.operations.doctor.observation import KINDS, Manifest, Observed
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.vocabulary import FEDERATION_LABEL, MESH_LABEL

LISTED = ",".join(f"{plural}.{version.partition('/')[0]}" for version, plural in KINDS.values())


def left_behind(mesh: str, observed: Observed) -> Iterator[Verdict]:
    """Those of this mesh in another federation, or in one that it left; and those of meshes that are gone."""
    found: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for one in observed.of_federations:
        found[labels_of(one).get(MESH_LABEL, ""), labels_of(one)[FEDERATION_LABEL]].append(one)
    for (owner, federation), those in sorted(found.items()):
        check, delete = f"federation {federation} of {owner}", _delete(owner, federation)
        if owner == mesh:
            seen = f"{_counted(those)}, of a federation whose document was not given"
            fix = f"`hosted-mesh doctor FILE --mesh {mesh}` with its document judges them. If {mesh} has left it: "
            fix += f"`pulumi destroy` of its stack federation; where that is gone, {delete}"
            yield Verdict(check, "another-federation", seen, fix, notice=True)
        elif owner not in observed.meshes:
            seen = f"{_counted(those)}, of a mesh of which the cluster has no webhooks"
            fix = f"`pulumi destroy` of its stack federation; where that is gone, {delete}"
            yield Verdict(check, "left-behind", seen, fix, notice=True)


def _counted(those: Sequence[Manifest]) -> str:
    kinds = Counter(str(one["kind"]) for one in those)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{len(those)} object{'s' if those[1:] else ''} ({listed})"


def _delete(mesh: str, federation: str) -> str:
    labels = f"{FEDERATION_LABEL}={federation},{MESH_LABEL}={mesh}"
    return f"`kubectl delete {LISTED} --all-namespaces -l {labels}`"
