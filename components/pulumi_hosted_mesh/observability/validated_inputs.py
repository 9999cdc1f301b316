"""Checks the arguments of MeshObservability against its document."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pulumi

from pulumi_hosted_mesh.boundary.cacerts import secret_cacerts
from pulumi_hosted_mesh.boundary.name_constraints import require_permitted
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.observability import Observability, Placement

SOURCE: Final = "the observability document"
_OTHER: Final = "Add that of a read-only ServiceAccount there, or correct kiali.dataPlanes"
_OWN: Final = "Add data_plane, so that an account is made there, or that of a read-only ServiceAccount"


def authority(document: Observability, cacerts: Any) -> pulumi.Output[Any] | None:
    """The files that sign the servers' certificates; None if no certificate is signed.

    Raises: InvalidInputError if they are required and missing, or the other way round.
    """
    signs = {}
    if document.collector.is_signed:
        signs["collector.serverSecret"] = "the collector's certificate"
    if document.debug_proxy.is_signed:
        signs["debugProxy.serverSecret"] = "the debug proxy's certificate"
    if signs and cacerts is None:
        rule = f"is required: {' and '.join(signs.values())} is signed with it"
        fix = f"Give that of MeshTrust and MeshRoot, or set {' and '.join(signs)}"
        raise InvalidInputError([Problem("cacerts", rule, fix)], SOURCE)
    if not signs and cacerts is not None:
        rule = "is given, but no certificate is signed here"
        raise InvalidInputError([Problem("cacerts", rule, "Remove it")], SOURCE)
    if cacerts is None:
        return None
    hosts = [str(one.host) for one in (document.collector, document.debug_proxy) if one.is_signed]
    return secret_cacerts(cacerts, SOURCE, lambda files: require_permitted(files, SOURCE, hosts=hosts))


def require_clusters(document: Observability, given: Collection[str]) -> None:
    """Raises: InvalidInputError if a part has no cluster."""
    problems = [
        Problem(field, f"is required by parts with placement {placement}", "Add the cluster, or place them elsewhere")
        for field, placement in (("control_plane", Placement.CONTROL_PLANE), ("data_plane", Placement.DATA_PLANE))
        if document.placed(placement) and field not in given
    ]
    if not document.placed(Placement.CONTROL_PLANE) and not problems and "data_plane" not in given:
        problems.append(Problem("data_plane", "is required by accessLogs: gateways", "Add the cluster"))
    if problems:
        raise InvalidInputError(problems, SOURCE)


def kiali(document: Observability, kubeconfigs: Collection[str], *, has_data_plane: bool) -> None:
    """Raises: InvalidInputError if a data plane of Kiali has no kubeconfig, or a kubeconfig no data plane.

    kubeconfigs: names of the given ones. The component makes that of the mesh's own data plane.
    """
    wanted = document.kiali_data_planes if document.kiali.placement is not Placement.NONE else ()
    own = document.cluster_name if has_data_plane else None
    field, at = "kiali_kubeconfigs", "kiali.dataPlanes"
    problems = [
        Problem(field, f"has none for {one}, which Kiali reads", _OWN if one == document.cluster_name else _OTHER)
        for one in wanted
        if one not in kubeconfigs and one != own
    ]
    problems += [
        Problem(field, f"has one for {one}, which is not in {at}", f"Add it to {at}, or remove the kubeconfig")
        for one in kubeconfigs
        if one not in wanted
    ]
    if problems:
        raise InvalidInputError(problems, SOURCE)
