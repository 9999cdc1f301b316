"""Runs the programs of a version: each stack in each variant once, with the outputs of referenced stacks."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..runner.capture import Capture
from ..runner.charts import Charts
from ..runner.commands import Commands
from ..runner.places import Known
from ..runner.program.monitor import RunOptions
from ..runner.program.process import Program, Runner
from ..runner.project import Project
from ..runner.secrets.generator import FIRST, SecretGenerator, SecretVariant
from .versions import Version, moved


@dataclass(frozen=True)
class Opened:
    """One stack's project and program."""

    project: Project
    program: Program


@dataclass
class Programs:
    """One version's programs. Two compared versions share a generator, so that a secret is the same in both.

    stacks: by name. python: of all programs. stack_outputs: given outputs, by stack; other stacks of the project run
    their own programs. other: by stack, configuration keys with another value than in the other version. search_path:
    first places of Python's modules. charts: renders the programs' charts. readers: by stack, the stacks that
    read its outputs, as far as the runs have shown.
    """

    version: Version
    stacks: Mapping[str, Opened]
    python: str
    known: Known
    generator: SecretGenerator
    commands: Commands
    stack_outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    other: Mapping[str, Collection[str]] = field(default_factory=dict)
    search_path: str = ""
    charts: Charts | None = None
    readers: dict[str, set[str]] = field(default_factory=dict)
    _found: dict[tuple[str, SecretVariant], Capture] = field(default_factory=dict, init=False)

    def run(self, stack: str, world: SecretVariant, waiting: tuple[str, ...] = ()) -> Capture:
        """The resources of a stack in a variant. waiting: stacks that need it."""
        key = (stack, world)
        if key not in self._found:
            self._found.setdefault(key, self._run(stack, world, (*waiting, stack)))
        return self._found[key]

    def second(self, stack: str, world: SecretVariant) -> Capture:
        """The resources with other secrets. A stack that got none, and reads no other stack, needs no second run."""
        first = self.run(stack, FIRST)
        if first.problems or first.made_up or self.reads(stack):
            return self.run(stack, world)
        return first

    def reads(self, stack: str) -> list[str]:
        """The other stacks that a stack reads, as far as its runs have shown."""
        return sorted(other for other, readers in self.readers.items() if stack in readers)

    def _run(self, stack: str, world: SecretVariant, waiting: tuple[str, ...]) -> Capture:
        name = self.stacks[stack].project.name
        program = self._program(stack)
        outputs = _Outputs(self, name, world, waiting)
        run_options = RunOptions(name, stack, self.known, outputs, charts=self.charts, directory=program.directory)
        return Runner(program, run_options, self.generator, self.commands).run(world)

    def _program(self, stack: str) -> Program:
        found = self.stacks[stack].program
        path = {"PYTHONPATH": self.search_path} if self.search_path else {}
        environment = {**found.environment, **path}
        other = self.other.get(stack, ())
        return replace(found, python=self.python, environment=environment, other=other, root=self.version.root)


@dataclass
class _Outputs(Mapping[str, Mapping[str, Any]]):
    """The outputs of other stacks, by their names in the program."""

    programs: Programs
    project: str
    world: SecretVariant
    waiting: tuple[str, ...]

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        if name in self.programs.stack_outputs:
            return self.programs.stack_outputs[name]
        *before, stack = name.split("/")
        if stack not in self.programs.stacks or stack in self.waiting or (before and before[-1] != self.project):
            raise KeyError(name)
        self.programs.readers.setdefault(stack, set()).add(self.waiting[-1])
        found = self.programs.run(stack, self.world, self.waiting)
        if found.problems:
            raise KeyError(name)
        return found.outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.programs.stack_outputs)

    def __len__(self) -> int:
        return len(self.programs.stack_outputs)


def search_path(python: str, new: Version, base: Version, commands: Commands) -> str:
    """PYTHONPATH for the base's programs: the base's modules of the repository, then the former path."""
    try:
        done = commands([python, "-c", "import json, sys; json.dump(sys.path, sys.stdout)"], Path(), dict(os.environ))
        path = json.loads(done.output)
    except (OSError, ValueError):
        path = []  # running a program reports the reason
    before = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return os.pathsep.join([*moved(path, new, base), *before])
