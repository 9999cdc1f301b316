"""`hosted-mesh operators`: arguments of status, and its output."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operators.status import as_json, read_status, table

app = typer.Typer(name="operators", help="Operators of hosted clusters.", no_args_is_help=True)


class StatusOutput(StrEnum):
    """Formats of the output."""

    TABLE = "table"
    JSON = "json"


@app.callback()
def operators() -> None:
    """Operators of hosted clusters."""


@app.command()
def status(
    kubeconfig: Annotated[str, typer.Option(help="A kubeconfig of the hosted clusters.")],
    context: Annotated[
        list[str] | None, typer.Option(help="A hosted cluster's context; may be given several times.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="A planned version of Kubernetes, for operators with a newest supported one.")
    ] = None,
    output: Annotated[StatusOutput, typer.Option("--output", "-o", help="Format.")] = StatusOutput.TABLE,
) -> None:
    """Print catalogs, Subscriptions, versions, blockers and faults of hosted clusters. Read-only.

    Faults: unreachable catalogs, an unavailable packageserver, failed resolutions, unpacks and installs, operators
    that no node fits. Each has its fix.
    Exit code 3 if an operator blocks an upgrade, 4 if a cluster cannot be read, 5 for a fault without a blocker.
    """
    with plain_errors():
        chosen: list[str | None] = [*context] if context else [None]
        configs = [cluster_of(kubeconfig, one) for one in chosen]
        found = [read_status(config.context, ApiServer(config), version) for config in configs]
    print(json.dumps(as_json(found), indent=2) if output is StatusOutput.JSON else table(found))
    if any(one.error for one in found):
        raise typer.Exit(4)
    if any(one.blockers for one in found):
        raise typer.Exit(3)
    if any(one.faults for one in found):
        raise typer.Exit(5)
