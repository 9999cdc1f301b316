"""The command `hosted-mesh`: documents, what crosses between the sides, and what is asked of a mesh that runs."""

from __future__ import annotations

import json
import subprocess
import sys
from enum import StrEnum
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import yaml

from pulumi_hosted_mesh.assembly.deployment_plan import planned
from pulumi_hosted_mesh.cli.check_webhooks import check_webhooks
from pulumi_hosted_mesh.cli.discover import discover
from pulumi_hosted_mesh.cli.doctor import doctor
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.exports import exports
from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.dns import plan
from pulumi_hosted_mesh.operations import handover, leftovers, renewals, rotation, tokens
from pulumi_hosted_mesh.operations.federation_picture import federation_picture
from pulumi_hosted_mesh.operations.topology import topology
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec import schema
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import read_file
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Work with the documents of pulumi-hosted-mesh.")


class Kind(StrEnum):
    """The documents."""

    MESH = "mesh"
    DATA_PLANE = "data-plane"
    ENDPOINT = "endpoint"
    DEPLOYMENT = "deployment"
    FEDERATION = "federation"
    OFFER = "offer"
    DNS = "dns"
    STACK = "stack"


@app.command()
def validate(
    document: Annotated[Path, typer.Argument(help="A document, YAML.", show_default=False)],
    kind: Annotated[Kind, typer.Option(help="What it is.")] = Kind.MESH,
) -> None:
    """Check a document: exit code 0 and one line if it can be used, else 1 and one line per problem."""
    with plain_errors():
        if kind is Kind.MESH:
            mesh = read_file(Mesh, document)
            istiods = ", ".join(f"{revision.name} at {revision.host}" for revision in mesh.revisions)
            print(f"{document}: mesh {mesh.name}, trust domain {mesh.domain}, istiod {istiods}")
        elif kind is Kind.DATA_PLANE:
            data_plane = read_file(DataPlane, document)
            print(f"{document}: membership {data_plane.name} of mesh {data_plane.mesh}")
        elif kind is Kind.ENDPOINT:
            endpoint = read_file(EndpointDocument, document)
            print(f"{document}: revision {endpoint.revision} of mesh {endpoint.mesh}, istiod at {endpoint.host}")
        elif kind is Kind.FEDERATION:
            federation = read_file(Federation, document)
            peers = ", ".join(sorted(one.mesh for one in federation.peers))
            print(f"{document}: federation {federation.name} of {peers}")
        elif kind is Kind.DEPLOYMENT:
            for one in planned(read_file(Deployment, document)):
                print(f"{document}: {one.cluster.name} gets mesh {one.mesh.name}, trust domain {one.mesh.domain}")
        elif kind is Kind.OFFER:
            offer = read_file(Offer, document)
            print(f"{document}: {len(offer.services)} services that {offer.mesh} offers")
        elif kind is Kind.DNS:
            bridge = read_file(DnsBridge, document)
            for warning in plan.warnings(bridge):
                print(f"warning: {warning}", file=sys.stderr)
            for pair in (*plan.pairs(bridge), *plan.own_pairs(bridge)):
                print(f"{document}: {pair.edge.name} by {pair.provider.id} in {', '.join(pair.include)}")
        else:
            print(
                "A stack's file is checked by `pulumi preview`; editors check it by `hosted-mesh schema`",
                file=sys.stderr,
            )
            raise typer.Exit(2)


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
        data_plane = read_file(DataPlane, document)
        cluster = _cluster_of(data_plane)
        found = leftovers.find(data_plane.mesh, cluster)
        for namespace, name in found:
            print(f"ConfigMap {name} in namespace {namespace}")
        if remove:
            leftovers.remove(found, cluster)
    print(f"{len(found)} {'removed' if remove else 'found'}")


