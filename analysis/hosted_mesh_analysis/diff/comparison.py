"""Runs both versions of a project's stacks, and compares them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass, field, replace
from typing import Final

from ..runner import input_files
from ..runner.capture import Capture
from ..runner.charts import Charts
from ..runner.commands import Commands
from ..runner.program import network
from ..runner.program.monitor import DRAWN
from ..runner.project import Project, UnusableProjectError, opened, program_of, stacks_of
from ..runner.secrets.generator import FIRST, SecretGenerator, SecretVariant
from . import verdicts
from .calls import calls
from .causes import causes
from .compare import compared, configuration, other_values
from .effects import MOST_NAMES
from .masked import is_credential, without_root
from .memo import Memo
from .request import DiffRequest
from .result import Difference, Effect, EffectKind, Property, Stack, StackChange, Step, Verdict
from .runs import Opened, Programs, search_path
from .snapshot import StackSnapshot, seen, with_noise
from .versions import Version, base_of, working_tree

SECOND: Final = SecretVariant(1)
"""The variant with every secret different from the first variant."""
DEFAULT_STACK: Final = "dev"
"""Stack name of a project without stack files."""
OTHERS: Final = "Compare other languages by `pulumi preview`"
FEW: Final = 4
"""Most stacks that run once for their files and their resources together."""
AT_ONCE: Final = min(4, os.cpu_count() or 1)


def compared_stacks(request: DiffRequest) -> Difference:
    """The difference for a request. Cuts this process off from the network for good, once it has the base. Raises:
    UnusableProjectError."""
    known = input_files.known(request.control_plane, request.data_plane, request.policy_config)
    outputs = input_files.stack_outputs(request.stack_outputs)
    new = working_tree(request.folder)
    with base_of(new, request.base) as base:
        both = Both(_Side.of(base), _Side.of(new))
        names = both.chosen(request.stacks)
        commands, generator = Commands(), SecretGenerator()
        python = request.python or both.new.python
        is_cut = network.cut()  # the programs' Python may come with the change
        path = search_path(python, new, base, commands)
        other = {name: other_values(*pair) for name in both.names if (pair := both.pair(name))}
        charts = Charts(request.charts)
        shared = (python, known, generator, commands, outputs)
        before = Programs(base, both.base.opened, *shared, search_path=path, charts=charts)
        after = Programs(new, both.new.opened, *shared, other, charts=charts)
        notes = [] if base.is_there else ["the base has no project in this folder"]
        about = [known, outputs, sorted(charts.archives())]
        memo = Memo.of(repr(about), python, is_used=request.cache)
        judged = verdicts.configured(known, request.policy_config)
        scout = replace(before, charts=Charts(request.charts, only_found=True), readers={})
        comparison = _Comparison(both, before, after, judged, memo, scout)
        found = Difference(base.name, comparison.of(names), notes)
        found.charts_wanted = sorted(charts.wanted)
    if not is_cut:
        found.notes.append("the kernel provides no private network here: only Python was kept from connecting")
    return found


@dataclass
class _Side:
    """A version's stacks. opened: by name; problems: the errors of others."""

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
        """The names of all stacks, in order."""
        return sorted({name for side in (self.base, self.new) for name in (*side.opened, *side.problems)})

    def chosen(self, asked: Sequence[str]) -> list[str]:
        """The stacks to compare: the requested ones, or all. Raises: UnusableProjectError."""
        wanted = [name.rpartition("/")[2] for name in asked]
        if unknown := [name for name in wanted if name not in self.names]:
            rule = f"neither version has its file; the stacks with files are {', '.join(self.names)}"
            raise UnusableProjectError(f"--stack {unknown[0]}: {rule}. Name one of them")
        return [name for name in self.names if not wanted or name in wanted]

    def pair(self, name: str) -> tuple[Project, Project] | None:
        """Both versions of a stack; None if one is missing."""
        old, new = self.base.opened.get(name), self.new.opened.get(name)
        return (old.project, new.project) if old and new else None


