"""The lines that cause a stack's changes: added or changed lines of the files that its run read.

A line causes a change if it contains a new value of it. If no line does, the first different line of each file stands
for it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..runner.capture import Capture
from ..runner.program.traced import FILE
from .result import Cause, Change, Property
from .versions import Version

MOST: Final = 20
"""Most lines of a stack."""
MOST_LINES: Final = 20_000
"""Lines of a file that is searched."""
SHORTEST: Final = 3
"""Fewest characters of a value that identifies a line."""


def causes(
    changes: Sequence[Change], outputs: Sequence[Property], run: Capture, base: Version, now: Version
) -> list[Cause]:
    """The lines, by path and number. run: of the new version."""
    trace = run.trace or {"paths": ()}
    paths = [str(path) for kind, path in trace["paths"] if kind == FILE]
    values = set(_values(changes, outputs))
    exact, others = [], []
    for path in paths:
        lines = _added(base.root / path, now.root / path)
        found = [number for number, text in lines if any(value in text for value in values)]
        exact += [Cause(path, number) for number in found]
        others += [Cause(path, lines[0][0])] if lines and not found else []
    return (exact or others)[:MOST]


def _values(changes: Sequence[Change], outputs: Sequence[Property]) -> Iterator[str]:
    for one in (*(each for change in changes for each in change.properties), *outputs):
        value: Any = one.new.value if one.new is not None and not one.new.hidden else None
        if isinstance(value, str | int) and not isinstance(value, bool) and SHORTEST <= len(str(value)) <= 200:
            yield str(value)


def _added(old: Path, new: Path) -> list[tuple[int, str]]:
    """The numbers and texts of the added and changed lines of a file."""
    try:
        here = old.read_text(encoding="utf-8").split("\n") if old.is_file() else []
        there = new.read_text(encoding="utf-8").split("\n") if new.is_file() else []
    except (OSError, ValueError):
        return []
    if here == there or max(len(here), len(there)) > MOST_LINES:
        return []
    found = []
    for how, _, _, start, end in difflib.SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
        if how in {"insert", "replace"}:
            found += [(number + 1, there[number]) for number in range(start, end)]
    return found
