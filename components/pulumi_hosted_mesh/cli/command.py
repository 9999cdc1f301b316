"""The command `hosted-mesh`: documents, facts for the other side, and checks of a running mesh."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated, Final

import typer

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.cli.check_webhooks import check_webhooks
from pulumi_hosted_mesh.cli.discover import discover
from pulumi_hosted_mesh.cli.doctor import doctor
from pulumi_hosted_mesh.cli.document_kinds import DocumentKind
from pulumi_hosted_mesh.cli.engine import outputs_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.exports import exports
from pulumi_hosted_mesh.cli.input_files import OUTPUTS, document_of, printed, resources_of, text_of
from pulumi_hosted_mesh.cli.intents import app as intents_app
from pulumi_hosted_mesh.cli.move import move
from pulumi_hosted_mesh.cli.operators import app as operators_app
from pulumi_hosted_mesh.cli.output import App
from pulumi_hosted_mesh.cli.rotate import rotate
from pulumi_hosted_mesh.cli.validate import validate
from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.operations import endpoint_export, leftovers, renewals, stale_stacks, tokens
from pulumi_hosted_mesh.operations.federation_picture import federation_picture
from pulumi_hosted_mesh.operations.topology import drawing, topology
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, visible
from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP

DISTRIBUTION: Final = "pulumi-hosted-mesh"

app = App(
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"hosted-mesh {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Work with the documents of pulumi-hosted-mesh."""


@app.command(name="schema")
def print_schema(
    kind: Annotated[DocumentKind, typer.Option(help="Kind of the document.")] = DocumentKind.MESH,
    write: Annotated[bool, typer.Option("--write", help="Write all, and the TypedDicts, into the package.")] = False,
) -> None:
    """Print the JSON Schema of a document."""
    if write:
        schema.write()
        # Imports Pulumi's SDKs, which take a second and which no other command reads.
        import_module("pulumi_hosted_mesh.assembly.package").write_schema()
        return
    print(json.dumps(schema.schema_of(kind), indent=2, ensure_ascii=False))


@app.command(name="leftovers")
def list_leftovers(
    document: Annotated[Path, typer.Argument(help="A data plane's document, YAML.", show_default=False)],
    remove: Annotated[bool, typer.Option("--remove", help="Remove them.")] = False,
) -> None:
    """List the ConfigMaps with the mesh's root certificate, which istiod writes into the data plane's namespaces.

    `pulumi destroy` does not remove them. With access.rootCertificateOwner, the default, the cluster does.
    """
    with plain_errors():
        data_plane = document_of(DataPlane, document)
        cluster = _cluster_of(data_plane, document)
        found = leftovers.find(data_plane.mesh, cluster)
        for namespace, name in found:
            print(f"ConfigMap {name} in namespace {namespace}")
        if remove:
            leftovers.remove(found, cluster)
    print(f"{len(found)} {'removed' if remove else 'found'}")


@app.command()
def endpoint(
    outputs: Annotated[
        Path | None,
        typer.Argument(help="Output of `pulumi stack output --json`, `-` for a pipe; by default the command runs it."),
    ] = None,
    stack: Annotated[str | None, typer.Option(help="The stack to read; by default the selected one.")] = None,
    membership: Annotated[str, typer.Option(help="The data plane's name within the mesh.")] = DEFAULT_MEMBERSHIP,
    revision: Annotated[str | None, typer.Option(help="The revision, if there are several.")] = None,
) -> None:
    """Print the endpoint file for a data plane's user: hosted-mesh endpoint > endpoint.yaml

    It has public facts of the control plane, from the outputs of the stack control-plane or all-in-one. The user names
    the file under hosted-mesh:endpoints of the stack data-plane.
    """
    with plain_errors():
        given = printed(text_of(outputs), str(outputs), OUTPUTS) if outputs else outputs_of(stack)
        document = endpoint_export.endpoint_of(given, membership, revision)
    facts = document.model_dump(mode="json", by_alias=True, exclude_none=True)
    print(yaml_text.dump(facts), end="")


@app.command()
def token(
    document: Annotated[Path, typer.Argument(help="A data plane's document, YAML.", show_default=False)],
    hours: Annotated[float, typer.Option(min=0.2, max=87600, help="Lifetime of the token.")] = 24,
) -> None:
    """Print istiod's kubeconfig with a token that expires, a secret, for access.token: bounded. Pipe it to Pulumi:

    hosted-mesh token data-plane.yaml | pulumi config set --secret --path 'hosted-mesh:kubeconfigs.default'

    Standard error has the token's end, because an API server may limit the lifetime.
    """
    requested = round(hours * 3600)
    with plain_errors():
        data_plane = document_of(DataPlane, document)
        made = tokens.bounded_kubeconfig(data_plane, _cluster_of(data_plane, document), requested)
    print(made.kubeconfig)
    if made.seconds < requested:
        limited = f"the API server limited the lifetime to {made.seconds} s, from the requested {requested} s"
        print(f"warning: {limited}", file=sys.stderr)
    print(f"the token ends at {visible(made.ends)}", file=sys.stderr)


