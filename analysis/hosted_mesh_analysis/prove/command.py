"""`hosted-mesh prove`: runs a program with other secrets and compares what its data planes are sent."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from . import options
from .request import Request, Sources


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
        as_json=as_json,
        as_sarif=as_sarif,
        output=output,
        preview=preview,
        keep=tuple(keep or ()),
        state=state,
        state_file=state_file,
    )
    # gRPC would log on standard error that its peer has ended. It reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Here, so that the other commands need not wait for gRPC.
    from .session import perform  # noqa: PLC0415

    raise typer.Exit(perform(request))


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(prove)

if __name__ == "__main__":
    app()
