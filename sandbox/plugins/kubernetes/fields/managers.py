"""Field managers: who owns which field of an object, and how the provider takes over what it made by POST."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from sandbox.plugins.kubernetes.objects import get
from sandbox.plugins.protocol.naming import unique_name

CREATOR: Final = "pulumi-kubernetes"
_TAKEN_OVER: Final = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    (CREATOR, "Update"),
)
"""Beginnings of managers' names, as fluxcd/pkg/ssa compares them: `kubectl label` calls itself kubectl-label."""


def new_manager() -> str:
    """The name under which one resource's fields are applied."""
    return unique_name(f"{CREATOR}-")


def taken_over(live: Mapping[str, Any], manager: str) -> list[dict[str, Any]] | None:
    """The managedFields in which `manager` owns, by apply, what creators and kubectl own; None when nothing changes."""
    entries = get(live, "metadata", "managedFields") or []
    taken = [entry for entry in entries if _is_taken_over(entry)]
    if not taken:
        return None
    own = [entry for entry in entries if entry.get("manager") == manager and entry.get("operation") == "Apply"]
    merged = deepcopy((own or taken)[0])
    for entry in taken:
        _merge(merged["fieldsV1"], entry.get("fieldsV1") or {})
    merged |= {"manager": manager, "operation": "Apply"}
    rest = [entry for entry in entries if entry not in taken and entry not in own]
    return [*rest, merged]


def _is_taken_over(entry: Mapping[str, Any]) -> bool:
    manager, operation = str(entry.get("manager", "")), entry.get("operation")
    named = any(manager.startswith(name) and operation == done for name, done in _TAKEN_OVER)
    return named and not entry.get("subresource")


def _merge(into: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for key, value in fields.items():
        _merge(into.setdefault(key, {}), value)


def must_force(live: Mapping[str, Any] | None, *, preview: bool, asked: bool) -> bool:
    """Whether an apply may take fields from other managers. live: None when there is no object yet. asked: whether the
    provider, or the object's annotation, says so."""
    if asked:
        return True
    entries = get(live, "metadata", "managedFields") or []
    if preview:
        # What a real update takes over first must be no conflict in a preview either.
        creators = {entry.get("manager") for entry in entries if entry.get("operation") == "Update"}
        return live is None or CREATOR in creators or not entries
    return live is not None and not entries
