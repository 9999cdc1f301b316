"""`hosted-mesh scan`: the policies on files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..configuration import UnusableConfigurationError, at_their_levels, check
from ..evaluation.context import Context
from ..evaluation.finding import Finding
from ..evaluation.rule import Rule, judge
from ..evaluation.settings import Settings
from ..plan.model import Stack
from ..rules.catalogue import RULES
from .report import as_json, as_sarif, as_text
from .sources import UnreadableError, from_paths, why
from .summary import summary


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def findings_in(
    stacks: Sequence[Stack],
    settings: Settings,
    ambient: Mapping[str, str] | None = None,
    rules: Sequence[Rule] = RULES,
) -> list[Finding]:
    """Everything that the rules say about stacks."""
    found: list[Finding] = []
    for stack in stacks:
        context = Context(stack, settings, ambient or {})
        for rule in rules:
            found += judge(rule, context)
    return found


def scan(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="State files, previews' JSON, manifests or folders of them; `-` reads a pipe.", show_default=False
        ),
    ],
    control_plane: Annotated[
        list[Path] | None,
        typer.Option("--control-plane", help="Manifests of the control plane; their Secrets are looked for."),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="The policy pack's configuration, JSON.")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    is_sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0.")] = False,
    output: Annotated[Path | None, typer.Option("--output", help="Write there instead of printing.")] = None,
    form: Annotated[Format, typer.Option("--format", hidden=True)] = Format.TEXT,  # as the two were called before
) -> None:
    """Look for control-plane credentials that reach data planes, and for the other mandatory policies' faults.

    pulumi stack export | hosted-mesh scan -

    Exit code 0: nothing mandatory found; 1: something found; 2: something could not be read or written, or nothing was
    there to judge. What was judged is said on standard error.
    """
    asked = {form, *([Format.JSON] if is_json else []), *([Format.SARIF] if is_sarif else [])} - {Format.TEXT}
    if len(asked) > 1:
        print("--json and --sarif exclude each other. Give one of them", file=sys.stderr)
        raise typer.Exit(2)
    try:
        settings, rules = _configuration(config)
        stacks, empty = from_paths(paths, control_plane or ())
        found = findings_in(stacks, settings, os.environ, rules)
    except (UnreadableError, UnusableConfigurationError) as problem:
        print(problem, file=sys.stderr)
        raise typer.Exit(2) from None
    text = {
        Format.TEXT: lambda: as_text(found, rules),
        Format.JSON: lambda: as_json(found, rules),
        Format.SARIF: lambda: as_sarif(found, rules, str(paths[0])),
    }[next(iter(asked), Format.TEXT)]()
    if output is None:
        print(text)
    else:
        try:
            output.write_text(text + "\n", encoding="utf-8")
        except OSError as problem:
            print(f"--output {output}: cannot be written: {why(problem)}", file=sys.stderr)
            raise typer.Exit(2) from None
    for path in empty:
        print(f"{path}: no state, preview or Kubernetes object in it, so nothing of it was judged", file=sys.stderr)
    for line in summary(stacks, settings.clusters):
        print(line, file=sys.stderr)
    mandatory = {rule.name for rule in rules if rule.mandatory}
    raise typer.Exit(int(any(finding.rule in mandatory for finding in found)))


def _configuration(path: Path | None) -> tuple[Settings, tuple[Rule, ...]]:
    """From a file of the form that `--policy-pack-config` takes."""
    if path is None:
        return Settings(), RULES
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UnreadableError(f"--config {path}: cannot be read as JSON: {why(problem)}") from None
    if not isinstance(data, dict):
        fix = "Give the file of --policy-pack-config"
        raise UnreadableError(f"--config {path}: is not a mapping of policies to settings. {fix}")
    check(data)
    settings = Settings.read({name: values for name, values in data.items() if isinstance(values, dict)})
    return settings, at_their_levels(data)


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(scan)

if __name__ == "__main__":
    app()
