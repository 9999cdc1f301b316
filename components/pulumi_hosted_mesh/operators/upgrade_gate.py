"""The upgrade gate: a change of the hosted cluster's version, or of the mesh's revision, waits for its operators.

A check of the program and not a resource hook, so it also works in a preview and in a component host. The version of
the last update is an annotation of the namespace on the control plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pulumi

from pulumi_hosted_mesh.clusters import exec_credential
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.clusters.hooks import writes
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.operators.blockers import Blocker, read_blockers
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.operators import Operators
from pulumi_hosted_mesh.vocabulary import HOSTED_REVISION_ANNOTATION, HOSTED_VERSION_ANNOTATION

UNKNOWN: Final = "unknown"
"""Name of the override for a cluster that gives no answer."""


@dataclass(frozen=True)
class GatedChange:
    """A change that operators may block. field: of the document."""

    field: str
    before: str
    after: str


def version_annotations(document: Operators) -> dict[str, str]:
    """Annotations of the namespace on the control plane."""
    found = {HOSTED_VERSION_ANNOTATION: document.version, HOSTED_REVISION_ANNOTATION: document.mesh_revision}
    return {key: value for key, value in found.items() if value}


def require_upgradable(
    document: Operators, control_plane: ControlPlaneCluster, data_plane: DataPlaneCluster, called: str
) -> None:
    """Rejects a change that an operator blocks. called: the component, for errors.

    With a hosted cluster's kubeconfig that is an Output the check runs when it resolves, before its first object. A
    control plane's kubeconfig that is an Output has no gate: a warning states it.
    Raises: InvalidInputError.
    """
    if control_plane.config is None:
        if document.version or document.mesh_revision:
            pulumi.log.warn(
                f"{called}: the upgrade gate does not run, because the control plane's kubeconfig is not plain"
            )
        return
    changes = _changes(document, control_plane.config, called)
    if not changes:
        return

    def check(config: Kubeconfig) -> None:
        refuse_blocked(document, changes, _blockers(document, config), called)

    if data_plane.config is not None:
        check(data_plane.config)
    elif not data_plane.check_before_objects(check):
        refuse_blocked(document, changes, None, called)


def refuse_blocked(document: Operators, changes: list[GatedChange], found: list[Blocker] | None, called: str) -> None:
    """Raises InvalidInputError for a blocker without an override. found: None if the hosted cluster gives no answer."""
    override = document.upgrades.override
    if found is None:
        found = [Blocker(UNKNOWN, document.namespace, "NoAnswer", "the hosted cluster's API server gives no answer")]
    for one in found:
        if one.operator in override:
            pulumi.log.warn(f"{called}: {one} is overridden: {override[one.operator]}")
    waiting = [one for one in found if one.operator not in override]
    problems = [
        Problem(
            change.field,
            f"cannot change from {change.before} to {change.after}, blocked by {one}",
            f"Upgrade or remove the operator, or set upgrades.override: {{{one.operator}: REASON}}",
        )
        for change in changes
        for one in waiting
    ]
    if problems:
        raise InvalidInputError(problems, called)


def _changes(document: Operators, config: Kubeconfig, called: str) -> list[GatedChange]:
    """Changes since the last update; none before the first one.

    Without an answer a preview has none, and an update is rejected. Raises: InvalidInputError.
    """
    try:
        api = ApiServer(exec_credential.fetched(config, "control_plane", called))
        namespace = api.get(f"/api/v1/namespaces/{document.control_plane_namespace}")
    except (UnreachableError, InvalidInputError) as error:
        if version_annotations(document) and UNKNOWN not in document.upgrades.override and writes():
            rule = f"cannot be compared with the last update: {error}"
            fix = f"Repair the access, or set upgrades.override: {{{UNKNOWN}: REASON}}"
            raise InvalidInputError([Problem("version", rule, fix)], called) from None
        return []
    before = (namespace or {}).get("metadata", {}).get("annotations") or {}
    fields = {"version": HOSTED_VERSION_ANNOTATION, "meshRevision": HOSTED_REVISION_ANNOTATION}
    after = version_annotations(document)
    return [
        # A field that is left out is a change too: set again later, it would pass.
        GatedChange(field, str(before[key]), after.get(key, "none"))
        for field, key in fields.items()
        if key in before and before[key] != after.get(key)
    ]


def _blockers(document: Operators, config: Kubeconfig) -> list[Blocker] | None:
    """None without an answer: the gate stays closed."""
    try:
        return read_blockers(
            ApiServer(exec_credential.fetched(config, "data_plane", "the kubeconfig")), document.version
        )
    except (UnreachableError, InvalidInputError):
        return None
