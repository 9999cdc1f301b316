"""Prints the facts as a table or as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.operations.discovery.facts import Discovery, FoundMesh, FoundService, Installation
from pulumi_hosted_mesh.operations.discovery.overlaps import FIX
from pulumi_hosted_mesh.problems import visible

NAMED = "`hosted-mesh doctor --mesh` of a mesh in the cluster names theirs, and the fix"
HEADINGS = ("MESH", "CLUSTER", "ROLE", "REVISION", "VERSION", "MANAGED BY", "STATUS", "COMPONENTS", "MEMBERS", "PEERS")

SERVICE_HEADINGS = ("SERVICE", "MESH", "CLUSTER", "ALSO IN", "WORKLOAD", "VERSION", "READY")


def table(found: Discovery) -> str:
    """One line for each revision of a mesh in a cluster, then unreadable clusters and kinds."""
    rows = [HEADINGS, *([visible(cell) for cell in row] for mesh in found.meshes for row in _rows(mesh))]
    lines = _columns(rows) if found.meshes else ["No mesh was found"]
    for cluster, shared in found.injected_twice.items():
        lines += [f"{visible(cluster)}: injected twice, {visible(pods)}. {FIX}" for pods in shared]
    for cluster, removed in found.left_behind.items():
        lines += [f"{visible(cluster)}: {visible(proxies)}. {NAMED}" for proxies in removed]
    lines += [f"{visible(cluster)}: not read, {visible(reason)}" for cluster, reason in found.unreachable.items()]
    lines += [
        f"{visible(cluster)}: this credential may not list {', '.join(kinds)}, so their facts are missing"
        for cluster, kinds in found.unreadable.items()
    ]
    return "\n".join(lines)


def services_table(found: Discovery) -> str:
    """One line for each workload of a service in a cluster."""
    rows = [SERVICE_HEADINGS, *([visible(cell) for cell in row] for one in found.services for row in _service(one))]
    return "\n".join(_columns(rows)) if found.services else "No service of a mesh was found"


def _service(one: FoundService) -> Iterator[Sequence[str]]:
    place = (f"{one.namespace}/{one.name}", one.mesh, one.cluster, ", ".join(one.also_in) or "-")
    for number, workload in enumerate(one.workloads):
        cells = (f"{workload.kind} {workload.name}", workload.version or "?", f"{workload.ready}/{workload.wanted}")
        yield (*(place if number == 0 else [""] * len(place)), *cells)
    if not one.workloads:
        yield (*place, "-", "-", "-")


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_json(found: Discovery) -> str:
    """The facts as JSON, `{"meshes": [...], "services": [...], "unreachable": {...}, ...}`, keys in a fixed order."""
    content = dataclasses.asdict(found)
    for mesh, given in zip(found.meshes, content["meshes"], strict=True):
        given["managed_by"] = mesh.managed_by
    return json.dumps(content, indent=2)


def _rows(mesh: FoundMesh) -> Iterator[Sequence[str]]:
    for number, one in enumerate(mesh.installations):
        name = f"{mesh.name} ({mesh.trust_domain})" if mesh.trust_domain else mesh.name
        revision = f"{one.revision} ({', '.join(one.tags)})" if one.tags else one.revision
        members = ", ".join(f"{member.namespace} {_proxies(member.proxies, member.mode)}" for member in one.members)
        yield (
            name if number == 0 else "",
            one.cluster,
            one.role,
            revision,
            one.version or "?",
            one.managed_by,
            (one.ready and f"{one.ready} ready") or f"served by {one.istiod}",
            ", ".join([*one.components, *_gateways(one)]) or "-",
            members or "-",
            (", ".join(mesh.peers) or "-") if number == 0 else "",
        )


def _proxies(number: int, mode: str) -> str:
    return "(ambient)" if mode == "ambient" else f"({number})"


def _gateways(one: Installation) -> list[str]:
    return [f"gateway {gateway.name} {'/'.join(gateway.addresses) or 'without address'}" for gateway in one.gateways]
