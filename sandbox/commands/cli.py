"""The command line: `python3 -m sandbox COMMAND`, or `make COMMAND`. Each command is a few lines that call a room."""

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
    help="Real Kubernetes clusters on this machine, and a mesh whose control plane runs in the first one and whose "
    "proxies run in the second.\n\nStart with `up`; it ends by saying what to do next. `down` removes it all again.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        help="Directory of this sandbox; two with different ones may run at once. "
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
            max=24,  # sandbox.clusters.network.addresses.MOST_CLUSTERS, whose import would slow every command
            help="How many: contexts control-plane, data-plane, data-plane-2 and so on. More than there are adds "
            "some. Default: those that are there, else 2.",
            show_default=False,
        ),
    ] = None,
    no_mesh: Annotated[
        bool,
        typer.Option("--no-mesh", help="The clusters alone, for a mesh of your own. `up` without it adds ours."),
    ] = False,
) -> None:
    """Make everything: tools, clusters, `pulumi up` of a mesh, and a table that proves what it does.

    Run again, it skips what is done and changes nothing. The first time takes minutes, since Kubernetes, Istio and
    the Pulumi engine are built from their pinned sources; they are kept in the cache for ever after.
    Exit code 0 only if every row of the table has its tick.
    """
    from sandbox.commands.up import run, run_clusters

    if no_mesh:
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
    """Say what runs, as seen at this moment. Exit code 3 if no sandbox runs."""
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
    The sandbox is chosen by $HOSTED_MESH_STATE.
    """
    from sandbox.commands.shell import replace_process

    replace_process(state_dir(), context.args, Progress())


@app.command(context_settings=_PASS_ON)
def test(context: typer.Context) -> None:
    """Run the tests in order: lint, unit (seconds), engine (real API servers), live (the whole sandbox).

    Arguments go to pytest, for example `test -k webhooks -x`; paths below tests/ choose the folders to run.
    """
    from sandbox.commands.checks import run_tests

    raise typer.Exit(run_tests(context.args))


@app.command()
def lint() -> None:
    """Check style (ruff check, ruff format) and types (mypy --strict) of everything."""
    from sandbox.commands.checks import run_lint

    raise typer.Exit(run_lint())


@app.command()
def tools() -> None:
    """Build or download the tools where needed, and say which are used. `up` does this by itself."""
    from sandbox.toolchain import ensure, report

    ready = ensure(progress=Progress())
    print(report(ready))


def main(commands: typer.Typer = app, name: str = "python3 -m sandbox") -> int:
    """Runs a command; a mistake that a person can correct is one block of text, never a stack trace."""
    # Ends like Ctrl-C does, so that compilers and half-made files do not stay behind.
    signal.signal(signal.SIGTERM, Terminated.by_signal)
    try:
        commands(prog_name=name)
    except SandboxError as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    except SystemExit as ending:
        # How typer ends, also when it was interrupted.
        if ending.code != _INTERRUPTED:
            raise
        sys.stderr.write("\ninterrupted; run the same command again to go on, or `make down` to remove everything\n")
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
