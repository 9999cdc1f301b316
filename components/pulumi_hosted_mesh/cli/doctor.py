"""`hosted-mesh doctor`: arguments, and what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.given import document_of
from pulumi_hosted_mesh.cli.report import JsonOption, Output, OutputOption, print_report
from pulumi_hosted_mesh.cli.without_crd import WithoutCrdOption
from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.operations.doctor.check import verdicts
from pulumi_hosted_mesh.operations.doctor.observation import observe, require_known
from pulumi_hosted_mesh.operations.exports import require_peer
from pulumi_hosted_mesh.operations.webhooks.crds import require_crds
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.fields import mesh_name


def doctor(
    mesh: Annotated[str, typer.Option(help="Name of the mesh to look at.", show_default=False)],
    document: Annotated[
        Path | None,
        typer.Argument(help="The federation's document, YAML; without it the mesh is looked at alone."),
    ] = None,
    kubeconfig: Annotated[str, typer.Option(help="Kubeconfig of its data plane's cluster.")] = "$KUBECONFIG",
    context: Annotated[str | None, typer.Option(help="Its context; by default the current one.")] = None,
    control_plane_kubeconfig: Annotated[
        str | None, typer.Option(help="Of the control plane's cluster, to look at istiod and its authority too.")
    ] = None,
    control_plane_context: Annotated[
        str | None, typer.Option(help="Its context. Without a file for it: of the one for the data plane's.")
    ] = None,
    offers: Annotated[
        list[Path] | None, typer.Option("--offer", help="What a peer exports, as its stack has it; several times.")
    ] = None,
    endpoint: Annotated[
        Path | None, typer.Option(help="Its data plane's endpoint, to look at webhooks and proxies' networks too.")
    ] = None,
    ask_proxies: Annotated[
        bool, typer.Option("--ask-proxies", help="Also ask each proxy whether it has what istiod sent it.")
    ] = False,
    without_crd: WithoutCrdOption = None,
    days: Annotated[int, typer.Option(min=0, help="How many days before its end a certificate is named.")] = 30,
    is_json: JsonOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Say what is wrong with a mesh, and with its part of a federation, where, and what to do. Nothing is stored.

    hosted-mesh endpoint | hosted-mesh doctor --mesh demo --endpoint -

    hosted-mesh doctor --mesh demo --context data-plane --control-plane-context control-plane

    Exit code 3 if a check fails, 1 if an API server cannot be asked or the cluster has other meshes alone.
    With --json each check has: check, ok, notice, cause (a word, `wrong-address`), seen, fix.
    """
    with plain_errors():
        _require_name(mesh)
        without = require_crds(without_crd or [])
        if without and endpoint is None:
            problem = Problem("--without-crd", "is of webhooks, which are not looked at", "Give --endpoint, too")
            raise InvalidInputError([problem], "the command line")
        federation, given = _federation_of(mesh, document, offers or [])
        told = _endpoint_of(mesh, endpoint) if endpoint else None
        data_plane = cluster_of(kubeconfig, context)
        control_plane = None
        if control_plane_kubeconfig is not None or control_plane_context is not None:
            file = kubeconfig if control_plane_kubeconfig is None else control_plane_kubeconfig
            control_plane = cluster_of(file, control_plane_context, "--control-plane-kubeconfig")
            _require_two(data_plane, control_plane)
        observed = observe(federation, mesh, given, data_plane, control_plane, told, ask_proxies=ask_proxies)
        if federation is None and told is None:  # else these say the name
            require_known(mesh, observed)
        found = verdicts(federation, mesh, given, observed, told, timedelta(days=days), without)
    about = {"federation": federation.name} if federation else {}
    print_report(found, Output.JSON if is_json else output, **about, mesh=mesh)


def _require_name(mesh: str) -> None:
    try:
        mesh_name(mesh)
    except RuleBrokenError as broken:
        raise InvalidInputError([Problem("--mesh", broken.rule, broken.fix)], "the command line") from None


def _require_two(data_plane: Kubeconfig, control_plane: Kubeconfig) -> None:
    """One file with a context for each cluster is easily given twice, with the current context for both."""
    if address.normal(data_plane.server) == address.normal(control_plane.server):
        rule = f"leads to the same API server as --kubeconfig, {control_plane.server}"
        fix = "Name each cluster's context, by --context and --control-plane-context"
        raise InvalidInputError([Problem("--control-plane-kubeconfig", rule, fix)], "the command line")


def _federation_of(mesh: str, document: Path | None, offers: Sequence[Path]) -> tuple[Federation | None, list[Offer]]:
    """With the offers that the mesh's stack has."""
    if document is None:
        if offers:
            problem = Problem("--offer", "is of a federation, and none is given", "Give the federation's document")
            raise InvalidInputError([problem], "the command line")
        return None, []
    federation = document_of(Federation, document)
    require_peer(federation, mesh)
    return federation, with_declared(federation, [document_of(Offer, one) for one in offers])


def _endpoint_of(mesh: str, file: Path) -> EndpointDocument:
    told = document_of(EndpointDocument, file)
    if told.mesh != mesh:
        problem = Problem("--endpoint", f"is of mesh {told.mesh}, not {mesh}", "Give the endpoint of the same mesh")
        raise InvalidInputError([problem], "the command line")
    return told
