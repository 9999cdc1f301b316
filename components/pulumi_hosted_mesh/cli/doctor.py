"""`hosted-mesh doctor`: arguments and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.input_files import document_of
from pulumi_hosted_mesh.cli.report import JsonOption, Output, OutputOption, print_report
from pulumi_hosted_mesh.cli.without_crd import WithoutCrdOption
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.operations.doctor.check import not_looked_at, verdicts
from pulumi_hosted_mesh.operations.doctor.observation import observe, require_known
from pulumi_hosted_mesh.operations.exports import require_peer
from pulumi_hosted_mesh.operations.webhooks.crds import require_crds
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.fields import mesh_name, tenant_name


def doctor(
    mesh: Annotated[str, typer.Option(help="Name of the mesh to check.", show_default=False)],
    document: Annotated[
        Path | None,
        typer.Argument(help="The federation's document, YAML; without it only the mesh is checked."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Its tenant, if the mesh document has one: for the control plane's namespace.")
    ] = None,
    kubeconfig: Annotated[str, typer.Option(help="Kubeconfig of its data plane's cluster.")] = "$KUBECONFIG",
    context: Annotated[str | None, typer.Option(help="Its context; by default the current one.")] = None,
    control_plane_kubeconfig: Annotated[
        str | None,
        typer.Option(help="Kubeconfig of the control plane's cluster, to check istiod and its authority too."),
    ] = None,
    control_plane_context: Annotated[
        str | None, typer.Option(help="Its context. Without a separate file, a context of the data plane's kubeconfig.")
    ] = None,
    offers: Annotated[
        list[Path] | None, typer.Option("--offer", help="A peer's offer, as in the mesh's stack; repeatable.")
    ] = None,
    endpoint: Annotated[
        Path | None, typer.Option(help="Its data plane's endpoint, to check webhooks and proxies' networks too.")
    ] = None,
    ask_proxies: Annotated[
        bool, typer.Option("--ask-proxies", help="Also check that each proxy accepted istiod's latest configuration.")
    ] = False,
    leaving: Annotated[
        str | None, typer.Option(help="A revision that is to be removed: fails while a Pod of the data plane has it.")
    ] = None,
    without_crd: WithoutCrdOption = None,
    days: Annotated[int, typer.Option(min=0, help="Report certificates that end within this number of days.")] = 30,
    is_json: JsonOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Check a mesh, and its part of a federation, and report failures with their place and fix. Nothing is stored.

    hosted-mesh endpoint | hosted-mesh doctor --mesh demo --endpoint -

    hosted-mesh doctor --mesh demo --context data-plane --control-plane-context control-plane

    Exit code 3 if a check fails, 1 if an API server does not answer or the cluster has only other meshes.
    With --json each check has: check, ok, notice, cause (an identifier, `wrong-address`), seen, fix.
    """
    with plain_errors():
        _require_name("--mesh", mesh_name, mesh)
        if tenant is not None:
            _require_name("--tenant", tenant_name, tenant)
        without = require_crds(without_crd or [])
        if without and endpoint is None:
            problem = Problem(
                "--without-crd", "requires --endpoint: only the checks of webhooks use it", "Add --endpoint"
            )
            raise InvalidInputError([problem], "the command line")
        federation, given = _federation_of(mesh, document, offers or [])
        facts = _endpoint_of(mesh, endpoint) if endpoint else None
        data_plane = cluster_of(kubeconfig, context)
        control_plane = None
        if control_plane_kubeconfig is not None or control_plane_context is not None:
            file = kubeconfig if control_plane_kubeconfig is None else control_plane_kubeconfig
            control_plane = cluster_of(file, control_plane_context, "--control-plane-kubeconfig")
            _require_two(data_plane, control_plane)
        observed = observe(
            federation, mesh, given, data_plane, control_plane, facts, ask_proxies=ask_proxies, tenant=tenant
        )
        if federation is None and facts is None:  # else these confirm the name
            require_known(mesh, observed)
        found = verdicts(federation, mesh, given, observed, facts, timedelta(days=days), without, leaving)
        found += not_looked_at(observed)
    about = {"federation": federation.name} if federation else {}
    print_report(found, Output.JSON if is_json else output, **about, mesh=mesh)


def _require_name(option: str, rule: Callable[[str], str], name: str) -> None:
    try:
        rule(name)
    except RuleBrokenError as broken:
        raise InvalidInputError([Problem(option, broken.rule, broken.fix)], "the command line") from None


def _require_two(data_plane: Kubeconfig, control_plane: Kubeconfig) -> None:
    """Rejects two kubeconfigs of one API server, such as one file twice without contexts."""
    if canonical.server(data_plane.server) == canonical.server(control_plane.server):
        rule = f"leads to the same API server as --kubeconfig, {control_plane.server}"
        fix = "Name each cluster's context, by --context and --control-plane-context"
        raise InvalidInputError([Problem("--control-plane-kubeconfig", rule, fix)], "the command line")


def _federation_of(mesh: str, document: Path | None, offers: Sequence[Path]) -> tuple[Federation | None, list[Offer]]:
    """The federation, and the offers of the mesh's stack."""
    if document is None:
        if offers:
            problem = Problem("--offer", "requires a federation", "Add the federation's document")
            raise InvalidInputError([problem], "the command line")
        return None, []
    federation = document_of(Federation, document)
    require_peer(federation, mesh)
    return federation, with_declared(federation, [document_of(Offer, one) for one in offers])


def _endpoint_of(mesh: str, file: Path) -> EndpointDocument:
    facts = document_of(EndpointDocument, file)
    if facts.mesh != mesh:
        problem = Problem("--endpoint", f"is of mesh {facts.mesh}, not {mesh}", "Use the endpoint of the same mesh")
        raise InvalidInputError([problem], "the command line")
    return facts
