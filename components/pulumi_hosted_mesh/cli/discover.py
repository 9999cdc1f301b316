"""`hosted-mesh discover`: arguments, and what is printed."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.clusters.kubeconfig_files import of_environment
from pulumi_hosted_mesh.operations.discovery import show
from pulumi_hosted_mesh.operations.discovery.clusters import choose, look, watch

EVERY_SECONDS = 10.0


def discover(
    contexts: Annotated[
        list[str] | None, typer.Argument(help="Contexts of the kubeconfigs; by default all.", show_default=False)
    ] = None,
    kubeconfig: Annotated[
        list[str] | None, typer.Option(help="A kubeconfig file; may be given several times. By default $KUBECONFIG's.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON in place of the table.")] = False,
    follow: Annotated[bool, typer.Option("--watch", help="Go on, and print again when something changed.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="With --watch: seconds between two looks.")] = EVERY_SECONDS,
) -> None:
    """List the meshes in clusters, whoever made them. Reads only; of Secrets and Pods nothing but metadata.

    Exit code 4 if a cluster could not be looked at.
    """
    with plain_errors():
        chosen = choose(kubeconfig or of_environment(), contexts or [])
    rounds = watch(lambda: look(chosen), every)
    for found in rounds if follow else itertools.islice(rounds, 1):
        print(show.as_json(found) if json else show.table(found), flush=True)
    if found.unreachable:
        raise typer.Exit(4)
