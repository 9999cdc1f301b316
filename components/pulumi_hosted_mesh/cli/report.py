"""Prints a report of checks, as text or JSON, and sets the exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final

import typer

from pulumi_hosted_mesh.operations import verdict
from pulumi_hosted_mesh.operations.verdict import Verdict

FAILED: Final = 3


class Output(StrEnum):
    """Forms of a report."""

    TEXT = "text"
    JSON = "json"


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# The former name: in scan and prove, `--output` is a file.
OutputOption = Annotated[Output, typer.Option("--output", "-o", hidden=True)]


def print_report(verdicts: Sequence[Verdict], output: Output, **about: str) -> None:
    """Prints the verdicts. about: subject of the checks, first in JSON. Raises: typer.Exit(3) if a check failed."""
    if output is Output.JSON:
        print(json.dumps({**about, **verdict.report(verdicts)}, indent=2))
    else:
        for one in verdicts:
            print(one)
    if not all(one.ok for one in verdicts):
        raise typer.Exit(FAILED)
