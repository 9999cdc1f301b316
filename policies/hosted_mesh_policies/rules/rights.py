"""istiod's rights on a data plane are the least."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_plan.istiod import is_istios
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import UNKNOWN, at, items

from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule, not_known
from ..evaluation.settings import schema_of

ESCALATING_VERBS: Final = frozenset({"bind", "escalate", "impersonate"})
_BY_ANY_VERB: Final = (
    "secrets", "pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "nodes/proxy",
    "services/proxy", "pods/proxy", "users", "certificatesigningrequests/approval",
)  # fmt: skip
ESCALATING: Final = {
    **dict.fromkeys(_BY_ANY_VERB, frozenset("*")),
    "serviceaccounts/token": frozenset({"create"}),
    "signers": frozenset({"approve", "sign"}),
}
"""Resources that lead to more power, and the verbs for it (* for any)."""
WRITE: Final = frozenset({"create", "update", "patch"})
LEADING: Final = frozenset({
    "roles", "rolebindings", "clusterroles", "clusterrolebindings", "pods", "deployments", "daemonsets",
    "statefulsets", "replicasets", "jobs", "cronjobs",
})  # fmt: skip
"""Resources that give more power to their writers."""
BROAD_ROLES: Final = frozenset({"cluster-admin", "admin", "edit"})


def check(context: Context, resource: Resource) -> Iterator[Place]:
    if not context.clusters.on_data_plane(resource) or resource.read_only:
        return
    if resource.kind in {"ClusterRoleBinding", "RoleBinding"} and _binds_istiod(context, resource):
        role = at(resource.body, "roleRef", "name")
        if role is UNKNOWN:
            yield "roleRef.name", not_known("the role")
        elif role in BROAD_ROLES:
            yield "roleRef.name", f"gives istiod the built-in role {role}"
    if resource.kind in {"ClusterRole", "Role"} and is_istios(context.stack, resource):
        yield from rules(resource)


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """Roles that are istiod's only by their binding."""
    bound = {
        (at(binding.body, "roleRef", "kind"), at(binding.body, "roleRef", "name"))
        for binding in context.stack.resources
        if binding.kind in {"ClusterRoleBinding", "RoleBinding"}
        and context.clusters.on_data_plane(binding)
        and _binds_istiod(context, binding)
    }
    for resource in context.stack.resources:
        if (
            (resource.kind, resource.object_name) in bound
            and context.clusters.on_data_plane(resource)
            and not is_istios(context.stack, resource)
        ):
            for path, what in rules(resource):
                yield resource, path, what


def _binds_istiod(context: Context, resource: Resource) -> bool:
    if is_istios(context.stack, resource):
        return True
    names = [at(subject, "name") for subject in items(resource.body, "subjects")]
    return UNKNOWN in names or any(
        isinstance(name, str) and fnmatch.fnmatchcase(name.rsplit(":", 1)[-1], pattern)
        for name in names
        for pattern in context.settings.istiod_accounts
    )


def rules(resource: Resource) -> Iterator[Place]:
    """Excessive rights in a role's rules."""
    if at(resource.body, "aggregationRule") is not None:
        yield "aggregationRule", "collects the rules of other roles: list the rules here"
    for position, rule in enumerate(items(resource.body, "rules")):
        where = f"rules[{position}]"
        lists = {key: items(rule, key) for key in ("apiGroups", "resources", "verbs", "nonResourceURLs")}
        if rule is UNKNOWN or any(UNKNOWN in values for values in lists.values()):
            yield where, not_known("the rule")
            continue
        yield from _one(where, lists)


def _one(where: str, lists: dict[str, list[Any]]) -> Iterator[Place]:
    for key in ("apiGroups", "resources", "verbs", "nonResourceURLs"):
        if any(isinstance(value, str) and value in {"*", "*/*"} for value in lists[key]):
            yield f"{where}.{key}", "is a wildcard: list the entries that istiod needs"
    verbs = set(map(str, lists["verbs"]))
    for verb in sorted(verbs & ESCALATING_VERBS):
        yield f"{where}.verbs", f"{verb} lets istiod take more rights than its own"
    for name in map(str, lists["resources"]):
        needed = ESCALATING.get(name)
        if needed is not None and ("*" in needed or verbs & (needed | {"*"})):
            yield f"{where}.resources", f"{name}: istiod does not need it, and it leads to credentials"
        elif name in LEADING and verbs & (WRITE | {"*"}):
            yield f"{where}.resources", f"writing {name} lets istiod give itself more rights"


RIGHTS = Rule(
    name="istiod-rights-are-least",
    title="istiod's rights on a data plane are least",
    description="On a data plane istiod reads no Secrets, has no wildcard verbs or resources, and cannot escalate "
    "(bind, escalate, impersonate, tokens, exec, proxies).",
    cure="Name the API groups, resources and verbs that istiod needs (get, list and watch of Services, "
    "EndpointSlices, Pods, Namespaces and Istio's own kinds), and turn its remote-credentials controller off.",
    severity=Severity.CRITICAL,
    page="istiod",
    acceptable=True,
    rests_on_owner=True,
    check=check,
    check_stack=check_stack,
    schema=schema_of(istiod_accounts="Names of the ServiceAccounts that istiod uses."),
)
