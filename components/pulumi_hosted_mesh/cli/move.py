"""`hosted-mesh move`: arguments and output."""

from __future__ import annotations

from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.report import FAILED
from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.operations.moves.health import Requests
from pulumi_hosted_mesh.operations.moves.moving import HealthLimits, Move
from pulumi_hosted_mesh.operations.moves.waves import WHOLE, MovingNamespace, wave
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, visible


def move(
    mesh: Annotated[str, typer.Option(help="Name of the mesh.", show_default=False)],
    to: Annotated[str, typer.Option(help="The revision to move to.", show_default=False)],
    percent: Annotated[
        str, typer.Option(help="Share of the namespaces, or shares of several waves: `5,25,100`.")
    ] = "100",
    restart: Annotated[bool, typer.Option("--restart", help="Restart the moved workloads, and wait for them.")] = False,
    restore: Annotated[bool, typer.Option("--restore", help="Set the labels of before the move again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the waves' namespaces, and change none.")] = False,
    watch: Annotated[float, typer.Option(min=0, help="Seconds of counting requests after each wave.")] = 60.0,
    patience: Annotated[float, typer.Option(min=0, help="Seconds until the proxies of a wave must be ready.")] = 300.0,
    rise: Annotated[
        float, typer.Option(min=0, help="Percentage points by which the share of failed requests may rise.")
    ] = 1.0,
    unmeasured: Annotated[bool, typer.Option("--unmeasured", help="Accept proxies that count no requests.")] = False,
    kubeconfig: Annotated[str, typer.Option(help="Kubeconfig of the data plane's cluster.")] = "$KUBECONFIG",
    context: Annotated[str | None, typer.Option(help="Its context; by default the current one.")] = None,
) -> None:
    """Move a share of a data plane's namespaces to another revision, wave by wave, and stop if its proxies fail.

    hosted-mesh move --mesh demo --to 1-32 --percent 5,25,100 --restart

    The hash of a namespace's name decides its wave. The label `istio.io/rev` moves it. Exit code 3 if the move
    stopped: proxies that are not ready, or more failed requests than before.
    """
    with plain_errors():
        shares = _shares(percent, restart=restart or dry_run)
        limits = HealthLimits(watch, patience, rise, unmeasured)
        moving = Move(ApiServer(cluster_of(kubeconfig, context)), mesh, to, limits, restart)
        there = moving.namespaces()
        if restore:
            moved = [one for one in there if one.origin]
            _print("restore", moved)
            if not dry_run:
                moving.restore(moved)
            return
        done = {one.name for one in there if one.revision == to}
        if dry_run:
            for share in shares:
                _print(f"{share} %", [one for one in wave(there, to, share) if one.name not in done])
                done |= {one.name for one in wave(there, to, share)}
            return
        # The wave before has to be well, also one of an earlier command.
        usual = _usual(moving, done) if done else moving.rates(()).others
        for share in shares:
            those = wave(moving.namespaces(), to, share)
            _print(f"{share} %", those)
            if those:
                moving.begin(those)
                done |= {one.name for one in those}
            if those and restart:
                usual = _usual(moving, done, usual)
        if not restart:
            print("Restart their workloads, then run the next share: it begins with the checks of this one")


def _usual(moving: Move, done: set[str], usual: Requests | None = None) -> Requests | None:
    """Prints the checks of the moved namespaces. Raises: typer.Exit(3) if one fails."""
    checked = moving.checked(done, usual)
    for one in checked.verdicts:
        print(one)
    if not all(one.ok for one in checked.verdicts):
        print("stopped: no further namespace moves")
        raise typer.Exit(FAILED)
    return checked.usual


def _print(what: str, those: list[MovingNamespace]) -> None:
    names = ", ".join(visible(one.name) for one in those)
    print(f"{what}: {names or 'no namespace'}")


def _shares(written: str, *, restart: bool) -> list[int]:
    """Raises: InvalidInputError."""
    parts = written.split(",")
    shares = [int(one) for one in parts if one.strip().isdecimal() and len(one) < len("10000")]
    if len(shares) != len(parts) or not all(0 < one <= WHOLE for one in shares) or shares != sorted({*shares}):
        rule = "must be whole numbers from 1 to 100, each more than the one before"
        raise InvalidInputError([Problem("--percent", rule, "Write them like 5,25,100")], "the command line")
    if len(shares) > 1 and not restart:
        rule = "has several waves, and each begins when the workloads of the one before run with the revision"
        raise InvalidInputError([Problem("--percent", rule, "Add --restart, or give one share")], "the command line")
    return shares
