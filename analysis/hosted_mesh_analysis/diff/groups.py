"""Groups the changes of a chart's objects by their meaning for a reader."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from .result import Change, Property, Step


class Group(StrEnum):
    """A group of changes, in the order of reports. REST is folded."""

    IMAGES = "images"
    ARGUMENTS = "arguments"
    RIGHTS = "rights"
    WEBHOOKS = "webhooks"
    KINDS = "definitions of kinds"
    OBJECTS = "other objects made, replaced or removed"
    REST = "rest"


_BY_KIND: Final = {
    **dict.fromkeys(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ServiceAccount"), Group.RIGHTS),
    **dict.fromkeys(
        (
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ),
        Group.WEBHOOKS,
    ),
    "CustomResourceDefinition": Group.KINDS,
}
_IMAGE: Final = re.compile(r"(?:^|\.)(?:image|hub|tag)$")
_ARGUMENT: Final = re.compile(r"\.(?:initC|ephemeralC|c)ontainers\[[^]]*\]\.(?:args|command|env|envFrom)\b")
_MARK: Final = re.compile(r"metadata\.(?:labels|annotations)\b")


@dataclass(frozen=True)
class Rest:
    """The folded part: its changes, and their number of properties."""

    changes: Sequence[Change]
    properties: int


def kind_of(change: Change) -> str:
    return change.type.rpartition(":")[2]


def group_of(change: Change, one: Property) -> Group:
    """The group of a property of a changed object."""
    if _MARK.match(one.path):
        return Group.REST
    by_kind = _BY_KIND.get(kind_of(change))
    if by_kind:
        return Group.REST if by_kind is Group.KINDS else by_kind
    if _IMAGE.search(one.path):
        return Group.IMAGES
    return Group.ARGUMENTS if _ARGUMENT.search(one.path) else Group.REST


def grouped(changes: Sequence[Change]) -> dict[Group, list[Change]]:
    """The changes by group, each with the group's properties alone. Whole objects are in their kind's group."""
    found: dict[Group, list[Change]] = {group: [] for group in Group}
    for change in changes:
        whole = change.step is not Step.CHANGED
        if whole or _BY_KIND.get(kind_of(change)) is Group.KINDS:
            found[_BY_KIND.get(kind_of(change), Group.OBJECTS)].append(replace(change, properties=()))
        for group, properties in _by_group(change).items():
            found[group].append(replace(change, properties=tuple(properties)))
    return {group: of_group for group, of_group in found.items() if of_group}


def _by_group(change: Change) -> dict[Group, list[Property]]:
    parts: dict[Group, list[Property]] = {}
    for one in change.properties:
        parts.setdefault(group_of(change, one), []).append(one)
    return parts


def by_chart(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """The changes by chart; those of none under an empty name."""
    found: dict[str, list[Change]] = {}
    for one in changes:
        found.setdefault(one.chart, []).append(one)
    return found
