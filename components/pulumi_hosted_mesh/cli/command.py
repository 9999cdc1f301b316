"""`hosted-mesh validate | schema | leftovers | topology | scan`: what can be done with no Pulumi engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.clusters.api_server import UnreachableError
from pulumi_hosted_mesh.operations import leftovers
from pulumi_hosted_mesh.operations.topology import topology
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.load import read_mesh_file
from pulumi_hosted_mesh.vocabulary import ROOT_CERTIFICATE_CONFIG_MAP

Document = Annotated[Path, typer.Argument(help="A mesh document, YAML.", show_default=False)]
app = typer.Typer(add_completion=False, no_args_is_help=True, help="Work with mesh documents of pulumi-hosted-mesh.")


@app.command()
def validate(document: Document) -> None:
    """Check a mesh document: exit code 0 and one line if it can be used, else 1 and one line per problem."""
    with plain_errors():
        mesh = read_mesh_file(document)
    print(f"{document}: mesh {mesh.name}, istiod at {mesh.control_plane.host}, namespace {mesh.namespace}")


@app.command(name="schema")
def print_schema(
    stack: Annotated[bool, typer.Option("--stack", help="Of a stack file instead of a mesh document.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write both where the package keeps them.")] = False,
) -> None:
    """Print the JSON Schema of a mesh document."""
    if write:
        schema.write()
    else:
        print(schema.text_of(schema.stack_schema() if stack else schema.mesh_schema()), end="")


@app.command(name="leftovers")
def list_leftovers(
    document: Document,
    root: Annotated[str | None, typer.Option("--root", help="The MeshRoot that signed it, if it is shared.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them.")] = False,
) -> None:
    """List what istiod wrote into the user's namespaces and `pulumi destroy` cannot know: the root certificate."""
    with plain_errors():
        mesh = read_mesh_file(document)
        reference = mesh.data_plane.cluster or ClusterReference(kubeconfig="$KUBECONFIG")
        cluster = exec_credential.fetched(
            kubeconfig.read(reference, "dataPlane.cluster"), "dataPlane.cluster.kubeconfig"
        )
        found = leftovers.find(mesh, cluster, root)
        namespaces = found.namespaces
        for namespace in namespaces:
            print(f"ConfigMap {ROOT_CERTIFICATE_CONFIG_MAP} in namespace {namespace}")
        if remove:
            leftovers.remove(namespaces, cluster)
    if not namespaces and found.other_roots:
        others = " or ".join(f"--root {name}" for name in found.other_roots)
        print(f"There are certificates of other roots. If one signed this mesh: {others}", file=sys.stderr)
    print(f"{len(namespaces)} {'removed' if remove else 'found'}")


@app.command(name="topology")
def draw(
    state: Annotated[typer.FileText, typer.Argument(help="Output of `pulumi stack export`; `-` reads it from a pipe.")],
) -> None:
    """Draw what runs where as Mermaid text: pulumi stack export | hosted-mesh topology -"""
    try:
        resources = json.load(state)["deployment"]["resources"]
    except (ValueError, KeyError, TypeError):
        print(f"{state.name}: is not what `pulumi stack export` prints. Pipe its output in", file=sys.stderr)
        raise typer.Exit(1) from None
    print(topology(resources), end="")


def _scan_is_elsewhere() -> None:
    """Look for control-plane credentials in a state file, a preview's JSON or manifests (a package of its own)."""
    print("scan comes with the policies. Install pulumi-hosted-mesh-policies beside this package", file=sys.stderr)
    raise typer.Exit(2)


def _add_commands_of_other_packages() -> None:
    """The policies know no more of the library than its vocabulary, nor the library of them: they meet by name."""
    found = {entry.name: entry for entry in entry_points(group="hosted_mesh.commands")}
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    if "scan" not in found:
        app.command(name="scan", context_settings=anything)(_scan_is_elsewhere)
    for name, entry in sorted(found.items()):
        app.command(name=name)(entry.load())


@contextmanager
def plain_errors() -> Iterator[None]:
    """A user's mistake is a message on standard error and exit code 1, never a stack trace."""
    try:
        yield
    except (InvalidInputError, UnreachableError) as mistake:
        print(mistake, file=sys.stderr)
        raise typer.Exit(1) from None


_add_commands_of_other_packages()
