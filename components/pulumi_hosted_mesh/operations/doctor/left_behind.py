"""Verdicts on objects of federations that the given document does not contain. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.operations.discovery.mesh_identity import labels_of
from pulumi_hosted_mesh.operations.doctor.observation import KINDS, Manifest, MeshObservation
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.vocabulary import FEDERATION_LABEL, MESH_LABEL

LISTED = ",".join(f"{plural}.{version.partition('/')[0]}" for version, plural in KINDS.values())


def left_behind(mesh: str, observed: MeshObservation) -> Iterator[Verdict]:
    """Reports objects of this mesh in another federation or in one that it left, and objects of removed meshes."""
    found: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for one in observed.of_federations:
        found[labels_of(one).get(MESH_LABEL, ""), labels_of(one)[FEDERATION_LABEL]].append(one)
    for (owner, federation), those in sorted(found.items()):
        check, delete = f"federation {federation} of {owner}", _delete(owner, federation)
        if owner == mesh:
            seen = f"{_counted(those)}, of a federation without a given document"
            fix = f"`hosted-mesh doctor FILE --mesh {mesh}` with its document checks them. If {mesh} has left it: "
            fix += f"`pulumi destroy` of its stack federation; without that stack, {delete}"
            yield Verdict(check, "another-federation", seen, fix, notice=True)
        elif owner not in observed.meshes:
            seen = f"{_counted(those)}, of a mesh without webhooks in the cluster"
            fix = f"`pulumi destroy` of its stack federation; without that stack, {delete}"
            yield Verdict(check, "left-behind", seen, fix, notice=True)


def _counted(those: Sequence[Manifest]) -> str:
    kinds = Counter(str(one["kind"]) for one in those)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{len(those)} object{'s' if those[1:] else ''} ({listed})"


def _delete(mesh: str, federation: str) -> str:
    labels = f"{FEDERATION_LABEL}={federation},{MESH_LABEL}={mesh}"
    return f"`kubectl delete {LISTED} --all-namespaces -l {labels}`"
