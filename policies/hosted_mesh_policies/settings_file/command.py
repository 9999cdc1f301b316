"""`hosted-mesh-policies`: the pack's folder for the engine, and the first settings file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from ..proposal import PROPOSED, Proposal, is_empty, proposal, read, summary
from ..scan.sources import UnreadableError, from_paths, why

PACK: Final = Path(__file__).resolve().parents[1] / "policy_pack"
SCRIPT: Final = "hosted-mesh-policy-pack"
SETTINGS: Final = Path("hosted-mesh-policies.json")
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(version("hosted-mesh-policies"))
        raise typer.Exit


@app.callback(
    epilog="Exit code 0: done. 1: done, with open questions. 2: an argument or a file is wrong, and nothing is written."
)
def main(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keep a control plane's credentials out of its users' clusters, in any Pulumi program.

    1. Preview with the pack:
       pulumi preview --policy-pack "$(hosted-mesh-policies path)"

    2. Declare the owners of clusters, accounts and stacks:
       hosted-mesh-policies init

    3. Correct and commit hosted-mesh-policies.json, then preview with it:
       pulumi preview --policy-pack "$(hosted-mesh-policies path)" --policy-pack-config hosted-mesh-policies.json
    """


@app.command(epilog="Without a settings file, verdicts that rest on an undeclared owner are advisory.")
def path(
    executable: Annotated[
        bool,
        typer.Option(
            "--executable",
            help="Print an executable file instead. It runs with this environment's Python, on PATH or not.",
        ),
    ] = False,
) -> None:
    """Print the pack's folder, for `pulumi preview --policy-pack "$(hosted-mesh-policies path)"`.

    The engine starts the folder with the `python3` on PATH, so activate the environment that the pack is installed in.
    If it is not active, or if the engine's Python language host is too old for folders, use --executable.
    """
    print(_executable() if executable else PACK)


def _executable() -> Path:
    found = Path(sysconfig.get_path("scripts")) / SCRIPT
    if not found.exists():
        _refuse(f"{found}: is not installed. Install hosted-mesh-policies again")
    return found


@app.command(epilog="A person corrects the guesses, answers the questions and commits the file.")
def init(
    plans: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Output of `pulumi stack export --show-secrets` or `pulumi preview --json`, of one stack or more; `-` "
            "reads a pipe. Without it, this command runs `pulumi preview`.",
            show_default=False,
        ),
    ] = None,
    stack: Annotated[str, typer.Option("--stack", help="The stack to preview; else the selected one.")] = "",
    output: Annotated[Path, typer.Option("--output", help="The settings file; `-` prints it.")] = SETTINGS,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write the settings file for a program, from one preview of it.

    In the program's folder: hosted-mesh-policies init

    The file lists the API servers, providers, accounts and stacks that the preview has, each as the control plane's or
    a data plane's by its name. It holds addresses and names, never a credential. It has a question in `comments` for
    each owner that no name shows. The exit code is 1 while there is one.

    `pulumi preview --json` hides secret kubeconfigs, so a file of it lists their providers by name.
    """
    prints = str(output) == "-"
    if not prints and output.exists() and not force:
        _refuse(f"--output {output}: exists. Give another name, or --force to replace it")
    if plans and stack:
        _refuse("--stack: is for a preview that this command runs. Leave it out, or leave the files out")
    found = _of_files(plans) if plans else _of_preview(stack)
    if prints:
        print(found.text(), end="")
    else:
        try:
            output.write_text(found.text(), encoding="utf-8")
        except OSError as problem:
            _refuse(f"--output {output}: cannot be written: {why(problem)}")
    for line in summary(found):
        print(line, file=sys.stderr)
    if not prints:
        print(f"{output}: written. Correct it, then give it as --policy-pack-config", file=sys.stderr)
    raise typer.Exit(int(bool(found.questions)))


def _of_files(plans: list[Path]) -> Proposal:
    try:
        stacks, _ = from_paths(plans, ())
    except UnreadableError as problem:
        _refuse(str(problem))
    if is_empty(stacks):
        _refuse(f"{', '.join(map(str, plans))}: has no provider. Give the output of `pulumi preview --json`")
    return proposal(stacks)


def _of_preview(stack: str) -> Proposal:
    """Runs a preview with the pack, which sees the kubeconfigs. A rejected preview has a proposal too."""
    pulumi = shutil.which("pulumi")
    if pulumi is None:
        _refuse("pulumi: is not on PATH. Install it, or give the output of `pulumi stack export --show-secrets`")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / SETTINGS
        chosen = ["--stack", stack] if stack else []
        command = [
            pulumi,
            "preview",
            "--non-interactive",
            "--color=never",
            *chosen,
            "--policy-pack",
            str(_executable()),
        ]
        environment = {**os.environ, PROPOSED: str(file)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if not file.exists():
            told = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "error:" in line]
            _refuse(f"pulumi preview: {told[-1] if told else 'did not reach its end'}. Run it by itself and correct it")
        return read(file.read_text(encoding="utf-8"))


def _refuse(problem: str) -> NoReturn:
    print(problem, file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
