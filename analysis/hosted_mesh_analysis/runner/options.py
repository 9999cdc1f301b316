"""The arguments and options of `hosted-mesh prove`, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Program = Annotated[
    Path, typer.Argument(help="Folder of a Pulumi project: in Python, or in any language with --preview.")
]
Stack = Annotated[str, typer.Option("--stack", help="Stack whose Pulumi.<stack>.yaml is read.")]
ConfigFile = Annotated[Path | None, typer.Option("--config-file", help="Configuration file to read instead.")]
ControlPlane = Annotated[
    list[str] | None,
    typer.Option(
        "--control-plane",
        help="The control plane's: an API server's address, or a Pulumi provider's name, URN or PACKAGE:NAME; "
        "* matches all.",
    ),
]
DataPlane = Annotated[list[str] | None, typer.Option("--data-plane", help="What is a data plane's, in the same way.")]
PolicyConfig = Annotated[
    Path | None, typer.Option("--policy-config", help="Take both from the policy pack's configuration, JSON.")
]
SecretKeys = Annotated[
    list[str] | None,
    typer.Option("--secret", help="Configuration key that is secret although it is written plain."),
]
StackOutputs = Annotated[
    list[str] | None,
    typer.Option(
        "--stack-outputs",
        help="STACK=FILE: what `pulumi stack output --json` prints of a stack that is referred to.",
    ),
]
DataPlaneOwned = Annotated[
    list[str] | None,
    typer.Option("--data-plane-owned", help="Name of a secret, as the table has it, that is a data plane's own."),
]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="Use the engine's previews: for any language, and with provider plug-ins."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="What has no secret in it: a function that is called, a component of another package, a dynamic "
        "resource. With --preview also what stays as it is: a variable or configuration key that a plug-in logs in "
        "with, a file, a resource that is read. What depends on it is not seen.",
    ),
]
State = Annotated[
    bool,
    typer.Option("--state", help="With --preview: start from what the stack has, as `pulumi stack export` tells it."),
]
StateFile = Annotated[
    Path | None,
    typer.Option("--state-file", help="Start from what `pulumi stack export --show-secrets` has written."),
]
Rounds = Annotated[int, typer.Option("--rounds", min=1, max=64, help="How many sets of fresh secrets.")]
Python = Annotated[str | None, typer.Option("--python", help="The program's Python.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsSarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0.")]
Output = Annotated[Path | None, typer.Option("--output", help="Write there instead of printing.")]
