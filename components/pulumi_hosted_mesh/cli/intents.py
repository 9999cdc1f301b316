"""`hosted-mesh intents`: arguments of compile, explain, matrix, diff and import, and their output."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.input_files import document_of
from pulumi_hosted_mesh.intents import emco, page, show
from pulumi_hosted_mesh.intents.calls import parse_call
from pulumi_hosted_mesh.intents.compiled import Compiled
from pulumi_hosted_mesh.intents.compiler import compile_intents, with_intents
from pulumi_hosted_mesh.intents.matrix import diff, explain, matrix
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory

app = typer.Typer(
    name="intents",
    help="Compile traffic intents, and answer questions about permitted calls. No cluster is touched.",
    no_args_is_help=True,
)


class CallsOutput(StrEnum):
    """Formats of the output."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


Document = Annotated[Path, typer.Argument(help="An intents document, YAML.", show_default=False)]
InventoryFile = Annotated[Path, typer.Argument(help="An inventory, YAML.", show_default=False)]
OutputOption = Annotated[CallsOutput, typer.Option("--output", "-o", help="Format. `html` is for matrix.")]


@app.command(name="compile")
def compile_command(
    document: Document,
    inventory: InventoryFile,
    cluster: Annotated[str | None, typer.Option(help="One cluster; by default all.")] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write a file for each cluster, and the rendered files, into this folder.")
    ] = None,
    federation: Annotated[
        Path | None, typer.Option(help="A federation document; prints it with the intents' exports and imports.")
    ] = None,
) -> None:
    """Print the objects of each cluster as YAML. Pending intents are on standard error."""
    with plain_errors():
        compiled, places = _compiled(document, inventory)
        if cluster is not None and cluster not in {one.name for one in places.clusters}:
            known = ", ".join(sorted(one.name for one in places.clusters))
            problem = Problem("--cluster", f"is {cluster}, which the inventory does not have", f"Use one of {known}")
            raise InvalidInputError([problem], "the command line")
        if federation is not None:
            united = with_intents(document_of(Federation, federation), compiled)
            shown = united.model_dump(mode="json", by_alias=True, exclude_unset=True)
            print(yaml_text.dump(shown), end="")
            return
    for waiting in compiled.pending:
        print(f"pending: intent {waiting.intent}: {waiting.reason}", file=sys.stderr)
    chosen = {name: those for name, those in compiled.objects.items() if cluster in (None, name)}
    if output_dir is None:
        for name, objects in chosen.items():
            for one in objects:
                print(f"---\n# cluster {name}\n{yaml_text.dump(one)}", end="")
        return
    texts = {f"{name}.yaml": "---\n".join(map(yaml_text.dump, objects)) for name, objects in chosen.items()}
    for path, text in {**texts, **compiled.files}.items():
        file = output_dir / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(file)


@app.command(name="explain")
def explain_command(
    call: Annotated[str, typer.Argument(help='"bookinfo/productpage -> bookinfo/reviews:9080 GET /reviews/1"')],
    document: Document,
    inventory: InventoryFile,
    claim: Annotated[list[str] | None, typer.Option(help="A claim of the caller's token, NAME=VALUE.")] = None,
    output: OutputOption = CallsOutput.TABLE,
) -> None:
    """Print the verdict of one call, with its intents and objects. Exit code 3 if the call is not allowed."""
    with plain_errors():
        compiled, places = _compiled(document, inventory)
        given = parse_call(call, dict(one.partition("=")[::2] for one in claim or ()))
        verdict = explain(compiled, places, given)
    if output is CallsOutput.JSON:
        print(json.dumps({"call": str(given), **asdict(verdict)}, indent=2))
    else:
        print(show.verdict(given, verdict), end="")
    if not verdict.allowed:
        raise typer.Exit(3)


@app.command(name="matrix")
def matrix_command(document: Document, inventory: InventoryFile, output: OutputOption = CallsOutput.TABLE) -> None:
    """Print all callers by all callees. `--output html > matrix.html` writes a page with a picture."""
    with plain_errors():
        compiled, places = _compiled(document, inventory)
        found = matrix(compiled, places)
    if output is CallsOutput.JSON:
        cells = [asdict(one) for one in found.cells.values()]
        print(json.dumps({"callers": found.callers, "callees": found.callees, "cells": cells}, indent=2))
    elif output is CallsOutput.HTML:
        name = document_of(Intents, document)
        print(page.html(found, compiled, f"{name.application} {name.version}"), end="")
    else:
        print(show.matrix(found), end="")


@app.command(name="diff")
def diff_command(
    before: Annotated[Path, typer.Argument(help="The intents document before the change.", show_default=False)],
    after: Annotated[Path, typer.Argument(help="The intents document after it.", show_default=False)],
    inventory: InventoryFile,
    inventory_after: Annotated[Path | None, typer.Option(help="The inventory after the change, if it changes.")] = None,
    output: OutputOption = CallsOutput.TABLE,
) -> None:
    """Print the calls that a change opens and closes. Exit code 3 if there is one."""
    with plain_errors():
        old, places = _compiled(before, inventory)
        new, new_places = _compiled(after, inventory_after or inventory)
        changes = diff(matrix(old, places), matrix(new, new_places))
    if output is CallsOutput.JSON:
        print(json.dumps([asdict(one) for one in changes], indent=2))
    else:
        print(show.changes(changes), end="")
    if changes:
        raise typer.Exit(3)


importing = typer.Typer(help="Make an intents document of another tool's.", no_args_is_help=True)
app.add_typer(importing, name="import")


@importing.command(name="emco")
def import_emco(
    source: Annotated[Path, typer.Argument(help="A file or a folder with EMCO's JSON or YAML.", show_default=False)],
    project: Annotated[str | None, typer.Option(help="The project, if the source does not name it.")] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of services; EMCO takes the logical cloud's.")] = "default",
    domain: Annotated[str | None, typer.Option(help="DNS suffix of inbound hosts, if none has a name.")] = None,
) -> None:
    """Print an intents document made of EMCO's traffic intents. Fields without a counterpart are on standard error."""
    with plain_errors():
        found = emco.imported(emco.read(source), project=project, namespace=namespace, domain=domain)
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(yaml_text.dump(found.document), end="")


def _compiled(document: Path, inventory: Path) -> tuple[Compiled, Any]:
    """Raises: InvalidInputError."""
    places = document_of(Inventory, inventory)
    return compile_intents(document_of(Intents, document), places), places
