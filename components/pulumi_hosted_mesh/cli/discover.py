"""`hosted-mesh discover`: arguments and output."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.clusters.kubeconfig_files import of_environment
from pulumi_hosted_mesh.operations.discovery import show
from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation
from pulumi_hosted_mesh.operations.discovery.clusters import choose, read, watch
from pulumi_hosted_mesh.operations.discovery.facts import Discovery
from pulumi_hosted_mesh.operations.discovery.inventory import inventory_of
from pulumi_hosted_mesh.operations.discovery.meshes import discover_all
from pulumi_hosted_mesh.operations.discovery.metrics_file import metrics
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, visible

EVERY_SECONDS = 10.0
REQUIRED = ("Namespace", "Service", "Deployment")


def discover(
    contexts: Annotated[
        list[str] | None, typer.Argument(help="Contexts of the kubeconfigs; by default all.", show_default=False)
    ] = None,
    kubeconfig: Annotated[
        list[str] | None, typer.Option(help="A kubeconfig file; may be given several times. By default $KUBECONFIG's.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with the services.")] = False,
    services: Annotated[
        bool, typer.Option("--services", help="List the meshes' services, workloads and versions instead.")
    ] = False,
    follow: Annotated[bool, typer.Option("--watch", help="Continue, and print again after each change.")] = False,
    inventory: Annotated[
        bool, typer.Option("--inventory", help="Print an inventory for `hosted-mesh intents`, as YAML.")
    ] = False,
    inventory_file: Annotated[
        Path | None, typer.Option(help="Also write the inventory to this file.", show_default=False)
    ] = None,
    metrics_file: Annotated[
        Path | None,
        typer.Option(help="Also write metrics to this file, for Prometheus' node exporter.", show_default=False),
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.1, help="With --watch: seconds until a list that cannot be watched is read again.")
    ] = EVERY_SECONDS,
) -> None:
    """List the meshes in clusters, of any origin. Read-only; it reads only the metadata of Secrets and Pods.

    Exit code 4 if a cluster cannot be read.
    """
    with plain_errors():
        if inventory and (json or follow or services):
            rule, fix = "is given with --json, --services or --watch", "Give one of them, or --inventory-file"
            raise InvalidInputError([Problem("--inventory", rule, fix)], "the command line")
        chosen = choose(kubeconfig or of_environment(), contexts or [])
        names = [name for name, _, _ in chosen]
        for observed, found in watch(chosen, every) if follow else _once(read(chosen)):
            written = inventory_file is None or _write_inventory(observed, found, inventory_file)
            if metrics_file:
                _replace(metrics_file, metrics(found, names))
            if inventory:
                written = _write_inventory(observed, found, None)
            elif json:
                print(show.as_json(found), flush=True)
            else:
                print(show.services_table(found) if services else show.table(found), flush=True)
    if found.unreachable or not written:
        raise typer.Exit(4)


def _once(observed: Sequence[ClusterObservation]) -> Iterator[tuple[Sequence[ClusterObservation], Discovery]]:
    yield observed, discover_all(observed)


def _write_inventory(observed: Sequence[ClusterObservation], found: Discovery, file: Path | None) -> bool:
    """An inventory that lacks an unreadable cluster would close the calls of its services, so none is written then.

    file: None for standard output.
    """
    if missing := _missing(found):
        for name, reason in missing.items():
            print(f"{visible(name)}: {visible(reason)}", file=sys.stderr)
        if file:
            print(f"{file}: is not written, because a cluster cannot be read", file=sys.stderr)
        return False
    document = inventory_of(observed, found).model_dump(mode="json", by_alias=True, exclude_unset=True)
    text = yaml_text.dump(document)
    if file:
        _replace(file, text)
    else:
        print(text, end="")
    return True


def _replace(file: Path, text: str) -> None:
    """Writes a file whole: a reader sees the old content or the new one. Raises: InvalidInputError."""
    try:
        with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=f".{file.name}-", delete=False) as part:
            part.write(text)
        Path(part.name).chmod(0o644)
        Path(part.name).replace(file)
    except OSError as error:
        problem = Problem("(file)", f"cannot be written: {error.strerror}", "Check the path")
        raise InvalidInputError([problem], str(file)) from None


def _missing(found: Discovery) -> Mapping[str, str]:
    lacking = {name: [kind for kind in kinds if kind in REQUIRED] for name, kinds in found.unreadable.items()}
    return {
        **found.unreachable,
        **{name: f"may not list {', '.join(kinds)}" for name, kinds in lacking.items() if kinds},
    }
