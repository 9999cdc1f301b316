"""`hosted-mesh validate`: a document, or a stack's file with those in it, and what is said of them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from pulumi_hosted_mesh.assembly.deployment_plan import planned
from pulumi_hosted_mesh.cli import stack_file
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.given import document_of, text_of
from pulumi_hosted_mesh.cli.report import JsonOption
from pulumi_hosted_mesh.dns import plan
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.imports import left_out
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.load import parsed, read
from pulumi_hosted_mesh.spec.mesh import Mesh


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


DOCUMENTS: Final[Mapping[Kind, type[Model]]] = {
    Kind.MESH: Mesh,
    Kind.DATA_PLANE: DataPlane,
    Kind.ENDPOINT: EndpointDocument,
    Kind.DEPLOYMENT: Deployment,
    Kind.FEDERATION: Federation,
    Kind.OFFER: Offer,
    Kind.DNS: DnsBridge,
}


@dataclass(frozen=True)
class _Checked:
    """A document that can be used. said: a line for each thing that is worth it. warnings: what may not be meant."""

    said: list[str]
    warnings: list[Problem]


def validate(
    document: Annotated[Path, typer.Argument(help="A document, YAML; `-` reads a pipe.", show_default=False)],
    kind: Annotated[Kind, typer.Option(help="What it is.")] = Kind.MESH,
    offers: Annotated[
        list[Path] | None,
        typer.Option("--offer", help="Of a federation: what a peer exports, as `exports` prints it; several times."),
    ] = None,
    is_json: JsonOption = False,
) -> None:
    """Check a document: exit code 0 and one line if it can be used, else 1 and one line per problem.

    What can be used and may not be meant is a warning, as of a federation what an import leaves out.
    With --json: ok, said, warnings and problems, each of these with field, rule, fix.
    """
    if not is_json:
        with plain_errors():
            found = _checked(document, kind, offers or [])
        for warning in found.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        for line in found.said:
            print(f"{document}: {line}")
        return
    try:
        found, problems = _checked(document, kind, offers or []), list[Problem]()
    except InvalidInputError as mistake:
        found, problems = _Checked([], []), list(mistake.problems)
    about = {"document": str(document), "kind": kind.value, "ok": not problems, "said": found.said}
    lists = {"warnings": found.warnings, "problems": problems}
    print(json.dumps({**about, **{key: [asdict(one) for one in those] for key, those in lists.items()}}, indent=2))
    if problems:
        raise typer.Exit(1)


def _checked(document: Path, kind: Kind, offers: Sequence[Path]) -> _Checked:
    """Raises: InvalidInputError."""
    if offers and kind is not Kind.FEDERATION:
        problem = Problem("--offer", f"is of a federation, and this is of kind {kind}", "Leave it out")
        raise InvalidInputError([problem], "the command line")
    content = parsed(text_of(document), str(document))
    if kind is Kind.STACK:
        return _Checked(*stack_file.checked(content, document))
    try:
        found = read(DOCUMENTS[kind], content, str(document))
    except InvalidInputError:
        if others := _kinds_of(content):
            print(f"{document} fits another kind of document: --kind {' or '.join(others)}", file=sys.stderr)
        raise
    warnings = list[Problem]()
    if isinstance(found, DnsBridge):
        warnings = plan.warnings(found)
    elif isinstance(found, Federation):
        warnings = list(_not_imported(found, [document_of(Offer, one) for one in offers]))
    return _Checked(list(told(found)), warnings)


def _not_imported(federation: Federation, given: Sequence[Offer]) -> Iterator[Problem]:
    """What each peer's imports leave out, and of whose exports that cannot be told."""
    offers = with_declared(federation, given)
    unknown = {one.mesh for one in federation.peers} - {one.mesh for one in offers}
    for peer in federation.peers:
        yield from left_out(federation, peer.mesh, offers)
        for mesh in sorted(unknown & {mesh for one in peer.imports for mesh in one.meshes}):
            rule = f"takes what {mesh} exports by labels, of which the document does not tell what it leaves out"
            yield Problem(f"imports of {peer.mesh}", rule, f"Give `--offer` with what `exports --mesh {mesh}` prints")


def _kinds_of(content: object) -> list[str]:
    """The kinds of document that something is one of, without a problem; a stack's file by its keys alone."""
    fitting = [Kind.STACK.value] if stack_file.is_one(content) else []
    for kind, model in DOCUMENTS.items():
        with contextlib.suppress(InvalidInputError):
            read(model, content)
            fitting.append(kind.value)
    return fitting


def told(document: Model) -> Iterator[str]:
    """What `validate` says of a document that can be used."""
    match document:
        case Mesh():
            istiods = ", ".join(f"{revision.name} at {revision.host}" for revision in document.revisions)
            yield f"mesh {document.name}, trust domain {document.domain}, istiod {istiods}"
            if len(document.memberships) > 1:
                yield f"Istio's objects are read in membership {document.memberships[0].name} alone, the config cluster"
        case DataPlane():
            yield f"membership {document.name} of mesh {document.mesh}"
        case EndpointDocument():
            yield f"revision {document.revision} of mesh {document.mesh}, istiod at {document.host}"
        case Federation():
            yield f"federation {document.name} of {', '.join(sorted(one.mesh for one in document.peers))}"
        case Deployment():
            for one in planned(document):
                yield f"{one.cluster.name} gets mesh {one.mesh.name}, trust domain {one.mesh.domain}"
        case Offer():
            yield f"{len(document.services)} services that {document.mesh} offers"
        case DnsBridge():
            for pair in (*plan.pairs(document), *plan.own_pairs(document)):
                yield f"{pair.edge.name} by {pair.provider.id} in {', '.join(pair.include)}"
