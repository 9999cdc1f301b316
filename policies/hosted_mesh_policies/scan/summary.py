"""Counts a scan's objects: a clean verdict on nothing must not look like one on everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from hosted_mesh_plan.clusters import ClusterConfig, Clusters, Role
from hosted_mesh_plan.model import Stack
from hosted_mesh_plan.tree import UNKNOWN, leaves

_WHERE: Final = {
    Role.CONTROL_PLANE: "control planes",
    Role.DATA_PLANE: "data planes",
    Role.UNCLASSIFIED: "unclassified clusters",
}


def summary(stacks: Sequence[Stack], config: ClusterConfig) -> Iterator[str]:
    """Lines for standard error: number of judged objects by cluster, undeclared clusters, hidden values."""
    roles = Counter[Role]()
    unclassified: set[str] = set()
    for stack in stacks:
        clusters = Clusters(stack, config)
        for resource in stack.resources:
            role = clusters.role(resource)
            if role:
                roles[role] += 1
            if role is Role.UNCLASSIFIED and resource.provider:
                unclassified.add(resource.provider.name)
    told = (f"{_WHERE[role]} {count}" for role in Role if (count := roles[role]))
    yield f"objects judged: {', '.join(told) or 'none'}"
    if unclassified:
        yield (
            f"no declared owner: the cluster of provider {', '.join(sorted(unclassified))}; it counts as a data plane. "
            "Declare it with --config (docs/policies/clusters.md)"
        )
    if any(_hides_values(stack) for stack in stacks if not stack.preview):
        yield (
            "secrets are encrypted in this state, so only their flow was judged; for their values too, use `pulumi "
            "stack export --show-secrets`"
        )
    if any(_hides_values(stack) for stack in stacks if stack.preview):
        yield "a preview's JSON hides secret values: their flow was judged; the pack sees the values (--policy-pack)"


def _hides_values(stack: Stack) -> bool:
    return any(
        leaf.secret and leaf.value is UNKNOWN
        for resource in stack.resources
        for tree in (resource.inputs, resource.outputs)
        for leaf in leaves(tree if tree is not None else {})
    )
