"""`hosted-mesh validate`: checks a document, or a stack's file with its documents."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh.applications.document import with_manifests
from pulumi_hosted_mesh.applications.placement import clusters_of, placed
from pulumi_hosted_mesh.assembly.deployment_plan import planned
from pulumi_hosted_mesh.cli import stack_file
from pulumi_hosted_mesh.cli.closing_line import closing_line
from pulumi_hosted_mesh.cli.document_kinds import DOCUMENTS, DocumentKind, kinds_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.input_files import document_of, text_of
from pulumi_hosted_mesh.cli.report import JsonOption
from pulumi_hosted_mesh.clusters.document_references import references_in
from pulumi_hosted_mesh.dns import plan
from pulumi_hosted_mesh.federation.copies import disagreements
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.federation.imports import notices, require_usable
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.application import Application
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import content_of_text, read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.spec.operators import Operators


@dataclass(frozen=True)
class _Checked:
    """A valid document. said: lines that describe it. warnings: probable mistakes."""

    said: list[str]
    warnings: list[Problem]


def validate(
    document: Annotated[Path, typer.Argument(help="A document, YAML; `-` reads a pipe.", show_default=False)],
    kind: Annotated[DocumentKind, typer.Option(help="Kind of the document.")] = DocumentKind.MESH,
    offers: Annotated[
        list[Path] | None,
        typer.Option("--offer", help="For a federation: a peer's offer, as `exports` prints it; repeatable."),
    ] = None,
    copies: Annotated[
        list[Path] | None,
        typer.Option("--copy", help="For a federation: another owner's copy, which has to be the same; repeatable."),
    ] = None,
    is_json: JsonOption = False,
) -> None:
    """Check a document: exit code 0 and its description if it is valid, else 1 and one line per problem.

    Probable mistakes are warnings, such as offered services that a federation's import does not include.
    With --json: ok, `said` (the description), warnings and problems, each with field, rule, fix.
    """
    if not is_json:
        with plain_errors():
            found = _checked(document, kind, offers or [], copies or [])
        for warning in found.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        for line in found.said:
            print(f"{document}: {line}")
        return
    try:
        found, problems = _checked(document, kind, offers or [], copies or []), list[Problem]()
    except InvalidInputError as mistake:
        found, problems = _Checked([], []), list(mistake.problems)
    about = {"document": str(document), "kind": kind.value, "ok": not problems, "said": found.said}
    lists = {"warnings": found.warnings, "problems": problems}
    print(json.dumps({**about, **{key: [asdict(one) for one in those] for key, those in lists.items()}}, indent=2))
    if problems:
        raise typer.Exit(1)


def _checked(document: Path, kind: DocumentKind, offers: Sequence[Path], copies: Sequence[Path]) -> _Checked:
    """Raises: InvalidInputError."""
    for option, given in (("--offer", offers), ("--copy", copies)):
        if given and kind is not DocumentKind.FEDERATION:
            problem = Problem(option, f"requires a federation, but the document's kind is {kind}", "Remove it")
            raise InvalidInputError([problem], "the command line")
    content = content_of_text(text_of(document), str(document))
    if kind is DocumentKind.STACK:
        return _Checked(*stack_file.checked(content, document))
    try:
        found = read_document(DOCUMENTS[kind], content, str(document))
    except InvalidInputError:
        if others := kinds_of(content):
            print(f"{document} is valid as another kind: --kind {' or '.join(others)}", file=sys.stderr)
        raise
    warnings = list[Problem]()
    if isinstance(found, Application):
        found = with_manifests(found, document.parent)
        placed(found)
    elif isinstance(found, DnsBridge):
        warnings = plan.warnings(found)
    elif isinstance(found, Federation):
        offered = [document_of(Offer, one) for one in offers]
        _require_imports(found, offered)
        if problems := [
            problem for one in copies for problem in disagreements(found, document_of(Federation, one), str(one))
        ]:
            raise InvalidInputError(problems, str(document))
        warnings = list(_not_imported(found, offered))
    read, unread = references_in(found, str(document))
    return _Checked([*description(found), closing_line(kind, read, unread)], [*warnings, *unread])


def _require_imports(federation: Federation, given: Sequence[Offer]) -> None:
    """Rejects imports that `up` rejects, as far as the document and the offers show them.

    Raises: InvalidInputError.
    """
    offers = with_declared(federation, given)
    for peer in federation.peers:
        require_usable(federation, peer.mesh, offers)


def _not_imported(federation: Federation, given: Sequence[Offer]) -> Iterator[Problem]:
    """Offered services that the peers' imports do not include, and peers without an offer."""
    offers = with_declared(federation, given)
    unknown = {one.mesh for one in federation.peers} - {one.mesh for one in offers}
    for peer in federation.peers:
        yield from notices(federation, peer.mesh, offers)
        for mesh in sorted(unknown & {mesh for one in peer.imports for mesh in one.meshes}):
            rule = f"cannot be checked: {mesh} exports by labels, and its offer is missing"
            yield Problem(f"imports of {peer.mesh}", rule, f"Add `--offer` with the output of `exports --mesh {mesh}`")


def description(document: Model) -> Iterator[str]:
    """Lines that describe a valid document."""
    match document:
        case Mesh():
            istiods = ", ".join(f"{revision.name} at {document.host_of(revision)}" for revision in document.revisions)
            yield f"mesh {document.name}, trust domain {document.domain}, istiod {istiods}"
            if len(document.memberships) > 1:
                config = document.memberships[0].name
                yield f"istiod reads Istio's objects only in membership {config}, the config cluster"
        case DataPlane():
            yield f"membership {document.name} of mesh {document.mesh}"
        case EndpointDocument():
            yield f"revision {document.revision} of mesh {document.mesh}, istiod at {document.host}"
        case Federation():
            yield f"federation {document.name} of {', '.join(sorted(one.mesh for one in document.peers))}"
        case Deployment():
            for one in planned(document):
                yield f"{one.cluster.name} gets mesh {one.mesh.name}, trust domain {one.mesh.domain}"
        case Application():
            for part in document.parts:
                yield f"part {part.name}, {len(part.manifests)} objects, in {', '.join(clusters_of(document, part))}"
        case Offer():
            yield f"{len(document.services)} services that {document.mesh} offers"
        case Intents():
            count = sum(1 for _ in document.all())
            yield f"{count} intents of project {document.project}, application {document.application}"
        case Inventory():
            yield f"{len(document.clusters)} clusters, {len(document.services)} services"
        case Observability():
            parts = {"collector": document.collector.placement, "Prometheus": document.prometheus.placement}
            placed = ", ".join(f"{name}: {placement}" for name, placement in parts.items())
            yield f"mesh {document.mesh}, {placed}, access logs: {document.access_logs}"
        case Operators():
            yield f"hosted cluster {document.name}, OLM in namespace {document.control_plane_namespace}"
            for catalog in document.catalogs:
                place = "the control plane" if catalog.is_served else catalog.address
                yield f"catalog {catalog.name}, served by {place}{'' if catalog.listed else ', not listed'}"
        case DnsBridge():
            for pair in (*plan.pairs(document), *plan.own_pairs(document)):
                yield f"{pair.edge.name} by {pair.provider.id} in {', '.join(pair.include)}"
