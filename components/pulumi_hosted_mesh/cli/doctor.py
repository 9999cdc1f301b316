"""`hosted-mesh doctor`: arguments, and what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.report import Output, OutputOption, print_report
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.operations.doctor.check import verdicts
from pulumi_hosted_mesh.operations.doctor.observation import observe
from pulumi_hosted_mesh.operations.exports import require_peer
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import read_file


def doctor(
    document: Annotated[Path, typer.Argument(help="The federation's document, YAML.", show_default=False)],
    mesh: Annotated[str, typer.Option(help="Which of its meshes to look at.", show_default=False)],
    kubeconfig: Annotated[str, typer.Option(help="Kubeconfig of its data plane's cluster.")] = "$KUBECONFIG",
    context: Annotated[str | None, typer.Option(help="Its context; by default the current one.")] = None,
    control_plane_kubeconfig: Annotated[
        str | None, typer.Option(help="Of the control plane's cluster, to look at the mesh's authority too.")
    ] = None,
    control_plane_context: Annotated[str | None, typer.Option(help="Its context.")] = None,
    offers: Annotated[
        list[Path] | None, typer.Option("--offer", help="What a peer exports, as its stack has it; several times.")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Say what is wrong with a mesh's part of a federation, where, and what to do. Reads only.

    Exit code 3 if a check fails, 1 if an API server cannot be asked.
    With --output json each check has: check, ok, cause (a word, `wrong-address`), seen, fix.
    """
    with plain_errors():
        federation = read_file(Federation, document)
        require_peer(federation, mesh)
        given = with_declared(federation, [read_file(Offer, one) for one in offers or []])
        data_plane = ApiServer(cluster_of(kubeconfig, context))
        control_plane = None
        if control_plane_kubeconfig is not None:
            option = "--control-plane-kubeconfig"
            control_plane = ApiServer(cluster_of(control_plane_kubeconfig, control_plane_context, option))
        found = verdicts(federation, mesh, given, observe(federation, mesh, data_plane, control_plane))
    print_report(found, output, federation=federation.name, mesh=mesh)
