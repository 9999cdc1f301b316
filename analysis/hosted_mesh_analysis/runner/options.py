"""The arguments and options of `hosted-mesh prove`, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Program = Annotated[
    Path, typer.Argument(help="Folder of a Pulumi project: in Python, or in any language with --preview.")
]
Stack = Annotated[str, typer.Option("--stack", help="Stack; its Pulumi.<stack>.yaml is read.")]
ConfigFile = Annotated[Path | None, typer.Option("--config-file", help="Configuration file to read instead.")]
ControlPlane = Annotated[
    list[str] | None,
    typer.Option(
        "--control-plane",
        help="A control plane's API server (address) or Pulumi provider (name, URN or PACKAGE:NAME); * matches all.",
    ),
]
DataPlane = Annotated[
    list[str] | None, typer.Option("--data-plane", help="A data plane's API server or provider, in the same form.")
]
PolicyConfig = Annotated[
    Path | None, typer.Option("--policy-config", help="Take both from the policy pack's settings file, JSON.")
]
SecretKeys = Annotated[
    list[str] | None,
    typer.Option("--secret", help="Configuration key with a secret in plain text."),
]
StackOutputs = Annotated[
    list[str] | None,
    typer.Option(
        "--stack-outputs",
        help="STACK=FILE: output of `pulumi stack output --json` of a referenced stack.",
    ),
]
DataPlaneOwned = Annotated[
    list[str] | None,
    typer.Option("--data-plane-owned", help="Name of a data plane's own secret, as in the table."),
]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="Use the engine's previews: for any language, and with provider plug-ins."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="A part without secrets: a called function, a component of another package, a dynamic resource. With "
        "--preview also a part to leave unchanged: a variable, configuration key or file with a plug-in's login, a "
        "resource that is read. Dependence on it stays unseen.",
    ),
]
State = Annotated[
    bool,
    typer.Option("--state", help="With --preview: start from the stack's state, by `pulumi stack export`."),
]
StateFile = Annotated[
    Path | None,
    typer.Option("--state-file", help="Start from a file written by `pulumi stack export --show-secrets`."),
]
Rounds = Annotated[int, typer.Option("--rounds", min=1, max=64, help="Number of sets of fresh secrets.")]
Python = Annotated[str | None, typer.Option("--python", help="The program's Python interpreter.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsSarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0.")]
Output = Annotated[Path | None, typer.Option("--output", help="Write to this file instead of standard output.")]
