"""`hosted-mesh validate`: a document, or a stack's file with those in it, and what is said of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from pulumi_hosted_mesh.assembly.deployment_plan import planned
from pulumi_hosted_mesh.cli import stack_file
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.given import text_of
from pulumi_hosted_mesh.dns import plan
from pulumi_hosted_mesh.problems import InvalidInputError
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


def validate(
    document: Annotated[Path, typer.Argument(help="A document, YAML; `-` reads a pipe.", show_default=False)],
    kind: Annotated[Kind, typer.Option(help="What it is.")] = Kind.MESH,
) -> None:
    """Check a document: exit code 0 and one line if it can be used, else 1 and one line per problem."""
    with plain_errors():
        content = parsed(text_of(document), str(document))
        if kind is Kind.STACK:
            for line in stack_file.checked(content, document):
                print(f"{document}: {line}")
            return
        try:
            found = read(DOCUMENTS[kind], content, str(document))
        except InvalidInputError:
            if others := _kinds_of(content):
                print(f"{document} fits another kind of document: --kind {' or '.join(others)}", file=sys.stderr)
            raise
        if isinstance(found, DnsBridge):
            for warning in plan.warnings(found):
                print(f"warning: {warning}", file=sys.stderr)
        for line in told(found):
            print(f"{document}: {line}")


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
