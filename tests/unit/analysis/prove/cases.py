"""Programs that are kept as data: what the judge has found, and what the two are known to disagree about.

`kept.json` has programs that were disagreements once, or stand for a class; each must be judged alike now.
`known.json` has the classes of disagreements that stand, each with its reason and an example that still disagrees.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.unit.analysis.prove.judge import MISSED, TOO_LATE, Disagreement
from tests.unit.analysis.prove.programs import Program

KNOWN: Final = Path(__file__).with_name("known.json")
KEPT: Final = Path(__file__).with_name("kept.json")


def program_of(data: Mapping[str, Any]) -> Program:
    return Program(**{**data, "steps": tuple(data.get("steps", ()))})


def data_of(program: Program) -> dict[str, Any]:
    """Without what is as it is by default."""
    plain = Program(program.source)
    return {k: v for k, v in dataclasses.asdict(program).items() if k == "source" or v != getattr(plain, k)}


@dataclass(frozen=True)
class Class:
    """Disagreements of one kind. where: per field of a program the values that it may have; of its steps one, or
    several that follow each other ("a then b"). rules: those of which the pack may name any, and no other. reason: why
    they stand."""

    how: str
    where: Mapping[str, Sequence[str]]
    rules: frozenset[str]
    example: Program
    reason: str

    def covers(self, found: Disagreement) -> bool:
        how = {self.how, TOO_LATE} if self.how == MISSED else {self.how}
        return found.how in how and found.rules <= self.rules and self.fits(found.program)

    def fits(self, program: Program) -> bool:
        return all(self._is_one_of(getattr(program, name), values) for name, values in self.where.items())

    @staticmethod
    def _is_one_of(value: str | tuple[str, ...], values: Sequence[str]) -> bool:
        if not isinstance(value, tuple):
            return value in values
        made = {" then ".join(value[at:end]) for at in range(len(value)) for end in range(at + 1, len(value) + 1)}
        return bool(made & set(values))


def known() -> list[Class]:
    return [
        Class(one["how"], one["where"], frozenset(one.get("rules", ())), program_of(one["example"]), one["reason"])
        for one in json.loads(KNOWN.read_text("utf-8"))
    ]


def kept() -> list[Program]:
    return [program_of(one) for one in json.loads(KEPT.read_text("utf-8"))]


def keep(programs: Sequence[Program]) -> None:
    """Adds programs to those that are kept."""
    every = [data_of(one) for one in dict.fromkeys([*kept(), *programs])]
    KEPT.write_text("[\n" + ",\n".join(f" {json.dumps(one)}" for one in every) + "\n]\n", "utf-8")
