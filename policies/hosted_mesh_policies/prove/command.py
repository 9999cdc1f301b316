"""`hosted-mesh prove`: runs a program with other secrets and compares what its data planes are sent."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def prove(
    program: Annotated[
        Path, typer.Argument(help="Folder of a Pulumi project: in Python, or in any language with --preview.")
    ] = Path(),
    stack: Annotated[str, typer.Option("--stack", help="Stack whose Pulumi.<stack>.yaml is read.")] = "dev",
    config_file: Annotated[
        Path | None, typer.Option("--config-file", help="Configuration file to read instead.")
    ] = None,
    control_plane: Annotated[
        list[str] | None,
        typer.Option(
            "--control-plane",
            help="The control plane's: an API server's address, or a Pulumi provider's name or URN; * matches all.",
        ),
    ] = None,
    data_plane: Annotated[
        list[str] | None, typer.Option("--data-plane", help="What is a data plane's, in the same way.")
    ] = None,
    policy_config: Annotated[
        Path | None, typer.Option("--policy-config", help="Take both from the policy pack's configuration, JSON.")
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", help="Configuration key that is secret although it is written plain."),
    ] = None,
    stack_outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--stack-outputs",
            help="STACK=FILE: what `pulumi stack output --json` prints of a stack that is referred to.",
        ),
    ] = None,
    data_plane_owned: Annotated[
        list[str] | None,
        typer.Option("--data-plane-owned", help="Name of a secret, as the table has it, that is a data plane's own."),
    ] = None,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Use the engine's previews: for any language, and with provider plug-ins."),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            help="What has no secret in it: a function that is called, a component of another package, a dynamic "
            "resource. With --preview also what stays as it is: a variable or configuration key that a plug-in logs in "
            "with, a file, a resource that is read. What depends on it is not seen.",
        ),
    ] = None,
    state: Annotated[
        bool,
        typer.Option(
            "--state", help="With --preview: start from what the stack has, as `pulumi stack export` tells it."
        ),
    ] = False,
    state_file: Annotated[
        Path | None,
        typer.Option("--state-file", help="Start from what `pulumi stack export --show-secrets` has written."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=64, help="How many sets of fresh secrets.")] = 3,
    python: Annotated[str | None, typer.Option("--python", help="The program's Python.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0.")] = False,
    output: Annotated[Path | None, typer.Option("--output", help="Write there instead of printing.")] = None,
) -> None:
    """Prove that what data planes are sent does not depend on the control plane's secrets.

    Runs the program several times as an update would, each time with every
    secret made up anew: keys, passwords, tokens, kubeconfigs, secret
    configuration, other stacks' outputs. What a data plane is then sent
    differently depends on a secret, whatever disguised it: base85, pieces, a
    count of letters. It needs no engine, no login and no cluster: nothing is
    created, no credential of this machine is given to the program, and it has
    no network.

    A generated secret that the program keeps on the control plane is the
    control plane's; one that only a data plane gets is that one's own.
    Certificates and public keys pass: a run with other private keys and the
    same public ones shows what depends on no more than these.

    --preview does the same with the real engine, for programs in any language
    and those that need their plug-ins. It previews a copy of the project, in a
    private folder, with a stack, a backend and a passphrase of its own: your
    stack is not touched, its encrypted values are not read, nothing is created.
    Secrets from configuration, files of the project, variables and
    --stack-outputs are made up anew. Plug-ins may talk to their servers, with
    made-up credentials unless --keep says otherwise. What only an update knows
    is not decided: --state starts from what the stack has made already, with
    its secrets made up anew. That needs your login and passphrase.

    \b
    hosted-mesh prove                          # the project here, stack dev
    hosted-mesh prove app --stack prod --control-plane https://10.0.0.1:6443
    hosted-mesh prove app --preview --stack prod --keep KUBECONFIG
    hosted-mesh prove app --preview --stack prod --state
    hosted-mesh prove app --policy-config clusters.json --sarif --output out.sarif

    Exit code 0: proven. 1: something depends on a secret. 2: something could not be run or decided.
    """
    # gRPC would log on standard error that its peer has ended. It reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Here, so that the other commands need not wait for gRPC.
    from .session import Request, Sources, perform  # noqa: PLC0415

    request = Request(
        folder=program,
        stack=stack,
        config_file=config_file,
        sources=Sources(tuple(secret or ()), tuple(stack_outputs or ()), tuple(data_plane_owned or ())),
        control_plane=tuple(control_plane or ()),
        data_plane=tuple(data_plane or ()),
        policy_config=policy_config,
        rounds=rounds,
        python=python,
        form="json" if as_json else "sarif" if as_sarif else "table",
        output=output,
        preview=preview,
        keep=tuple(keep or ()),
        state=state,
        state_file=state_file,
    )
    if as_json and as_sarif:
        print("--json and --sarif exclude each other. Give one of them", file=sys.stderr)
        raise typer.Exit(2)
    if state and state_file:
        print("--state and --state-file exclude each other. Give one of them", file=sys.stderr)
        raise typer.Exit(2)
    if (state or state_file) and not preview:
        print("--state: is of use with --preview alone. Add --preview, or leave it out", file=sys.stderr)
        raise typer.Exit(2)
    if preview and python:
        print("--python: is of no use with --preview: the engine chooses. Leave it out", file=sys.stderr)
        raise typer.Exit(2)
    raise typer.Exit(perform(request))


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(prove)

if __name__ == "__main__":
    app()
