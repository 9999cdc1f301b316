"""`hosted-mesh prove`: runs a program with different secrets and compares its data planes' resources."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from ..runner import options
from .request import ProveRequest, Sources


def prove(
    program: options.Program = Path(),
    stack: options.Stack = "dev",
    config_file: options.ConfigFile = None,
    control_plane: options.ControlPlane = None,
    data_plane: options.DataPlane = None,
    policy_config: options.PolicyConfig = None,
    secret: options.SecretKeys = None,
    stack_outputs: options.StackOutputs = None,
    data_plane_owned: options.DataPlaneOwned = None,
    preview: options.Preview = False,
    keep: options.Keep = None,
    state: options.State = False,
    state_file: options.StateFile = None,
    rounds: options.Rounds = 3,
    python: options.Python = None,
    as_json: options.AsJson = False,
    as_sarif: options.AsSarif = False,
    output: options.Output = None,
) -> None:
    """Prove that no resource of a data plane depends on the control plane's secrets.

    Runs the program several times as an update would, each time with new
    made-up secrets: keys, passwords, tokens, kubeconfigs, secret configuration,
    other stacks' outputs. A property of a data plane that differs between runs
    depends on a secret, in any disguise: base85, pieces, a count of letters. No
    engine, login or cluster is necessary. Nothing is created. The program has
    no network and no credential of this machine.

    A generated secret that the program keeps on the control plane belongs to
    the control plane. A secret that only one data plane receives belongs to
    that data plane. Certificates and public keys pass: a run with other private
    keys and the same public keys finds the properties that depend on public
    halves alone.

    --preview uses the real engine, for programs in any language and programs
    that need their plug-ins. It previews a copy of the project in a private
    folder, with its own stack, backend and passphrase: it does not touch your
    stack or read its encrypted values, and nothing is created. It replaces the
    secrets of configuration, project files, variables and --stack-outputs.
    Plug-ins may reach their servers, with made-up credentials except those of
    --keep. Values that only an update computes stay undecided: --state starts
    from the stack's own state, with made-up secrets. That needs your login and
    passphrase.

    \b
    hosted-mesh prove                          # the project here, stack dev
    hosted-mesh prove app --stack prod --control-plane https://10.0.0.1:6443
    hosted-mesh prove app --preview --stack prod --keep KUBECONFIG
    hosted-mesh prove app --preview --stack prod --state
    hosted-mesh prove app --policy-config clusters.json --sarif --output out.sarif

    Exit code 0: proven. 1: a property depends on a secret. 2: a part could not be run, or stays undecided.
    """
    request = ProveRequest(
        folder=program,
        stack=stack,
        config_file=config_file,
        sources=Sources(tuple(secret or ()), tuple(stack_outputs or ()), tuple(data_plane_owned or ())),
        control_plane=tuple(control_plane or ()),
        data_plane=tuple(data_plane or ()),
        policy_config=policy_config,
        rounds=rounds,
        python=python,
        as_json=as_json,
        as_sarif=as_sarif,
        output=output,
        preview=preview,
        keep=tuple(keep or ()),
        state=state,
        state_file=state_file,
    )
    # gRPC would log the end of its peer on standard error. It reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Here, so that other commands start without gRPC.
    from .session import perform  # noqa: PLC0415

    raise typer.Exit(perform(request))


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(prove)

if __name__ == "__main__":
    app()
