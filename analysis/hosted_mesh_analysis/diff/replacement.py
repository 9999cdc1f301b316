"""Changes that replace a resource, independent of settings and of the provider's version."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hosted_mesh_plan.tree import Path as Keys
from hosted_mesh_plan.tree import at, is_covered, show

from .trees import Hidden

_OF_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes:apps/v1:Deployment": ("spec.selector",),
    "kubernetes:apps/v1:DaemonSet": ("spec.selector",),
    "kubernetes:apps/v1:StatefulSet": ("spec.selector", "spec.serviceName", "spec.podManagementPolicy"),
    "kubernetes:batch/v1:Job": ("spec.selector", "spec.template", "spec.completions"),
    "kubernetes:core/v1:Secret": ("type",),
    "kubernetes:core/v1:Service": ("spec.clusterIP",),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding": ("roleRef",),
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": ("roleRef",),
    "kubernetes:storage.k8s.io/v1:StorageClass": ("parameters", "provisioner"),
}
"""Immutable fields of the API server's kinds, as listed by Pulumi's plug-in (its diff.go)."""
_WHOLE: Final = ("tls:index/*", "random:index/*")
"""Types with a new value for every changed input."""
_NEVER: Final = frozenset({"earlyRenewalHours"})
_IDENTITY: Final = ("metadata.name", "metadata.namespace")
_CHARTS: Final = ("kubernetes:helm.sh/*", "kubernetes:kustomize/*", "kubernetes:yaml/*", "kubernetes:yaml:*")
_IMMUTABLE: Final = ("data", "binaryData", "stringData")


def forces(kind: str, path: Keys, old: Any, new: Any, tree: Any, options: Mapping[str, Any]) -> bool:
    """True if a change of one property replaces the resource. tree: the base's; options: the program's options for the
    engine."""
    text = show(path)
    if is_covered(text, set(options.get("replaceOnChanges", ()))):
        return True
    if isinstance(old, Hidden) or isinstance(new, Hidden):
        return False  # a new ciphertext may be of the same secret
    if not all(isinstance(one, str | int | float) for one in (old, new)):
        return _is_below(kind, path, tree)  # otherwise a default may stand for a missing value
    if _is_one_of(kind, _WHOLE):
        return path[0] not in _NEVER
    if not kind.startswith("kubernetes:") or _is_one_of(kind, _CHARTS):
        return False
    return is_covered(text, {*_IDENTITY, *_fields(kind, tree)})


def _fields(kind: str, tree: Any) -> tuple[str, ...]:
    is_immutable = isinstance(tree, dict) and tree.get("immutable") is True
    return (*_OF_KINDS.get(kind, ()), *(_IMMUTABLE if is_immutable else ()))


def _is_below(kind: str, path: Keys, tree: Any) -> bool:
    """True if an addition or removal is below an immutable field that the base has."""
    for field in _fields(kind, tree):
        keys = tuple(field.split("."))
        if path[: len(keys)] == keys and len(path) > len(keys) and at(tree, *keys) is not None:
            return True
    return False


def is_ignored(path: Keys, options: Mapping[str, Any]) -> bool:
    """True if the program's options ignore changes of a property."""
    told = set(options.get("ignoreChanges", ()))
    return "*" in told or is_covered(show(path), told)


def _is_one_of(kind: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(kind, pattern) for pattern in patterns)
