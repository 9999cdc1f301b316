"""What was found, as a table for people and as JSON for machines."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.operations.discovery.facts import Discovery, FoundMesh, Installation
from pulumi_hosted_mesh.operations.discovery.overlaps import FIX
from pulumi_hosted_mesh.problems import visible

HEADINGS = ("MESH", "CLUSTER", "ROLE", "REVISION", "VERSION", "MANAGED BY", "STATUS", "COMPONENTS", "MEMBERS", "PEERS")


def table(found: Discovery) -> str:
    """One line for each revision of a mesh in a cluster; then what could not be read."""
    rows = [HEADINGS, *([visible(cell) for cell in row] for mesh in found.meshes for row in _rows(mesh))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not found.meshes:
        lines = ["No mesh was found"]
    for cluster, shared in found.injected_twice.items():
        lines += [f"{visible(cluster)}: injected twice, {visible(pods)}. {FIX}" for pods in shared]
    lines += [f"{visible(cluster)}: not looked at, {visible(reason)}" for cluster, reason in found.unreachable.items()]
    lines += [
        f"{visible(cluster)}: this credential may not list {', '.join(kinds)}, so what these say is missing"
        for cluster, kinds in found.unreadable.items()
    ]
    return "\n".join(lines)


def as_json(found: Discovery) -> str:
    """The facts as they are, `{"meshes": [...], "unreachable": {...}, "unreadable": {...}}`, keys in a fixed order."""
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
