"""An operator and what it operates are in the same cluster."""

from __future__ import annotations

from collections.abc import Iterator

from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Rule
from ..plan.model import Resource
from ..plan.tree import at, items


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """By ClusterServiceVersions: the kinds that one owns have their objects where it runs."""
    sides: dict[tuple[str, str], dict[str, Resource]] = {}
    for resource in context.stack.resources:
        if resource.kind == "ClusterServiceVersion" and resource.provider:
            for owned in items(resource.body, "spec", "customresourcedefinitions", "owned"):
                plural, kind = at(owned, "name", default=""), at(owned, "kind")
                if isinstance(plural, str) and isinstance(kind, str):
                    group = plural.partition(".")[2]
                    sides.setdefault((group, kind), {})[_server(context, resource)] = resource
    for resource in context.stack.resources:
        operators = sides.get((resource.group, resource.kind))
        if operators and resource.provider and _server(context, resource) not in operators:
            operator = next(iter(operators.values()))
            roles = (context.clusters.role(one) for one in (operator, resource))
            there, here = (role.value if role else "none" for role in roles)
            name = operator.object_name or operator.name
            yield resource, "", f"its operator {name} runs in another cluster ({there}) than it does ({here})"


def _server(context: Context, resource: Resource) -> str:
    """Names the cluster: by address where it is known, else by provider."""
    if resource.provider is None:
        return ""
    cluster = context.clusters.clusters.get(resource.provider.urn)
    return cluster.server if cluster and cluster.server else resource.provider.urn


OPERATORS = Rule(
    name="operators-stay-with-operands",
    title="Operators stay with their operands",
    description="An operator and the objects that it operates are in the same cluster: across the boundary it "
    "would need a credential of the other side.",
    cure="Install the operator in the cluster of its objects, or move the objects to the operator's cluster.",
    severity=Severity.MEDIUM,
    page="operators",
    acceptable=True,
    check_stack=check_stack,
)