@app.command()
def endpoint(
    outputs: Annotated[
        typer.FileText | None,
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
        given = _json(outputs.read(), outputs.name) if outputs else _outputs_of(stack)
        document = handover.endpoint_of(given, membership, revision)
    facts = document.model_dump(mode="json", by_alias=True, exclude_none=True)
    print(yaml.safe_dump(facts, sort_keys=False, width=1000), end="")


@app.command()
def token(
    document: Annotated[Path, typer.Argument(help="A data plane's document, YAML.", show_default=False)],
    hours: Annotated[float, typer.Option(min=0.2, help="How long the token is valid.")] = 24,
) -> None:
    """Print istiod's kubeconfig with a token that expires, a secret: for access.token: bounded. Pipe it on:

    hosted-mesh token data-plane.yaml | pulumi config set --secret --path 'hosted-mesh:kubeconfigs.default'
    """
    with plain_errors():
        data_plane = read_file(DataPlane, document)
        text = tokens.bounded_kubeconfig(data_plane, _cluster_of(data_plane), round(hours * 3600))
    print(text)


@app.command()
def rotate(
    access: Annotated[str, typer.Option(help="The stack of kind access.")] = "access",
    control_plane: Annotated[str, typer.Option(help="The stack of kind control-plane.")] = "control-plane",
) -> None:
    """Replace istiod's long-lived token, stack by stack, so that istiod is never without a valid one.

    Run it in the program's directory, with the credentials of both stacks. Interrupted, run it again: it goes on.
    """
    with plain_errors():
        stacks = rotation.Stacks(access, control_plane)
        written = _pulumi("config", "get", "hosted-mesh:token", "--stack", access, may_fail=True)
        token = _json(written, "hosted-mesh:token") if written else {}
        for step in rotation.rotate(stacks, _outputs_of(access), token, _pulumi):
            print(step)
    print(f"istiod has a new token. Commit Pulumi.{access}.yaml, which says its generation")


@app.command()
def status(
    state: Annotated[typer.FileText, typer.Argument(help="Output of `pulumi stack export`; `-` reads a pipe.")],
) -> None:
    """Say when authorities' certificates end, and what `pulumi up` renews: pulumi stack export | hosted-mesh status -

    Exit code 3 if a renewal is due.
    """
    found = renewals.renewals(_resources(state))
    for one in found:
        print(one)
    if not found:
        print("There is no certificate of an authority in this stack: look at root, or all-in-one")
    if any(one.due for one in found):
        raise typer.Exit(3)


@app.command(name="topology")
def draw(
    states: Annotated[
        list[typer.FileText],
        typer.Argument(metavar="STATE...", help="Outputs of `pulumi stack export`; `-` reads one from a pipe."),
    ],
    federation: Annotated[
        bool, typer.Option("--federation", help="The meshes of a federation: exports, imports, who is let in.")
    ] = False,
) -> None:
    """Draw what runs where as Mermaid text: pulumi stack export | hosted-mesh topology -

    Of a federation: hosted-mesh topology --federation east.json west.json, each the export of one mesh's stack.
    """
    resources = [resource for state in states for resource in _resources(state)]
    print(federation_picture(resources) if federation else topology(resources), end="")


def _resources(state: typer.FileText) -> list[dict[str, Any]]:
    """The resources of a state export."""
    try:
        found: list[dict[str, Any]] = json.load(state)["deployment"]["resources"]
    except (ValueError, KeyError, TypeError):
        print(f"{state.name}: is not what `pulumi stack export` prints. Pipe its output in", file=sys.stderr)
        raise typer.Exit(1) from None
    return found


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        problem = Problem("(file)", "is not what `pulumi stack output --json` prints", "Pipe its output in")
        raise InvalidInputError([problem], name) from None


def _outputs_of(stack: str | None) -> Any:
    """The outputs of a stack of the program in this directory."""
    printed = _pulumi("stack", "output", "--json", *(["--stack", stack] if stack else []))
    return _json(printed, "pulumi stack output")


def _pulumi(*arguments: str, may_fail: bool = False) -> str:
    """What a command of the CLI prints; nothing if it failed and may. Raises: InvalidInputError, in pulumi's words."""
    try:
        done = subprocess.run(["pulumi", "--non-interactive", *arguments], capture_output=True, text=True, check=False)
    except OSError:
        problem = Problem("pulumi", "cannot be run", "Put it on PATH")
        raise InvalidInputError([problem], "the command line") from None
    if done.returncode == 0 or may_fail:
        return done.stdout if done.returncode == 0 else ""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
    problem = Problem(f"pulumi {arguments[0]}", "failed: " + "\n".join(said), "Put it right, and run the same again")
    raise InvalidInputError([problem], "the command line")


def _cluster_of(data_plane: DataPlane) -> kubeconfig.Kubeconfig:
    """The cluster that a data plane's document names; by default $KUBECONFIG's."""
    reference = data_plane.cluster or ClusterReference(kubeconfig="$KUBECONFIG")
    return exec_credential.fetched(kubeconfig.read(reference, "cluster"), "cluster.kubeconfig")


OF_THE_POLICIES: Final = {
    "prove": "Run a program with other secrets, and compare what data planes are sent (a package of its own).",
    "scan": "Look for control-plane credentials in a state file, a preview's JSON or manifests (a package of its own).",
}


def _is_elsewhere(context: typer.Context) -> None:
    name = context.info_name
    print(f"{name} comes with the policies. Install pulumi-hosted-mesh-policies beside this package", file=sys.stderr)
    raise typer.Exit(2)


def _add_commands_of_other_packages() -> None:
    """The policies know no more of the library than its vocabulary, nor the library of them: they meet by name."""
    found = {entry.name: entry for entry in entry_points(group="hosted_mesh.commands")}
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    for name in OF_THE_POLICIES.keys() - found.keys():
        app.command(name=name, help=OF_THE_POLICIES[name], context_settings=anything)(_is_elsewhere)
    for name, entry in sorted(found.items()):
        app.command(name=name)(entry.load())


app.command()(discover)
app.command()(check_webhooks)
app.command()(doctor)
app.command()(exports)
_add_commands_of_other_packages()
