"""`shell`: the user's own shell, or one command, with the sandbox's tools on PATH and its variables."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sandbox import clusters
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.errors import SandboxError
from sandbox.program_environment import backend, pulumi_settings
from sandbox.progress import Progress
from sandbox.toolchain import ensure
from sandbox.toolchain.catalogue import FOR_TESTS_ALONE, NAMES

_HINT = "(mesh) "


def replace_process(state: Path, arguments: Sequence[str], progress: Progress) -> NoReturn:
    """Becomes the shell; the exit code is then the shell's own.

    arguments: none for an interactive shell; `-c COMMAND` as a shell takes it; `-- PROGRAM ...` for one program.
    Raises SandboxError when no sandbox runs, or the program does not exist.
    """
    sandbox = clusters.load(state)
    if sandbox is None:
        raise SandboxError(f"No sandbox runs in {state}.", fix="`make up` starts one.")
    # The user's Node.js stays first on PATH: the sandbox's is for tests.
    tools = ensure(set(NAMES) - FOR_TESTS_ALONE, progress=progress)
    own = {"KUBECONFIG": str(sandbox.kubeconfig), "HOSTED_MESH_STATE": str(state)}
    environment = dict(PulumiCli.of(tools, pulumi_settings(state) | own).environment)
    command = command_line(arguments, os.environ.get("SHELL", ""))
    if not set(arguments) - {"--"}:
        command += _with_hint(command[0], environment, state)
        print(f"{_HINT}kubectl --context control-plane|data-plane, pulumi, istioctl; exit leaves", file=sys.stderr)
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        raise SandboxError(f"There is no program {command[0]!r}.", why=f"PATH is {environment['PATH']}")
    sys.stdout.flush()
    os.execve(program, [*command], environment)  # noqa: S606


def _with_hint(shell: str, environment: dict[str, str], state: Path) -> list[str]:
    """Arguments (and, in `environment`, variables) for an interactive shell with the sandbox's prompt.

    bash reads a file of ours, which reads the user's first: a start-up file often sets prompt and PATH anew.
    """
    if Path(shell).name != "bash":
        environment |= {"PS1": _HINT + "$ ", "PROMPT": _HINT + "%~ %# "}
        return []
    start_up = backend(state) / "bashrc"
    start_up.parent.mkdir(parents=True, exist_ok=True)
    start_up.write_text(
        "[ -f ~/.bashrc ] && . ~/.bashrc\n"
        f"export PATH={shlex.quote(environment['PATH'])}\n"
        f"PS1={shlex.quote(_HINT)}$PS1\n"
    )
    return ["--rcfile", str(start_up), "-i"]


def command_line(arguments: Sequence[str], shell: str) -> list[str]:
    """The command for the arguments of `shell`; `shell` is the user's $SHELL, possibly empty."""
    own = shell or "/bin/sh"
    if arguments and arguments[0] == "--":
        arguments = arguments[1:]
        return list(arguments) or [own]
    if arguments and not arguments[0].startswith("-"):
        return list(arguments)
    return [own, *arguments]
