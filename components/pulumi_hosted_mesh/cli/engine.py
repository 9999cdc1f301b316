"""Runs `pulumi` for the program in this directory."""

from __future__ import annotations

import subprocess
from typing import Any

from pulumi_hosted_mesh.cli.input_files import OUTPUTS, printed
from pulumi_hosted_mesh.problems import InvalidInputError, Problem


def pulumi(*arguments: str, may_fail: bool = False) -> str:
    """Output of a command. may_fail: returns "" for a failure. Raises: InvalidInputError with pulumi's message."""
    done = _run("--non-interactive", *arguments, is_shown=False)
    if done.returncode == 0 or may_fail:
        return done.stdout if done.returncode == 0 else ""
    message = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
    raise _failed(arguments[0], "failed: " + "\n".join(message))


def pulumi_shown(*arguments: str) -> None:
    """Runs a command on the terminal, with its prompts. Raises: InvalidInputError if it fails, or is declined."""
    if _run(*arguments, is_shown=True).returncode:
        raise _failed(arguments[0], "failed or was declined, see its output above")


def outputs_of(stack: str | None) -> Any:
    """The outputs of a stack, by default the selected one. Raises: InvalidInputError."""
    text = pulumi("stack", "output", "--json", *(["--stack", stack] if stack else []))
    return printed(text, "pulumi stack output", OUTPUTS)


def _run(*arguments: str, is_shown: bool) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["pulumi", *arguments], capture_output=not is_shown, text=True, check=False)
    except OSError:
        problem = Problem("pulumi", "cannot be run", "Add it to PATH")
        raise InvalidInputError([problem], "the command line") from None


def _failed(command: str, how: str) -> InvalidInputError:
    problem = Problem(f"pulumi {command}", how, "Correct the cause, and run the command again")
    return InvalidInputError([problem], "the command line")
