"""The watcher's rights in a user's cluster: the custom resources and events, nothing else."""

from __future__ import annotations

from typing import Any, Final

from hosted_mesh_controller.watcher.names import EVENTS_NAMESPACE, GROUP, RESOURCE_KINDS, WATCHER

Manifest = dict[str, Any]
_RBAC: Final = "rbac.authorization.k8s.io"


def rights() -> list[Manifest]:
    """Namespace, ServiceAccount, roles and their bindings. Finalizers require `patch` of the resources."""
    plurals = [one.plural for one in RESOURCE_KINDS]
    resources = {"apiGroups": [GROUP], "resources": plurals, "verbs": ["get", "list", "watch", "patch"]}
    status = {"apiGroups": [GROUP], "resources": [f"{one}/status" for one in plurals], "verbs": ["patch"]}
    events = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WATCHER}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": WATCHER, "namespace": WATCHER},
            "automountServiceAccountToken": False,
        },
        _role("ClusterRole", {}, [resources, status]),
        _binding("ClusterRole", {}),
        _role("Role", {"namespace": EVENTS_NAMESPACE}, [events]),
        _binding("Role", {"namespace": EVENTS_NAMESPACE}),
    ]


def _role(kind: str, place: Manifest, rules: list[Manifest]) -> Manifest:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": WATCHER, **place}, "rules": rules}


def _binding(role: str, place: Manifest) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{role}Binding",
        "metadata": {"name": WATCHER, **place},
        "roleRef": {"apiGroup": _RBAC, "kind": role, "name": WATCHER},
        "subjects": [{"kind": "ServiceAccount", "name": WATCHER, "namespace": WATCHER}],
    }
