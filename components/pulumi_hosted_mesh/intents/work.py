"""The state of one compilation: objects so far, claims of hosts and ports, and mistakes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_hosted_mesh.intents.compiled import Compiled, Manifest, Origin, manifest, name_of
from pulumi_hosted_mesh.intents.resolved import Places, Resolved
from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.inventory import InventoryCluster


@dataclass
class Work:
    """addresses: virtual ones, by host. needed: by mesh and namespace, for deny-all. near: inter-cluster callees
    without settings of their own, with their intents."""

    places: Places
    addresses: Mapping[str, tuple[str, str]]
    compiled: Compiled = field(default_factory=Compiled)
    problems: list[Problem] = field(default_factory=list)
    claims: dict[tuple[str, ...], Resolved] = field(default_factory=dict)
    needed: set[tuple[str, str]] = field(default_factory=set)
    outbound: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    near: dict[tuple[str, str], list[Resolved]] = field(default_factory=dict)
    by_callee: dict[tuple[str, str], list[Resolved]] = field(default_factory=dict)

    def add(self, cluster: InventoryCluster, objects: Iterable[Manifest]) -> None:
        """Objects of a cluster."""
        self.compiled.objects.setdefault(cluster.name, []).extend(objects)

    def claim(self, one: Resolved, field: str, fix: str, *key: str) -> bool:
        """Reserves a host, a port or a gateway for one intent; another's claim is a mistake that names both."""
        other = self.claims.setdefault(key, one)
        if other is one:
            return True
        rule = f"claims {' '.join(key)}, and so does intent {other.name}"
        self.problems.append(one.problem(field, rule, fix))
        return False

    def refuse(self, one: Resolved, field: str, rule: str, fix: str) -> None:
        """A mistake."""
        self.problems.append(one.problem(field, rule, fix))


def made(
    one: Resolved,
    cluster: InventoryCluster,
    api: str,
    kind: str,
    namespace: str,
    spec: Mapping[str, Any],
    field: str,
    part: str = "",
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """An object of one intent."""
    name = name_of(one.project, one.name, part)
    return manifest(cluster, one.project, api, kind, namespace, name, spec, Origin((one.name,), field), annotations)
