"""Imports of one mesh that would have the same service twice, from the document alone. Pure.

Exports by service are in the document, so the answer for them is exact. For exports by labels only the ports of HTTP
count: an import without `port` takes no TCP, and an import with `port` may name a TCP service.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from pulumi_hosted_mesh.federation.exports import offer
from pulumi_hosted_mesh.federation.selection import fitting, unnamed
from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.federation import Export, Federation, Import


def overlaps(federation: Federation, mesh: str) -> list[Problem]:
    """Pairs of a mesh's imports with a common host."""
    wishes = federation.peer(mesh).imports
    declared = [_declared(federation, mesh, wish) for wish in wishes]
    found = []
    for first, second in combinations(range(len(wishes)), 2):
        one, other = wishes[first], wishes[second]
        positions = (first, second)
        common = sorted(declared[first].keys() & declared[second].keys())
        if common:
            meshes = declared[first][common[0]] | declared[second][common[0]]
            found.append(repeated_host(mesh, positions, common[0], meshes))
        elif one.host is not None and one.host == other.host:
            found.append(repeated_host(mesh, positions, one.host, {*one.meshes, *other.meshes}))
        elif by_labels := next(_by_labels(federation, mesh, one, other), None):
            found.append(_repeated(mesh, positions, *by_labels))
    return found


def repeated_host(mesh: str, positions: tuple[int, int], host: str, meshes: set[str]) -> Problem:
    """The problem of two imports with one host. positions: of the imports. meshes: those that serve it."""
    return _repeated(mesh, positions, f"host {host}", meshes)


def _repeated(mesh: str, positions: tuple[int, int], subject: str, meshes: set[str]) -> Problem:
    first, second = positions
    field, rule = f"imports[{second}] of {mesh}", f"has {subject}, and so has another import, imports[{first}]"
    if len(meshes) > 1:
        fix = f"Name {' and '.join(sorted(meshes))} in meshes of one import, or give one of the two a host of its own"
        return Problem(field, rule, fix)
    fix = f"Both are of {next(iter(meshes))}: remove one of the two, narrow one by namespace, service or port, or give "
    return Problem(field, rule, f"{fix}one a host of its own")


def _declared(federation: Federation, mesh: str, wish: Import) -> dict[str, set[str]]:
    """The hosts of an import that the document declares by service, and the peers that serve each."""
    found: dict[str, set[str]] = {}
    for peer in wish.meshes:
        for one in fitting(wish, mesh, offer(federation, peer)):
            if unnamed(federation, peer, wish, one) is None:
                found.setdefault(wish.host or one.host, set()).add(peer)
    return found


def _by_labels(federation: Federation, mesh: str, one: Import, other: Import) -> Iterator[tuple[str, set[str]]]:
    """The services that two imports have in common if peers' labels select them: subject, and the peers."""
    if one.host != other.host or not _agree(one.namespace, other.namespace):
        return
    if not _agree(one.service, other.service) or not {*_ports(one)} & {*_ports(other)}:
        return
    namespace, service = one.namespace or other.namespace, one.service or other.service
    is_named = one.service is not None and one.service == other.service
    if not is_named and (one.port is not None or other.port is not None):
        # That port may be TCP's, and the other import takes no TCP.
        return
    subject = f"Service {service}" if service else "each Service with HTTP"
    subject += f" of namespace {namespace}" if namespace else ""
    for first, second in product(one.meshes, other.meshes):
        # Two meshes serve one host only if they export one Service.
        is_common = first == second or is_named
        if is_common and all(_selects(federation, peer, mesh, namespace, service) for peer in (first, second)):
            yield subject, {first, second}


def _agree(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _ports(wish: Import) -> tuple[int, ...]:
    return wish.ports if wish.port is None else (wish.port,)


def _selects(federation: Federation, peer: str, mesh: str, namespace: str | None, service: str | None) -> bool:
    """Whether labels of a peer's exports may select a Service for a mesh. Declared Services are not selected too."""
    exports = federation.peer(peer).exports
    if any(one.service is not None and (one.namespace, one.service) == (namespace, service) for one in exports):
        return False
    return any(one.service is None and _agree(one.namespace, namespace) and _is_for(one, mesh) for one in exports)


def _is_for(export: Export, mesh: str) -> bool:
    return any(one.mesh == mesh for one in export.to)
