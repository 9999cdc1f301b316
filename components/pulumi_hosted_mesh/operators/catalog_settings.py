"""The hosted cluster's choice of default catalogs: its OperatorHub `cluster`, as on OpenShift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi

from pulumi_hosted_mesh.clusters import exec_credential
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.clusters.hooks import writes
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.operators import Operators

OPERATOR_HUB: Final = "/apis/config.openshift.io/v1/operatorhubs/cluster"
FIELD: Final = "followOperatorHub"


def with_enabled_catalogs(document: Operators, cluster: DataPlaneCluster, called: str) -> Operators:
    """The document without the catalogs that the hosted cluster's OperatorHub disables.

    Without an answer a preview keeps all catalogs, with a warning, and an update is rejected. called: the component,
    for errors. Raises: InvalidInputError, also for a kubeconfig that is an Output: the objects depend on the answer.
    """
    if not document.follow_operator_hub:
        return document
    if cluster.config is None:
        rule = "requires a plain kubeconfig of the hosted cluster: its OperatorHub decides which objects there are"
        raise InvalidInputError(
            [Problem(FIELD, rule, "Give the kubeconfig as text or a file, or leave it out")], called
        )
    try:
        found = ApiServer(exec_credential.fetched(cluster.config, "data_plane", called)).get(OPERATOR_HUB)
    except (UnreachableError, InvalidInputError) as error:
        if writes():
            rule = f"requires the hosted cluster's OperatorHub, which cannot be read: {error}"
            raise InvalidInputError([Problem(FIELD, rule, "Repair the access, or leave it out")], called) from None
        pulumi.log.warn(f"{called}: the hosted cluster gives no answer, so the preview keeps all catalogs")
        return document
    if found is None:
        rule = "requires an OperatorHub with the name cluster, which the hosted cluster does not have"
        raise InvalidInputError([Problem(FIELD, rule, "Leave it out outside of OpenShift")], called)
    disabled = disabled_catalogs([one.name for one in document.catalogs], found.get("spec") or {})
    if problems := _needed(document, disabled):
        raise InvalidInputError(problems, called)
    kept = tuple(one for one in document.catalogs if one.name not in disabled)
    return document.model_copy(update={"catalogs": kept})


def disabled_catalogs(names: Sequence[str], spec: Mapping[str, Any]) -> set[str]:
    """The names of disabled catalogs. spec: an OperatorHub's: a source's own entry overrides `disableAllDefaultSources`
    (openshift/api, config/v1/types_operatorhub.go)."""
    own = {str(one.get("name")): bool(one.get("disabled")) for one in spec.get("sources") or ()}
    return {name for name in names if own.get(name, bool(spec.get("disableAllDefaultSources")))}


def _needed(document: Operators, disabled: set[str]) -> list[Problem]:
    return [
        Problem(
            f"subscriptions[{at}].catalog",
            f"names {one.catalog}, which the hosted cluster's OperatorHub disables",
            "Remove the Subscription, or enable the catalog there",
        )
        for at, one in enumerate(document.subscriptions)
        if one.catalog in disabled
    ]
