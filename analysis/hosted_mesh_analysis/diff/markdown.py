"""A difference as one comment of a pull request.

Program texts are in code only, where no mention, link or HTML works: in a fence longer than any in it, or in a code
span without backticks and bars.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final

from .lines import (
    Budget,
    fate,
    harmless,
    label,
    of_effects,
    of_moved,
    of_notes,
    of_rest,
    of_stack,
    of_verdicts,
    summary,
)
from .result import Difference, Stack, StackChange, Step

MARKER: Final = "<!-- hosted-mesh diff -->"
"""The first line: with its author it identifies the comment."""
LONGEST: Final = 65_536
"""GitHub's limit for a comment, in characters."""
ROOM: Final = 100
"""Characters left to the poster."""
MOST_ROWS: Final = 100
LONGEST_TABLE: Final = LONGEST // 2
LONGEST_MEANING: Final = LONGEST // 4
MOST_MEANING: Final = 25
"""Most effects and verdicts of a stack."""
_CUT: Final = "… cut here"


def as_markdown(found: Difference) -> str:
    """One comment: a headline, a table, and the stacks folded. It is cut at GitHub's limit, with a note."""
    head = [MARKER, f"### Pulumi: {summary(found, code)}", ""]
    if moved := of_moved(found):
        head += [f"**{moved}**", ""]
    if found.shown:
        head += [*_table(found), ""]
    head += [*_meaning(found), *(f"- {code(text, 300)}" for text in of_notes(found))]
    text = "\n".join(head).rstrip() + "\n"
    room = LONGEST - ROOM - size(text) - size(_left_out(len(found.shown))) - 2
    blocks, left_out, budget = [], 0, Budget()
    for stack in found.shown:
        block = _block(stack, room, budget)
        if _CUT not in block.splitlines() and (rest := list(of_rest(stack, budget))):
            block += _folded(f"{stack.name}: rest of charts", rest, room - size(block))
        room = 0 if _CUT in block.splitlines() else room - size(block)
        blocks.append(block)
        left_out += not block or _CUT in block.splitlines()
    return text + "".join(blocks) + (_left_out(left_out) if left_out else "")


def size(text: str) -> int:
    """A text's length as GitHub counts it: UTF-16 units, to be safe."""
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


def _meaning(found: Difference) -> list[str]:
    """Effects and verdicts, one item each; as many as fit."""
    lines: list[str] = []
    room, total = LONGEST_MEANING, 0
    for stack in found.shown:
        told = [*of_verdicts(stack), *of_effects(stack)]
        total += len(told)
        for line in told[:MOST_MEANING]:
            kind, _, text = line.partition(": ")
            item = f"- {code(stack.name)} **{kind}** {code(text, 340)}"
            room -= size(item) + 1
            if room >= 0:
                lines.append(item)
    more = total - len(lines)
    lines += [f"- … and {more} more in `hosted-mesh diff --json`"] if more else []
    return [*lines, ""] if lines else []


def _rows(stack: Stack) -> Iterator[str]:
    word = {StackChange.NEW: " (new)", StackChange.REMOVED: " (its file is gone)"}.get(stack.state, "")
    name = f"{code(stack.name)}{word}"
    if stack.state is StackChange.UNDECIDED:
        yield f"| {name} | **not decided** | | | | |"
        return
    for cluster, changes in stack.by_cluster().items():
        steps = dict.fromkeys((Step.MADE, Step.CHANGED, Step.REPLACED, Step.REMOVED), 0)
        for one in changes:
            moved = Step.REMOVED if one.moved_from == cluster else Step.MADE
            steps[one.step if one.moved_from is None else moved] += one.count
        counts = [str(count or "") for count in steps.values()]
        yield f"| {name} | {code(label(cluster))} | {' | '.join(counts)} |"
    for what, properties in (("outputs", stack.outputs), ("configuration", stack.configuration)):
        if properties:
            made = sum(one.old is None for one in properties)
            removed = sum(one.new is None for one in properties)
            counts = [str(count or "") for count in (made, len(properties) - made - removed, 0, removed)]
            yield f"| {name} | {what} | {' | '.join(counts)} |"


def _block(stack: Stack, room: int, budget: Budget) -> str:
    """A stack's details, folded; as many lines as fit, or nothing."""
    title = stack.name + (f" ({fate(stack)})" if fate(stack) else "")
    return _folded(title, list(of_stack(stack, budget)), room)


def _folded(title: str, lines: Sequence[str], room: int) -> str:
    """Lines under a title, folded; as many as fit, or nothing."""
    title = html.escape(harmless(title, 300))
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


def code(text: str, longest: int = 120) -> str:
    """A text as a code span, also in a table's cell."""
    plain = harmless(text, longest).replace("`", "'").replace("|", "¦")
    return f"`{plain or ' '}`"
