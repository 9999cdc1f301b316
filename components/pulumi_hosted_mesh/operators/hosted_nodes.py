"""Checks of a placement against the hosted cluster: its nodes, and its kinds of admission policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pulumi_hosted_mesh.clusters import exec_credential
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.data_plane.served_kinds import has_policies
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.operators import OperatorPlacement, Operators


def require_placeable(document: Operators, cluster: DataPlaneCluster, called: str) -> None:
    """Rejects a placement without effect. called: the component, for errors.

    For a kubeconfig that is an Output it runs when it resolves, before the hosted cluster's first object. Without an
    answer it accepts: an update fails by itself.
    Raises: InvalidInputError.
    """
    placements = placements_of(document)
    if not placements:
        return

    def check(config: Kubeconfig) -> None:
        if has_policies(config) is False:
            rule = "requires MutatingAdmissionPolicy (Kubernetes 1.36), which the hosted cluster does not have"
            raise InvalidInputError([Problem("placement", rule, "Upgrade the hosted cluster, or leave it out")], called)
        try:
            api = ApiServer(exec_credential.fetched(config, "data_plane", "the kubeconfig"))
            nodes = [one["metadata"].get("labels") or {} for one in api.list("/api/v1/nodes", metadata_only=True)]
        except (UnreachableError, InvalidInputError):
            return
        if found := without_nodes(placements, nodes):
            raise InvalidInputError(found, called)

    if cluster.config is not None:
        check(cluster.config)
    else:
        cluster.check_before_objects(check)


def placements_of(document: Operators) -> dict[str, OperatorPlacement]:
    """The placements of a document by field."""
    found = {f"subscriptions[{at}].placement": one.placement for at, one in enumerate(document.subscriptions)}
    found["placement"] = document.placement
    return {field: one for field, one in found.items() if one is not None and one.is_set}


def without_nodes(placements: Mapping[str, OperatorPlacement], nodes: Iterable[Mapping[str, str]]) -> list[Problem]:
    """A problem for each selector that matches no node. A cluster without nodes has none: they come later."""
    labels = list(nodes)
    return [
        Problem(
            f"{field}.nodeSelector",
            f"matches none of the hosted cluster's {len(labels)} nodes, so operators' Pods stay Pending",
            "Correct it, or label a node",
        )
        for field, one in placements.items()
        if labels and not any(one.node_selector.items() <= node.items() for node in labels)
    ]
