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
from hosted_mesh_plan.model import Stack

from ..configuration import UnusableConfigurationError, at_their_levels, check
from ..evaluation.context import Context
from ..evaluation.finding import Finding
from ..evaluation.rule import Rule, judge
from ..evaluation.settings import Settings
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
    """The rules' verdicts on stacks."""
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
        typer.Option("--control-plane", help="Manifests of the control plane. Their Secrets must stay there."),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="The policy pack's configuration, JSON.")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    is_sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write to this file instead of standard output.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", hidden=True)] = Format.TEXT,  # the former option
) -> None:
    """Judge files by the policies: does a control-plane credential reach a data plane?

    pulumi stack export | hosted-mesh scan -

    Standard error has a count of the judged objects.

    Exit code 0: no mandatory finding. 1: a mandatory finding. 2: no object, or an unreadable or unwritable file.
    """
    asked = {form, *([Format.JSON] if is_json else []), *([Format.SARIF] if is_sarif else [])} - {Format.TEXT}
    if len(asked) > 1:
        print("--json and --sarif exclude each other. Give one of them", file=sys.stderr)
        raise typer.Exit(2)
    try:
        settings, rules = _configuration(config)
        unreadable: list[UnreadableError] = []
        stacks, empty = from_paths(paths, control_plane or (), unreadable)
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
        print(f"{path}: has no state, preview or Kubernetes object, so it was not judged", file=sys.stderr)
    for line in summary(stacks, settings.clusters):
        print(line, file=sys.stderr)
    for one in unreadable:
        print(one, file=sys.stderr)
    mandatory = {rule.name for rule in rules if rule.mandatory}
    is_found = any(finding.rule in mandatory and not finding.advisory for finding in found)
    raise typer.Exit(1 if is_found else 2 if unreadable else 0)


def _configuration(path: Path | None) -> tuple[Settings, tuple[Rule, ...]]:
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
