"""Which fields of which kinds cannot change in place: a change of one replaces the object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sandbox.plugins.kubernetes.objects import get, gvk_of, is_config_map, is_secret

Pattern = tuple[str, ...]
ANY: Final = "*"


def _fields(prefix: str, names: str) -> tuple[Pattern, ...]:
    start = tuple(prefix.split(".")) if prefix else ()
    return tuple((*start, *name.split(".")) for name in names.split())


_CONTAINER: Final = (
    "args command env image imagePullPolicy lifecycle livenessProbe ports readinessProbe resources securityContext "
    "stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir"
)
_POD: Final = (
    *_fields(
        "spec",
        "affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases hostIPC hostNetwork "
        "hostPID hostname imagePullSecrets nodeName nodeSelector overhead preemptionPolicy priority priorityClassName "
        "readinessGates restartPolicy runtimeClassName schedulerName securityContext serviceAccount serviceAccountName "
        "shareProcessNamespace subdomain terminationGracePeriodSeconds volumes",
    ),
    *_fields("spec.containers.*", _CONTAINER),
    *_fields("spec.initContainers.*", _CONTAINER),
)
_ROLE_REFERENCE: Final = _fields("", "roleRef")

# The rules of the official plug-in, by (group, version) and kind, for the kinds that are here. A deeper rule
# than these, such as .spec.selector.matchLabels beside .spec.selector, would say nothing new.
_RULES: Final[Mapping[tuple[str, str], Mapping[str, tuple[Pattern, ...]]]] = {
    ("apps", "v1"): {"Deployment": _fields("spec", "selector")},
    ("", "v1"): {
        "Pod": _POD,
        "ResourceQuota": _fields("spec", "scopes"),
        "Secret": _fields("", "type"),
        "Service": _fields("spec", "clusterIP"),
    },
    ("rbac.authorization.k8s.io", "v1"): {"ClusterRoleBinding": _ROLE_REFERENCE, "RoleBinding": _ROLE_REFERENCE},
    ("storage.k8s.io", "v1"): {"StorageClass": _fields("", "parameters provisioner")},
}
_IDENTITY: Final = _fields("metadata", "name namespace")


def rules_for(
    obj: Mapping[str, Any], *, mutable_config_maps: bool = False, mutable_secrets: bool = False
) -> tuple[Pattern, ...]:
    """The fields of this object whose change replaces it. mutable_*: the provider's settings of that name."""
    gvk = gvk_of(obj)
    kinds = _RULES.get((gvk.group, gvk.version))
    if kinds is None:
        return _IDENTITY
    immutable = get(obj, "immutable") is True
    if is_secret(obj) and (not mutable_secrets or immutable):
        return _IDENTITY + _fields("", "type stringData data")
    if gvk.kind in kinds:
        return _IDENTITY + kinds[gvk.kind]
    if is_config_map(obj) and (not mutable_config_maps or immutable):
        return _IDENTITY + _fields("", "binaryData data")
    return _IDENTITY


def replaces(path: Sequence[str | int], value: Any, rules: Sequence[Pattern]) -> bool:
    """Whether setting `value` at `path` touches a field that a rule names (at it, below it, or above it)."""
    return any(_touches(path, value, rule) for rule in rules)


def _touches(path: Sequence[str | int], value: Any, rule: Pattern) -> bool:
    for position, part in enumerate(path):
        if position == len(rule):
            return True
        if rule[position] != ANY and rule[position] != part:
            return False
    return _holds(value, rule[len(path) :])


def _holds(value: Any, rest: Pattern) -> bool:
    if not rest:
        return True
    if rest[0] == ANY:
        items = value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else ()
        return any(_holds(item, rest[1:]) for item in items)
    return isinstance(value, Mapping) and rest[0] in value and _holds(value[rest[0]], rest[1:])
