"""`hosted-mesh diff`: the effect of a program's change, stack by stack, for a pull request."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..runner import options
from .request import DiffRequest

Program = Annotated[Path, typer.Argument(help="Folder of a Pulumi project in Python.")]
Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        help="The other version: a commit, a branch, or a folder. Default: where HEAD left the default branch.",
        show_default=False,
    ),
]
Stacks = Annotated[list[str] | None, typer.Option("--stack", help="Stack to compare. Default: all that have a file.")]
From = Annotated[Path | None, typer.Option("--from", help="Run nothing: show a file written by --json, of any origin.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown: one comment.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="End with 1 if a stack differs.")]
Charts = Annotated[
    list[Path] | None, typer.Option("--charts", help="Folder with archives of Helm charts, NAME-VERSION.tgz.")
]
ChartRepositories = Annotated[
    list[str] | None,
    typer.Option("--chart-repository", help="Repository to fetch charts from, besides Istio's own."),
]
Whole = Annotated[bool, typer.Option("--all", help="Print also the folded changes of charts.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Run every stack, also those with unchanged files.")]
Html = Annotated[bool, typer.Option("--html", help="Print one page of HTML, with a drawing of each changed stack.")]


class Host(StrEnum):
    """Hosts of repositories with comments at lines."""

    GITHUB = "github"
    GITLAB = "gitlab"


Review = Annotated[
    Host | None, typer.Option("--review", help="Print comments at the lines that cause changes, as requests' bodies.")
]
Live = Annotated[
    bool,
    typer.Option("--live", help="Add `pulumi preview` of changed stacks, with this machine's logins. Never for forks."),
]
Offline = Annotated[bool, typer.Option("--offline", help="Fetch no chart.")]


def diff(
    program: Program = Path(),
    base: Base = None,
    stack: Stacks = None,
    read: From = None,
    control_plane: options.ControlPlane = None,
    data_plane: options.DataPlane = None,
    policy_config: options.PolicyConfig = None,
    stack_outputs: options.StackOutputs = None,
    python: options.Python = None,
    as_markdown: Markdown = False,
    as_json: options.AsJson = False,
    output: options.Output = None,
    exit_code: ExitCode = False,
    charts: Charts = None,
    chart_repository: ChartRepositories = None,
    offline: Offline = False,
    whole: Whole = False,
    no_cache: NoCache = False,
    as_html: Html = False,
    live: Live = False,
    review: Review = None,
) -> None:
    """Show what a change of a program changes: stack by stack, cluster by cluster.

    Runs the program of the working tree and of the base as an update would, and
    compares their resources. No engine, login, cluster or credential is
    necessary: the programs get made-up secrets, the same for both versions, and
    have no network. Nothing is created. But a hostile program can read the
    files of its machine: for forks, use a job without secrets.

    Each version runs twice, with different secrets. A value that differs
    between the two runs depends on a secret: the report shows \\[secret], and
    compares it run by run. The same holds for values that are marked secret or
    look like a credential.

    Helm, if it is on PATH, renders charts. Charts of repositories are fetched
    from Istio's own and those of --chart-repository, into the user's cache.

    Unchanged stacks are counted and not shown.

    \b
    hosted-mesh diff                           # the project here, since it left the default branch
    hosted-mesh diff app --base HEAD^1 --markdown --output comment.md
    hosted-mesh diff app --base v1.2 --stack prod --exit-code
    hosted-mesh diff --from diff.json --markdown
    hosted-mesh diff --from diff.json --html --output diff.html

    Exit code 0: done. 1: a stack differs, with --exit-code. 2: a stack could not be run or read.
    """
    request = DiffRequest(
        folder=program,
        base=base,
        stacks=tuple(stack or ()),
        read=read,
        control_plane=tuple(control_plane or ()),
        data_plane=tuple(data_plane or ()),
        policy_config=policy_config,
        stack_outputs=tuple(stack_outputs or ()),
        python=python,
        as_markdown=as_markdown,
        as_json=as_json,
        output=output,
        tells_differences=exit_code,
        charts=tuple(charts or ()),
        chart_repositories=tuple(chart_repository or ()),
        fetch=not offline,
        whole=whole,
        cache=not no_cache,
        as_html=as_html,
        live=live,
        review=review.value if review else None,
    )
    # gRPC would log the end of its peer on standard error. The process that runs programs inherits this.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Here, so that other commands start fast.
    from .session import perform  # noqa: PLC0415

    raise typer.Exit(perform(request))


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(diff)

if __name__ == "__main__":
    app()
