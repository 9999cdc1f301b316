"""A stack's state that is lost; what is in the clusters is taken into a new one by the commands of docs/recovery.md."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sandbox.bootstrap import CHECKOUT
from tests.engine.library.engine import Api, Stack, bash_in, differences, versions

(_TAKEN_IN,) = bash_in("recovery.md", "A state with no backup")


def lost(stack: Stack) -> None:
    """The state goes, from the backend and from nowhere else; a stack of this name is there again, and empty."""
    for file in (stack.project.directory / ".pulumi").rglob(f"{stack.name}.json*"):
        file.unlink()
    stack.begin()
    assert stack.outputs() == {}


def taken_in(stack: Stack, folder: Path, *apis: Api) -> None:
    """Fails where an object of these clusters is another one afterwards, or has other content. folder: for files."""
    before = versions(*apis)
    lost(stack)
    commands = _TAKEN_IN.replace("--stack access", f"--stack {stack.name}")
    commands = "".join(line for line in commands.splitlines(keepends=True) if "stack init" not in line)
    for command in ("pulumi preview", "pulumi import"):
        commands = commands.replace(command, f"{command} --config-file {stack.file}")
    for file in ("names", "ids"):
        commands = commands.replace(f"{file}.json", str(folder / f"{file}.json"))
    # Where the program is; a project of these tests has none.
    dataclasses.replace(stack.project, directory=CHECKOUT).as_written(commands)
    assert {step["op"] for step in stack.preview()} <= {"same", "update", "read"}
    stack.up()
    assert differences(before, versions(*apis)) == {}
    assert stack.up().summary().keys() == {"unchanged"}
