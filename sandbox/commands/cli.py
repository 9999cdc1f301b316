"""The command line: `python3 -m sandbox COMMAND`, or `make COMMAND`. Each command is a few lines that call a module."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console

from sandbox.errors import SandboxError
from sandbox.jobs import Terminated
from sandbox.program_environment import state_dir
from sandbox.progress import Progress

app = typer.Typer(
    help="Real Kubernetes clusters on this machine, and a mesh: its control plane runs in the first one, its proxies "
    "in the second.\n\nStart with `up`; it ends with the next steps. `down` removes it all.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        help="State directory of this sandbox; sandboxes with different ones may run at once. "
        "Default: $HOSTED_MESH_STATE, else .sandbox in the checkout.",
        show_default=False,
    ),
]
_INTERRUPTED = 130
# Arguments that belong to another program (pytest, a shell) go to it as they are.
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]}


@app.command()
def up(
    state: State = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=24,  # sandbox.clusters.network.addresses.MOST_CLUSTERS; its import would slow every command
            help="Number of clusters: contexts control-plane, data-plane, data-plane-2 and so on. A number above the "
            "present one adds clusters. Default: the present ones, else 2.",
            show_default=False,
        ),
    ] = None,
    no_mesh: Annotated[
        bool,
        typer.Option("--no-mesh", help="The clusters alone, for a mesh of your own. Default: with the sandbox's mesh."),
    ] = False,
    operators: Annotated[
        bool,
        typer.Option("--operators", help="The clusters and hosted operators without a mesh: OLM on the control plane."),
    ] = False,
    observability: Annotated[
        bool,
        typer.Option(
            "--observability", help="Also collector, Prometheus and Kiali of the mesh, with requests that they show."
        ),
    ] = False,
    users_view: Annotated[
        bool,
        typer.Option("--users-view", help="With --observability: Kiali as the user sees it. Default: the provider."),
    ] = False,
    controller: Annotated[
        bool,
        typer.Option(
            "--controller",
            help="The clusters and the master controller, without a mesh: order one by curl or kubectl.",
        ),
    ] = False,
) -> None:
    """Make everything: tools, clusters, `pulumi up` of a mesh, and a table that proves the mesh's guarantees.

    A second run skips finished steps and changes nothing. The first run takes minutes: it builds Kubernetes, Istio and
    the Pulumi engine from pinned sources and keeps them in the cache.
    Exit code 0 only if every row of the table has its tick.
    """
    from sandbox.commands.up import run, run_clusters, run_controller, run_observability, run_operators

    if users_view and not observability:
        raise typer.BadParameter("is a view of Kiali: add --observability", param_hint="--users-view")
    if observability:
        if not run_observability(state_dir(state), Progress(), Console(), clusters=clusters, users=users_view):
            raise typer.Exit(1)
    elif controller:
        run_controller(state_dir(state), Progress(), clusters=clusters)
    elif operators:
        run_operators(state_dir(state), Progress(), clusters=clusters)
    elif no_mesh:
        run_clusters(state_dir(state), Progress(), clusters=clusters)
    elif not run(state_dir(state), Progress(), Console(), clusters=clusters):
        raise typer.Exit(1)


@app.command()
def down(state: State = None) -> None:
    """Remove everything that `up` made, except the tool cache: processes, networks, mounts, files."""
    from sandbox.commands.down import remove

    remove(state_dir(state), Progress())


@app.command()
def status(state: State = None, as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """Print the state of the sandbox at this moment. Exit code 3 if no sandbox runs."""
    from sandbox import clusters
    from sandbox.commands.status import describe

    place = state_dir(state)
    seen = clusters.status(place)
    if as_json:
        print(json.dumps({"state": str(place), **TypeAdapter(type(seen)).dump_python(seen, mode="json")}, indent=2))
    else:
        print(describe(seen, place))
    if not seen.running:
        raise typer.Exit(3)


@app.command(context_settings=_PASS_ON)
def shell(context: typer.Context) -> None:
    """Open your shell with kubectl, pulumi and istioctl ready for this sandbox.

    `shell -c "kubectl get pods -A"` or `shell -- kubectl get pods -A` runs one command and ends with its exit code.
    $HOSTED_MESH_STATE chooses the sandbox.
    """
    from sandbox.commands.shell import replace_process

    replace_process(state_dir(), context.args, Progress())


@app.command(context_settings=_PASS_ON)
def test(context: typer.Context) -> None:
    """Run lint, the tests of each change (unit, engine, live) and one slice of the nightly tests.

    The commit chooses the slice; `--slice N` or $SLICE chooses another one, `--all` runs all nightly tests.
    Other arguments go to pytest, for example `test -k webhooks -x`. Paths below tests/ and options run the selected
    tests, nightly ones too.
    """
    from sandbox.commands.checks import run_tests

    raise typer.Exit(run_tests(context.args))


@app.command()
def lint() -> None:
    """Check style (ruff check, ruff format), types (mypy --strict) and the other linters."""
    from sandbox.commands.checks import run_lint

    raise typer.Exit(run_lint())


@app.command()
def slices() -> None:
    """Write tests/nightly.json anew: the seconds of each nightly group, from this machine's runs of the tests."""
    from sandbox.commands.checks import write_slices

    raise typer.Exit(write_slices())


@app.command()
def tools(for_tests: Annotated[bool, typer.Option("--for-tests", hidden=True)] = False) -> None:
    """Build or download missing tools, and print the origin of each. `up` does this too."""
    from sandbox.toolchain import build_for_tests, ensure, report

    if for_tests:
        build_for_tests(Progress(live=False))
    else:
        print(report(ensure(progress=Progress())))


def main(commands: typer.Typer = app, name: str = "python3 -m sandbox") -> int:
    """Runs a command; a user's mistake is one block of text, never a stack trace."""
    # As for Ctrl-C, so that compilers end and half-made files are removed.
    signal.signal(signal.SIGTERM, Terminated.by_signal)
    try:
        commands(prog_name=name)
    except SandboxError as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    except SystemExit as ending:
        # typer's way of ending, also after an interrupt.
        if ending.code != _INTERRUPTED:
            raise
        sys.stderr.write("\ninterrupted; run the same command again to continue, or `make down` to remove everything\n")
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
