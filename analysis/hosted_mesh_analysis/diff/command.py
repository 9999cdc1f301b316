"""`hosted-mesh diff`: what a change of a program changes, stack by stack, for a pull request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..prove import options
from .request import Request

Program = Annotated[Path, typer.Argument(help="Folder of a Pulumi project in Python.")]
Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        help="What to compare with: a commit, a branch, or a folder. Default: where HEAD left the default branch.",
        show_default=False,
    ),
]
Stacks = Annotated[list[str] | None, typer.Option("--stack", help="Stack to compare. Default: all that have a file.")]
From = Annotated[
    Path | None, typer.Option("--from", help="Run nothing: show what --json has written, whoever has written it.")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown: one comment.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="End with 1 if something differs.")]


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
) -> None:
    """Show what a change of a program changes: stack by stack, cluster by cluster.

    Runs the program of the working tree and that of the base as an update
    would, and compares what they register. It needs no engine, no login, no
    cluster and no credential: the programs are given made-up secrets, the same
    for both versions, and have no network. Nothing is created. But a program
    that is hostile can look around on the machine on which it runs: run it for
    forks where there is nothing to find, in a job without secrets.

    Each version runs twice, with other secrets. What is not the same in both
    runs depends on a secret: it is shown as [secret], and whether it changed is
    told run by run. So is what is marked secret, or looks like a credential.

    Stacks that do not change are counted and not shown.

    \b
    hosted-mesh diff                           # the project here, since it left the default branch
    hosted-mesh diff app --base HEAD^1 --markdown --output comment.md
    hosted-mesh diff app --base v1.2 --stack prod --exit-code
    hosted-mesh diff --from diff.json --markdown

    Exit code 0: done. 1: something differs, with --exit-code. 2: something could not be run or read.
    """
    request = Request(
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
    )
    # gRPC would log on standard error that its peer has ended. The process that runs programs has it from here.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Here, so that the other commands need not wait for it.
    from .session import perform  # noqa: PLC0415

    raise typer.Exit(perform(request))


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(diff)

if __name__ == "__main__":
    app()
