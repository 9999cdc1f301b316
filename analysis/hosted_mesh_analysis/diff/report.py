"""A difference as text for a terminal."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from .lines import Budget, harmless, of_effects, of_moved, of_notes, of_rest, of_stack, of_verdicts, summary
from .result import Difference

_STYLES: Final = {"+": "green", "-": "red", "~": "yellow"}


def as_text(found: Difference, console: Console, whole: bool = False) -> None:
    """The different stacks, and a summary line. whole: with the folded changes of charts."""
    budget = Budget()
    if moved := of_moved(found):
        console.print(moved, style="bold red", highlight=False, markup=False, soft_wrap=True)
    for stack in found.shown:
        console.print(f"stack {harmless(stack.name)}", style="bold", highlight=False, markup=False, soft_wrap=True)
        for line in (*of_effects(stack), *of_verdicts(stack)):
            style = "red" if line.startswith(("opens", "replaces", "policy: new")) else ""
            console.print(f"  {line}", style=style, highlight=False, markup=False, soft_wrap=True)
        for line in (*of_stack(stack, budget), *(of_rest(stack, budget) if whole else ())):
            style = _STYLES.get(line[:1]) or ("" if line.startswith((" ", "note:", "…")) else "bold")
            console.print(f"  {line}", style=style, highlight=False, markup=False, soft_wrap=True)
    for text in of_notes(found):
        console.print(f"note: {harmless(text, 300)}", highlight=False, markup=False, soft_wrap=True)
    console.print(summary(found), highlight=False, markup=False, soft_wrap=True)
