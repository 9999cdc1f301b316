"""`hosted-mesh rotate`: arguments and output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.engine import outputs_of, pulumi, pulumi_shown
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.input_files import printed
from pulumi_hosted_mesh.operations import rotation
from pulumi_hosted_mesh.problems import InvalidInputError, Problem


def rotate(
    access: Annotated[str, typer.Option(help="The stack of kind access.")] = "access",
    control_plane: Annotated[str, typer.Option(help="The stack of kind control-plane.")] = "control-plane",
    policy_packs: Annotated[
        list[Path] | None, typer.Option("--policy-pack", help="Passed to `pulumi up`; repeatable.")
    ] = None,
    policy_pack_configs: Annotated[
        list[Path] | None, typer.Option("--policy-pack-config", help="Passed to `pulumi up`, one for each policy pack.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Continue after each preview without a prompt.")] = False,
) -> None:
    """Replace istiod's long-lived token, stack by stack. istiod always has a valid one.

    Run it in the program's directory, with the credentials of both stacks. Each of the three `pulumi up` shows its
    preview and a prompt. After an interruption run it again: it continues.
    """
    packs = [part for one in policy_packs or [] for part in ("--policy-pack", str(one))]
    packs += [part for one in policy_pack_configs or [] for part in ("--policy-pack-config", str(one))]
    with plain_errors():
        if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
            problem = Problem("--yes", "is required without a terminal, where no prompt is possible", "Add --yes")
            raise InvalidInputError([problem], "the command line")
        written = pulumi("config", "get", "hosted-mesh:token", "--stack", access, may_fail=True)
        token = printed(written, "hosted-mesh:token", "pulumi config get hosted-mesh:token") if written else {}
        stacks = rotation.Stacks(access, control_plane)

        def up(stack: str) -> None:
            pulumi_shown("up", "--stack", stack, *packs, *(["--yes"] if yes else []))

        def several() -> bool:
            endpoints = outputs_of(control_plane).get("endpoints") or {}
            return len({str(one).partition("/")[0] for one in endpoints}) > 1

        for step in rotation.rotate(stacks, outputs_of(access), token, pulumi, up, several):
            print(step, flush=True)
    print(f"istiod has a new token. Commit Pulumi.{access}.yaml, which has its generation")