@dataclass(frozen=True)
class _Comparison:
    both: Both
    before: Programs
    after: Programs
    judged: verdicts.Judged
    memo: Memo
    scout: Programs
    """The base's programs without rendered charts, to find the files of many stacks in less time."""

    def of(self, names: Sequence[str]) -> list[Stack]:
        """The difference of each stack, in the order of the names."""
        with futures.ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                same = {name for name in names if self._is_same(name)}
                wanted = [name for name in names if name not in same]
                looks = self.scout if len(wanted) > FEW else self.before
                list(pool.map(lambda name: self._first_of_base(looks, name), wanted))
                same |= {name for name in wanted if self._is_same(name)}
                wanted = [name for name in wanted if name not in same]
                sides = [(side, name) for side in (self.before, self.after) for name in wanted if name in side.stacks]
                list(pool.map(lambda one: one[0].run(one[1], FIRST), sides))
                list(pool.map(lambda one: self._second(*one), sides))
                found = [Stack(name, StackChange.UNCHANGED) if name in same else self._stack(name) for name in names]
                self._add_readers(found)
                return found
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.before.commands.stop()
                raise

    def _second(self, programs: Programs, name: str) -> Capture:
        """The run with other secrets. The base's also shows values that differ in each run, so it always runs."""
        if programs is self.after and name in self.before.stacks and not self.before.run(name, FIRST).made_up:
            return programs.second(name, SECOND)
        return programs.run(name, SECOND)

    def _is_same(self, name: str) -> bool:
        """True if a former run shows that both versions have one result."""
        before, after = self.before, self.after
        return not self.after.other.get(name) and self.memo.same(
            name, before.stacks, after.stacks, before.version, after.version
        )

    def _first_of_base(self, programs: Programs, name: str) -> None:
        """Runs the base's program, and keeps its files."""
        if name in programs.stacks:
            run = programs.run(name, FIRST)
            self.memo.keep(programs.stacks[name], programs.version, run, programs.reads(name))

    def _stack(self, name: str) -> Stack:
        problems = [
            *self._problems(self.before, self.both.base, name),
            *self._problems(self.after, self.both.new, name),
        ]
        if problems:
            return Stack(name, StackChange.UNDECIDED, problems=problems)
        pair = self.both.pair(name)
        told = configuration(*pair) if pair else []
        found = compared(name, self._sight(self.before, name), self._sight(self.after, name), told)
        if _hides_a_change(found):
            old, new = (self._sight(one, name, looks_for_noise=True) for one in (self.before, self.after))
            found = compared(name, old, new, told)
        if found.changes or found.outputs:
            found.verdicts, found.kept = self._verdicts(name)
            if name in self.after.stacks and name in self.before.stacks:
                versions = self.before.version, self.after.version
                found.causes = causes(found.changes, found.outputs, self.after.run(name, FIRST), *versions)
            old_one, new_one = (side.opened.get(name) for side in (self.both.base, self.both.new))
            if old_one and new_one:
                found.effects = [*calls(old_one, new_one, self.after.python, self.after.commands), *found.effects]
        return found

    def _verdicts(self, name: str) -> tuple[list[Verdict], int]:
        """The policies' verdicts that one version alone has, and the number of those of both."""
        sides = []
        for programs in (self.before, self.after):
            one = programs.stacks.get(name)
            run = programs.run(name, FIRST) if one else None
            own = verdicts.findings(run, name, one.project.name, one.program, self.judged) if run and one else []
            sides.append(own)
        return verdicts.compared(sides[0], sides[1], self.judged[1], self.after.generator.texts())

    def _add_readers(self, found: Sequence[Stack]) -> None:
        """Adds the stacks that read a changed output, and whether they change."""
        states = {one.name: one.state for one in found}
        for one in found:
            readers = sorted(self.after.readers.get(one.name, ()))
            names = ", ".join(shown.path for shown in one.outputs[:MOST_NAMES])
            for reader in readers if one.outputs else ():
                state = states.get(reader)
                fate = "changes nothing of it" if state is StackChange.UNCHANGED else "changes too"
                fate = "is not compared here" if state is None else fate
                one.effects.append(Effect(EffectKind.READ, f"outputs ({names}) by stack {reader}, which {fate}"))

    def _problems(self, programs: Programs, side: _Side, name: str) -> Iterator[str]:
        if name in side.problems:
            yield f"{programs.version.name}: {side.problems[name]}"
        if name in programs.stacks:
            first, second = programs.run(name, FIRST), self._second(programs, name)
            for text in dict.fromkeys([*first.problems, *second.problems]):
                yield f"{programs.version.name}: {_told(text, first, second, programs.version)}"

    def _sight(self, programs: Programs, name: str, *, looks_for_noise: bool = False) -> StackSnapshot | None:
        if name not in programs.stacks:
            return None
        first = programs.run(name, FIRST)
        # Relative paths begin in the program's folder.
        version = replace(programs.version, folder=programs.stacks[name].program.directory)
        found = seen(first, self._second(programs, name), version)
        if looks_for_noise:
            drawn = frozenset(one for one in programs.generator.sources if one.startswith(DRAWN))
            again = programs.run(name, SecretVariant(2, drawn))
            found = with_noise(found, first, again, version)
        unread = programs.stacks[name].project.unread
        return StackSnapshot(found.resources, found.outputs, (*unread, *found.notes))


def _told(text: str, first: Capture, second: Capture, version: Version) -> str:
    """An error, without text that depends on a secret."""
    if text not in first.problems or text not in second.problems:
        return "with some secrets the program ends with an error that contains a secret or depends on one"
    return "(an error with a credential in it)" if is_credential(text) else without_root(text, version)


def _hides_a_change(found: Stack) -> bool:
    """True if a hidden value changed: it may also differ between runs with the same secrets."""
    changed = [one for one in found.changes if one.step in {Step.CHANGED, Step.REPLACED}]
    return any(one.name is None or any(map(_is_hidden, one.properties)) for one in changed) or any(
        map(_is_hidden, found.outputs)
    )


def _is_hidden(one: Property) -> bool:
    return any(value is not None and value.hidden is not None for value in (one.old, one.new))