@app.command()
def status(
    states: Annotated[
        list[Path],
        typer.Argument(metavar="STATE...", help="Outputs of `pulumi stack export`; `-` reads one from a pipe."),
    ],
) -> None:
    """Print the ends of authorities' certificates, and due renewals: pulumi stack export | hosted-mesh status -

    For separate stacks: hosted-mesh status root.json trust.json control-plane.json

    Exit code 3 if a `pulumi up` is due; else 4 if these states do not suffice. The output names the missing stacks.
    """
    with plain_errors():
        resources = {str(state): resources_of(state) for state in states}
        found = [one for state, own in resources.items() for one in renewals.renewals(own, source=state)]
    elsewhere = [one for own in resources.values() for one in renewals.outside_renewals(own)]
    findings: list[renewals.Renewal | renewals.OutsideRenewal | stale_stacks.Staleness] = [*found, *elsewhere]
    findings += stale_stacks.stale_stacks(resources)
    for one in findings:
        print(one)
    if any(one.due for one in findings):
        raise typer.Exit(3)
    if any(one.due is None for one in findings):
        raise typer.Exit(4)


@app.command(name="topology")
def draw(
    states: Annotated[
        list[Path],
        typer.Argument(metavar="STATE...", help="Outputs of `pulumi stack export`; `-` reads one from a pipe."),
    ],
    federation: Annotated[
        bool, typer.Option("--federation", help="The meshes of a federation: exports, imports, permitted callers.")
    ] = False,
    as_svg: Annotated[bool, typer.Option("--svg", help="Print SVG in place of Mermaid text.")] = False,
) -> None:
    """Draw the objects of a stack and their places: pulumi stack export | hosted-mesh topology -

    A preview is drawn too: pulumi preview --json | hosted-mesh topology - --svg > topology.svg

    For a federation: hosted-mesh topology --federation east.json west.json, each the export of one mesh's stack.
    """
    with plain_errors():
        resources = [resource for state in states for resource in resources_of(state)]
        if federation and as_svg:
            problem = Problem("--svg", "does not draw --federation", "Leave one of them out")
            raise InvalidInputError([problem], "the command line")
        try:
            draw_one = drawing if as_svg else topology
            picture = federation_picture(resources) if federation else draw_one(resources)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            rule = "has an object of a form that this program does not create"
            problem = Problem("(file)", rule, "Export the state again")
            raise InvalidInputError([problem], ", ".join(map(str, states))) from None
    print(picture, end="")


def _cluster_of(data_plane: DataPlane, document: Path) -> kubeconfig.Kubeconfig:
    """The cluster in a data plane's document; by default $KUBECONFIG's."""
    reference = data_plane.cluster or ClusterReference(kubeconfig="$KUBECONFIG")
    found = kubeconfig.read(reference, "cluster", str(document))
    return exec_credential.fetched(found, "cluster.kubeconfig", str(document))


OF_OTHER_PACKAGES: Final = {
    "cancel": "Cancel an operation of a controller (a separate package).",
    "diff": "Show the effects of a program's change, stack by stack, for a pull request (a separate package).",
    "list": "List objects that a controller carries out (a separate package).",
    "logs": "Follow an operation of a controller (a separate package).",
    "order": "Order a mesh from a controller (a separate package).",
    "prove": "Run a program with other secrets, and compare the data planes' resources (a separate package).",
    "scan": "Look for control-plane credentials in a state file, a preview's JSON or manifests (a separate package).",
    "show": "Print an object that a controller carries out (a separate package).",
}
_PACKAGES: Final = {"diff": "hosted-mesh-analysis", "prove": "hosted-mesh-analysis", "scan": "hosted-mesh-policies"}


def _is_elsewhere(context: typer.Context) -> None:
    name = context.info_name
    package = _PACKAGES.get(str(name), "hosted-mesh-controller")
    print(f"{name} is a command of another package. Install {package} too", file=sys.stderr)
    raise typer.Exit(2)


def _add_commands_of_other_packages() -> None:
    """Adds commands by entry points, because library, policies and analysis do not import each other."""
    found = {entry.name: entry for entry in entry_points(group="hosted_mesh.commands")}
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    for name in OF_OTHER_PACKAGES.keys() - found.keys():
        app.command(name=name, help=OF_OTHER_PACKAGES[name], context_settings=anything)(_is_elsewhere)
    for name, entry in sorted(found.items()):
        app.command(name=name)(entry.load())


app.add_typer(intents_app)
app.add_typer(operators_app)
app.command()(rotate)
app.command()(validate)
app.command()(discover)
app.command()(check_webhooks)
app.command()(doctor)
app.command()(move)
app.command()(exports)
_add_commands_of_other_packages()
