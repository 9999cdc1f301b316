"""`shell`: the user's own shell, or one command, with everything of the sandbox on PATH and in the environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sandbox import clusters
from sandbox.errors import SandboxError
from sandbox.plugins import select
from sandbox.progress import Progress
from sandbox.surroundings import pulumi_home, pulumi_settings, with_tools
from sandbox.toolchain import ensure

_HINT = "(mesh) "


def replace_process(state: Path, arguments: Sequence[str], progress: Progress) -> NoReturn:
    """Becomes the shell; the exit code is then the shell's own.

    arguments: none for an interactive shell; `-c COMMAND` as a shell takes it; `-- PROGRAM ...` for one program.
    Raises SandboxError when no sandbox runs, or the program does not exist.
    """
    sandbox = clusters.load(state)
    if sandbox is None:
        raise SandboxError(f"No sandbox runs in {state}.", fix="`make up` starts one.")
    tools = ensure(progress=progress)
    plugins = select(tools, pulumi_home())
    environment = with_tools(tools.bin_dir, plugins.path) | pulumi_settings(state) | dict(plugins.env)
    environment |= {"KUBECONFIG": str(sandbox.kubeconfig), "HOSTED_MESH_STATE": str(state)}
    command = command_line(arguments, os.environ.get("SHELL", ""))
    if not arguments:
        # bash and zsh keep a prompt that comes by the environment unless the user's own start-up files set one.
        environment |= {"PS1": _HINT + r"\w \$ ", "PROMPT": _HINT + "%~ %# "}
        print(f"{_HINT}kubectl --context provider|user, pulumi, istioctl; exit leaves", file=sys.stderr)
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        raise SandboxError(f"There is no program {command[0]!r}.", why=f"PATH is {environment['PATH']}")
    sys.stdout.flush()
    os.execve(program, [*command], environment)  # noqa: S606


def command_line(arguments: Sequence[str], shell: str) -> list[str]:
    """What to run for the arguments of `shell`; `shell` is the user's $SHELL, possibly empty."""
    own = shell or "/bin/sh"
    if arguments and arguments[0] == "--":
        arguments = arguments[1:]
        return list(arguments) or [own]
    if arguments and not arguments[0].startswith("-"):
        return list(arguments)
    return [own, *arguments]
