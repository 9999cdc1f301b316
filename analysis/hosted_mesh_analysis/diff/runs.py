"""Runs the programs of a version: each stack in each world once, with the outputs of the stacks that it refers to."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..prove.capture import Capture
from ..prove.commands import Commands
from ..prove.places import Known
from ..prove.program.monitor import Surroundings
from ..prove.program.process import Program, Runner
from ..prove.project import Project
from ..prove.secrets.vault import Vault, World
from .versions import Version, moved


@dataclass(frozen=True)
class Opened:
    """One stack's project and program."""

    project: Project
    program: Program


@dataclass
class Programs:
    """One version's programs. Two versions that are compared have one vault, so that one secret is one in both.

    stacks: by name. python: of all programs. stack_outputs: what was given, by stack; of other stacks of the
    project it is what their own programs register. other: by stack, configuration keys whose value is another one than
    in the other version. search_path: where Python looks first.
    """

    version: Version
    stacks: Mapping[str, Opened]
    python: str
    known: Known
    vault: Vault
    commands: Commands
    stack_outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    other: Mapping[str, Collection[str]] = field(default_factory=dict)
    search_path: str = ""
    _found: dict[tuple[str, World], Capture] = field(default_factory=dict)

    def run(self, stack: str, world: World, waiting: tuple[str, ...] = ()) -> Capture:
        """What a stack registers in a world. waiting: stacks that need it."""
        key = (stack, world)
        if key not in self._found:
            self._found.setdefault(key, self._run(stack, world, (*waiting, stack)))
        return self._found[key]

    def _run(self, stack: str, world: World, waiting: tuple[str, ...]) -> Capture:
        name = self.stacks[stack].project.name
        surroundings = Surroundings(name, stack, self.known, _Outputs(self, name, world, waiting))
        return Runner(self._program(stack), surroundings, self.vault, self.commands).run(world)

    def _program(self, stack: str) -> Program:
        found = self.stacks[stack].program
        path = {"PYTHONPATH": self.search_path} if self.search_path else {}
        environment = {**found.environment, **path}
        return replace(found, python=self.python, environment=environment, other=self.other.get(stack, ()))


@dataclass
class _Outputs(Mapping[str, Mapping[str, Any]]):
    """The outputs of other stacks, by the names by which a program refers to them."""

    programs: Programs
    project: str
    world: World
    waiting: tuple[str, ...]

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        if name in self.programs.stack_outputs:
            return self.programs.stack_outputs[name]
        *before, stack = name.split("/")
        if stack not in self.programs.stacks or stack in self.waiting or (before and before[-1] != self.project):
            raise KeyError(name)
        found = self.programs.run(stack, self.world, self.waiting)
        if found.problems:
            raise KeyError(name)
        return found.outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.programs.stack_outputs)

    def __len__(self) -> int:
        return len(self.programs.stack_outputs)


def search_path(python: str, new: Version, base: Version, commands: Commands) -> str:
    """PYTHONPATH for the base's programs: what Python finds in the repository is the base's, then what it was."""
    try:
        done = commands([python, "-c", "import json, sys; json.dump(sys.path, sys.stdout)"], Path(), dict(os.environ))
        path = json.loads(done.output)
    except (OSError, ValueError):
        path = []  # whoever cannot be asked says why when it is to run a program
    before = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return os.pathsep.join([*moved(path, new, base), *before])
