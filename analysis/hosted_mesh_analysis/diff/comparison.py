"""Runs both versions of a project's stacks, and compares them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass, field, replace
from typing import Final

from ..prove import given
from ..prove.capture import Capture
from ..prove.commands import Commands
from ..prove.program import network
from ..prove.program.monitor import DRAWN
from ..prove.project import Project, UnusableProjectError, opened, program_of, stacks_of
from ..prove.secrets.vault import FIRST, Vault, World
from .compare import compared, configuration, other_values
from .masked import is_credential, without_root
from .request import Request
from .result import Difference, Property, Stack, State, Step
from .runs import Opened, Programs, search_path
from .sight import Sight, seen, with_noise
from .versions import Version, base_of, working_tree

SECOND: Final = World(1)
"""The world in which each secret is another one than in the first."""
DEFAULT_STACK: Final = "dev"
"""What the stack of a project without any stack's file is called."""
OTHERS: Final = "Compare other languages by `pulumi preview`"
AT_ONCE: Final = min(4, os.cpu_count() or 1)


def compared_stacks(request: Request) -> Difference:
    """What a request asks for. Cuts this process off from the network for good, once it has the base. Raises:
    UnusableProjectError."""
    known = given.known(request.control_plane, request.data_plane, request.policy_config)
    outputs = given.stack_outputs(request.stack_outputs)
    new = working_tree(request.folder)
    with base_of(new, request.base) as base:
        both = Both(_Side.of(base), _Side.of(new))
        names = both.chosen(request.stacks)
        commands, vault = Commands(), Vault()
        python = request.python or both.new.python
        is_cut = network.cut()  # the programs' Python may be one that the change brings
        path = search_path(python, new, base, commands)
        other = {name: other_values(*pair) for name in both.names if (pair := both.pair(name))}
        before = Programs(base, both.base.opened, python, known, vault, commands, outputs, search_path=path)
        after = Programs(new, both.new.opened, python, known, vault, commands, outputs, other)
        notes = [] if base.is_there else ["the base has no project in this folder"]
        found = Difference(base.name, _Comparison(both, before, after).of(names), notes)
    if not is_cut:
        found.notes.append("the kernel gives no network of one's own here: only Python was kept from connecting")
    return found


@dataclass
class _Side:
    """A version's stacks. opened: by name; problems: why one cannot be."""

    opened: dict[str, Opened] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(version: Version) -> _Side:
        """Raises: UnusableProjectError for a project that cannot be read at all."""
        found = _Side()
        try:
            names = (stacks_of(version.folder) or [DEFAULT_STACK]) if version.is_there else []
        except UnusableProjectError as problem:
            raise UnusableProjectError(f"{version.name}: {without_root(str(problem), version)}") from None
        for name in names:
            try:
                project = opened(version.folder, name, None, ())
                found.opened[name] = Opened(project, program_of(project, None, OTHERS))
            except UnusableProjectError as problem:
                found.problems[name] = without_root(str(problem), version)
        return found

    @property
    def python(self) -> str:
        """The programs' interpreter."""
        return next((one.program.python for one in self.opened.values()), sys.executable)


@dataclass(frozen=True)
class Both:
    """The stacks of the two versions."""

    base: _Side
    new: _Side

    @property
    def names(self) -> list[str]:
        """Of all stacks, in order."""
        return sorted({name for side in (self.base, self.new) for name in (*side.opened, *side.problems)})

    def chosen(self, asked: Sequence[str]) -> list[str]:
        """The stacks to compare: those that are asked for, or all. Raises: UnusableProjectError."""
        wanted = [name.rpartition("/")[2] for name in asked]
        if unknown := [name for name in wanted if name not in self.names]:
            rule = f"neither version has its file; there are those of {', '.join(self.names)}"
            raise UnusableProjectError(f"--stack {unknown[0]}: {rule}. Name one of them")
        return [name for name in self.names if not wanted or name in wanted]

    def pair(self, name: str) -> tuple[Project, Project] | None:
        """Both versions of a stack; None if there is only one."""
        old, new = self.base.opened.get(name), self.new.opened.get(name)
        return (old.project, new.project) if old and new else None


@dataclass(frozen=True)
class _Comparison:
    """What is run, and compared."""

    both: Both
    before: Programs
    after: Programs

    def of(self, names: Sequence[str]) -> list[Stack]:
        """What differs in each stack, in the order of the names."""
        asked = [
            (programs, name, world)
            for name in names
            for programs in (self.before, self.after)
            if name in programs.stacks
            for world in (FIRST, SECOND)
        ]
        with futures.ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                list(pool.map(lambda one: one[0].run(*one[1:]), asked))
                return [self._stack(name) for name in names]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.before.commands.stop()
                raise

    def _stack(self, name: str) -> Stack:
        problems = [
            *self._problems(self.before, self.both.base, name),
            *self._problems(self.after, self.both.new, name),
        ]
        if problems:
            return Stack(name, State.UNDECIDED, problems=problems)
        pair = self.both.pair(name)
        told = configuration(*pair) if pair else []
        found = compared(name, self._sight(self.before, name), self._sight(self.after, name), told)
        if _hides_a_change(found):
            old, new = (self._sight(one, name, looks_for_noise=True) for one in (self.before, self.after))
            found = compared(name, old, new, told)
        return found

    def _problems(self, programs: Programs, side: _Side, name: str) -> Iterator[str]:
        """Why a version of a stack cannot be judged."""
        if name in side.problems:
            yield f"{programs.version.name}: {side.problems[name]}"
        if name in programs.stacks:
            first, second = (programs.run(name, world) for world in (FIRST, SECOND))
            for text in dict.fromkeys([*first.problems, *second.problems]):
                yield f"{programs.version.name}: {_told(text, first, second, programs.version)}"

    def _sight(self, programs: Programs, name: str, *, looks_for_noise: bool = False) -> Sight | None:
        if name not in programs.stacks:
            return None
        first = programs.run(name, FIRST)
        # Where the program runs, relative paths begin.
        version = replace(programs.version, folder=programs.stacks[name].program.directory)
        found = seen(first, programs.run(name, SECOND), version)
        if looks_for_noise:
            drawn = frozenset(one for one in programs.vault.sources if one.startswith(DRAWN))
            again = programs.run(name, World(2, drawn))
            found = with_noise(found, first, again, version)
        unread = programs.stacks[name].project.unread
        return Sight(found.resources, found.outputs, (*unread, *found.notes))


def _told(text: str, first: Capture, second: Capture, version: Version) -> str:
    """An error, without what depends on a secret."""
    if text not in first.problems or text not in second.problems:
        return "with some secrets the program ends with an error, in whose text is one of them or what depends on it"
    return "(an error with a credential in it)" if is_credential(text) else without_root(text, version)


def _hides_a_change(found: Stack) -> bool:
    """Whether something has changed that is not shown: it may be another in each run with the same secrets too."""
    changed = [one for one in found.changes if one.step in {Step.CHANGED, Step.REPLACED}]
    return any(one.name is None or any(map(_is_hidden, one.properties)) for one in changed) or any(
        map(_is_hidden, found.outputs)
    )


def _is_hidden(one: Property) -> bool:
    return any(value is not None and value.hidden is not None for value in (one.old, one.new))
