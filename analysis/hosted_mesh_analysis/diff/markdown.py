"""A difference as one comment of a pull request.

What comes from a program stands in code alone, where nobody is mentioned, nothing is linked and no HTML is read: in a
fence that is longer than any in it, or in a code span without backticks and bars.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from .lines import Budget, fate, harmless, label, of_moved, of_notes, of_stack, summary
from .result import Difference, Stack, State, Step

MARKER: Final = "<!-- hosted-mesh diff -->"
"""The first line: by it and by who wrote it a comment is found again."""
LONGEST: Final = 65_536
"""Characters that GitHub takes in a comment."""
ROOM: Final = 100
"""Characters of these that are left to who posts it."""
MOST_ROWS: Final = 100
LONGEST_TABLE: Final = LONGEST // 2
_CUT: Final = "… cut here"


def as_markdown(found: Difference) -> str:
    """One comment: what it is, a table, and the stacks folded. It is cut where GitHub's limit is, and says so."""
    head = [MARKER, f"### Pulumi: {summary(found, _code)}", ""]
    if moved := of_moved(found):
        head += [f"**{moved}**", ""]
    if found.shown:
        head += [*_table(found), ""]
    head += [f"- {_code(text, 300)}" for text in of_notes(found)]
    text = "\n".join(head).rstrip() + "\n"
    room = LONGEST - ROOM - size(text) - size(_left_out(len(found.shown))) - 2
    blocks, left_out, budget = [], 0, Budget()
    for stack in found.shown:
        block = _block(stack, room, budget)
        room = 0 if _CUT in block.splitlines() else room - size(block)
        blocks.append(block)
        left_out += not block or _CUT in block.splitlines()
    return text + "".join(blocks) + (_left_out(left_out) if left_out else "")


def size(text: str) -> int:
    """Of a text as GitHub counts it: in the units of UTF-16, to be on the safe side."""
    return len(text.encode("utf-16-le", errors="replace")) // 2


def _table(found: Difference) -> Iterator[str]:
    yield "| stack | where | made | changed | replaced | removed |"
    yield "|---|---|---:|---:|---:|---:|"
    rows = [row for stack in found.shown for row in _rows(stack)]
    room, shown = LONGEST_TABLE, 0
    for row in rows[:MOST_ROWS]:
        room -= size(row) + 1
        if room < 0:
            break
        shown += 1
        yield row
    if len(rows) > shown:
        yield f"| … and {len(rows) - shown} rows more | | | | | |"


def _rows(stack: Stack) -> Iterator[str]:
    word = {State.NEW: " (new)", State.REMOVED: " (its file is gone)"}.get(stack.state, "")
    name = f"{_code(stack.name)}{word}"
    if stack.state is State.UNDECIDED:
        yield f"| {name} | **not decided** | | | | |"
        return
    for cluster, changes in stack.by_cluster().items():
        steps = dict.fromkeys((Step.MADE, Step.CHANGED, Step.REPLACED, Step.REMOVED), 0)
        for one in changes:
            moved = Step.REMOVED if one.moved_from == cluster else Step.MADE
            steps[one.step if one.moved_from is None else moved] += one.count
        counts = [str(count or "") for count in steps.values()]
        yield f"| {name} | {_code(label(cluster))} | {' | '.join(counts)} |"
    for what, properties in (("outputs", stack.outputs), ("configuration", stack.configuration)):
        if properties:
            made = sum(one.old is None for one in properties)
            removed = sum(one.new is None for one in properties)
            counts = [str(count or "") for count in (made, len(properties) - made - removed, 0, removed)]
            yield f"| {name} | {what} | {' | '.join(counts)} |"


def _block(stack: Stack, room: int, budget: Budget) -> str:
    """A stack's details, folded; as many lines as there is room for, or nothing."""
    lines = list(of_stack(stack, budget))
    title = html.escape(harmless(stack.name)) + (f" ({html.escape(fate(stack))})" if fate(stack) else "")
    start = f"\n<details><summary><code>{title}</code></summary>\n\n"
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    end = f"{fence}\n\n</details>\n"
    left = room - size(start) - size(end) - size(f"{fence}diff\n{_CUT}\n")
    fitting: list[str] = []
    for line in lines:
        left -= size(line) + 1
        if left < 0:
            break
        fitting.append(line)
    if not fitting:
        return ""
    cut = [_CUT] if len(fitting) < len(lines) else []
    return start + "\n".join([f"{fence}diff", *fitting, *cut]) + "\n" + end


def _left_out(stacks: int) -> str:
    which = "1 stack is" if stacks == 1 else f"{stacks} stacks are"
    return (
        f"\nGitHub takes {LONGEST:,} characters in a comment, so {which} not here, or not whole. The rest is in the "
        "file of `hosted-mesh diff --json`, and `hosted-mesh diff --stack NAME` prints it.\n"
    )


def _code(text: str, longest: int = 120) -> str:
    """A text as a code span, also in a cell of a table."""
    plain = harmless(text, longest).replace("`", "'").replace("|", "¦")
    return f"`{plain or ' '}`"
