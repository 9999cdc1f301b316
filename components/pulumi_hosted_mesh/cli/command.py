"""The command `hosted-mesh`: documents, what crosses between the sides, and what is asked of a mesh that runs."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Final

import typer
import yaml

from pulumi_hosted_mesh.cli.check_webhooks import check_webhooks
from pulumi_hosted_mesh.cli.discover import discover
from pulumi_hosted_mesh.cli.doctor import doctor
from pulumi_hosted_mesh.cli.engine import outputs_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.exports import exports
from pulumi_hosted_mesh.cli.given import OUTPUTS, document_of, printed, resources_of, text_of
from pulumi_hosted_mesh.cli.output import App
from pulumi_hosted_mesh.cli.rotate import rotate
from pulumi_hosted_mesh.cli.validate import Kind, validate
from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.operations import behind, handover, leftovers, renewals, tokens
from pulumi_hosted_mesh.operations.federation_picture import federation_picture
from pulumi_hosted_mesh.operations.topology import topology
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, visible
from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP

app = App(
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Work with the documents of pulumi-hosted-mesh.",
)


@app.command(name="schema")
def print_schema(
    kind: Annotated[Kind, typer.Option(help="Of which document.")] = Kind.MESH,
    write: Annotated[bool, typer.Option("--write", help="Write all, and the TypedDicts, into the package.")] = False,
) -> None:
    """Print the JSON Schema of a document."""
    if write:
        schema.write()
        return
    (make,) = (make for path, make in schema.SCHEMAS.items() if path.name == f"{kind}.schema.json")
    print(schema.text_of(make()), end="")


@app.command(name="leftovers")
def list_leftovers(
    document: Annotated[Path, typer.Argument(help="A data plane's document, YAML.", show_default=False)],
    remove: Annotated[bool, typer.Option("--remove", help="Remove them.")] = False,
) -> None:
    """List what istiod wrote into the data plane's namespaces and `pulumi destroy` cannot know: the root certificate.

    With access.rootCertificateOwner, the default, the cluster removes it by itself.
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
        typer.Argument(help="Output of `pulumi stack output --json`, `-` for a pipe; by default pulumi is asked."),
    ] = None,
    stack: Annotated[str | None, typer.Option(help="The stack to ask; by default the selected one.")] = None,
    membership: Annotated[str, typer.Option(help="The data plane's name within the mesh.")] = DEFAULT_MEMBERSHIP,
    revision: Annotated[str | None, typer.Option(help="The revision, if there are several.")] = None,
) -> None:
    """Print what a data plane's user is handed: hosted-mesh endpoint > endpoint.yaml

    Public facts of the control plane, out of the outputs of the stack control-plane or all-in-one. The user names the
    file under hosted-mesh:endpoints of the stack data-plane.
    """
    with plain_errors():
        given = printed(text_of(outputs), str(outputs), OUTPUTS) if outputs else outputs_of(stack)
        document = handover.endpoint_of(given, membership, revision)
    facts = document.model_dump(mode="json", by_alias=True, exclude_none=True)
    print(yaml.safe_dump(facts, sort_keys=False, width=1000), end="")


@app.command()
def token(
    document: Annotated[Path, typer.Argument(help="A data plane's document, YAML.", show_default=False)],
    hours: Annotated[float, typer.Option(min=0.2, max=87600, help="How long the token is valid.")] = 24,
) -> None:
    """Print istiod's kubeconfig with a token that expires, a secret: for access.token: bounded. Pipe it on:

    hosted-mesh token data-plane.yaml | pulumi config set --secret --path 'hosted-mesh:kubeconfigs.default'

    When it ends is said on standard error: an API server may give less than it is asked for.
    """
    asked = round(hours * 3600)
    with plain_errors():
        data_plane = document_of(DataPlane, document)
        made = tokens.bounded_kubeconfig(data_plane, _cluster_of(data_plane, document), asked)
    print(made.kubeconfig)
    if made.seconds < asked:
        print(f"warning: the API server made it {made.seconds} s, and not the {asked} s asked for", file=sys.stderr)
    print(f"the token ends at {visible(made.ends)}", file=sys.stderr)


@app.command()
def status(
    states: Annotated[
        list[Path],
        typer.Argument(metavar="STATE...", help="Outputs of `pulumi stack export`; `-` reads one from a pipe."),
    ],
) -> None:
    """Say when authorities' certificates end, and what `pulumi up` renews: pulumi stack export | hosted-mesh status -

    Of separate stacks: hosted-mesh status root.json trust.json control-plane.json

    Exit code 3 if a `pulumi up` is due; else 4 if something could not be judged by these states, which it says.
    """
    with plain_errors():
        resources = {str(state): resources_of(state) for state in states}
        found = [one for state, own in resources.items() for one in renewals.renewals(own, source=state)]
    said: list[renewals.Renewal | behind.Judgement] = [*found, *behind.judgements(resources)]
    for one in said:
        print(one)
    if any(one.due for one in said):
        raise typer.Exit(3)
    if any(one.due is None for one in said):
        raise typer.Exit(4)


@app.command(name="topology")
def draw(
    states: Annotated[
        list[Path],
        typer.Argument(metavar="STATE...", help="Outputs of `pulumi stack export`; `-` reads one from a pipe."),
    ],
    federation: Annotated[
        bool, typer.Option("--federation", help="The meshes of a federation: exports, imports, who is let in.")
    ] = False,
) -> None:
    """Draw what runs where as Mermaid text: pulumi stack export | hosted-mesh topology -

    Of a federation: hosted-mesh topology --federation east.json west.json, each the export of one mesh's stack.
    """
    with plain_errors():
        resources = [resource for state in states for resource in resources_of(state)]
        try:
            picture = federation_picture(resources) if federation else topology(resources)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            rule = "has an object of another form than the program makes"
            problem = Problem("(file)", rule, "Export the state anew")
            raise InvalidInputError([problem], ", ".join(map(str, states))) from None
    print(picture, end="")


def _cluster_of(data_plane: DataPlane, document: Path) -> kubeconfig.Kubeconfig:
    """The cluster that a data plane's document names; by default $KUBECONFIG's."""
    reference = data_plane.cluster or ClusterReference(kubeconfig="$KUBECONFIG")
    found = kubeconfig.read(reference, "cluster", str(document))
    return exec_credential.fetched(found, "cluster.kubeconfig", str(document))


OF_THE_POLICIES: Final = {
    "diff": "Show what a change of a program changes, stack by stack, for a pull request (a package of its own).",
    "prove": "Run a program with other secrets, and compare what data planes are sent (a package of its own).",
    "scan": "Look for control-plane credentials in a state file, a preview's JSON or manifests (a package of its own).",
}


def _is_elsewhere(context: typer.Context) -> None:
    name = context.info_name
    print(f"{name} comes with the policies. Install hosted-mesh-policies beside this package", file=sys.stderr)
    raise typer.Exit(2)


def _add_commands_of_other_packages() -> None:
    """The policies know no more of the library than its vocabulary, nor the library of them: they meet by name."""
    found = {entry.name: entry for entry in entry_points(group="hosted_mesh.commands")}
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    for name in OF_THE_POLICIES.keys() - found.keys():
        app.command(name=name, help=OF_THE_POLICIES[name], context_settings=anything)(_is_elsewhere)
    for name, entry in sorted(found.items()):
        app.command(name=name)(entry.load())


app.command()(rotate)
app.command()(validate)
app.command()(discover)
app.command()(check_webhooks)
app.command()(doctor)
app.command()(exports)
_add_commands_of_other_packages()
