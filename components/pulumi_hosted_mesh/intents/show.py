"""Tables of verdicts, matrices and changes, as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_hosted_mesh.intents.calls import Call
from pulumi_hosted_mesh.intents.evaluator import CallVerdict
from pulumi_hosted_mesh.intents.matrix import Change, Matrix
from pulumi_hosted_mesh.problems import visible


def verdict(call: Call, found: CallVerdict) -> str:
    """The verdict with its reasons, one a line."""
    lines = [f"{visible(str(call))}: {'allowed' if found.allowed else 'not allowed'}"]
    lines += [f"  {visible(one)}" for one in found.reasons]
    lines += [f"  intent  {one}" for one in found.intents]
    lines += [f"  object  {one}" for one in found.objects]
    return "\n".join(lines) + "\n"


def matrix(found: Matrix) -> str:
    """A row for each permitted pair; the number of the others."""
    rows = [
        (one.caller, one.callee, ", ".join(one.calls), ", ".join(one.refused), ", ".join(one.intents) or "-")
        for one in found.cells.values()
        if one.is_open
    ]
    closed = len(found.cells) - len(rows)
    text = table(("CALLER", "CALLEE", "CALLS", "BUT NOT", "INTENTS"), sorted(rows))
    return f"{text}{len(rows)} of {len(found.cells)} pairs are open, {closed} are closed\n"


def changes(found: Sequence[Change]) -> str:
    """A row for each pair with a change."""
    if not found:
        return "no call opens or closes\n"
    rows = [
        (one.caller, one.callee, ", ".join(one.opened) or "-", ", ".join(one.closed) or "-", ", ".join(one.intents))
        for one in found
    ]
    return table(("CALLER", "CALLEE", "OPENS", "CLOSES", "INTENTS"), rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text; an empty one is left out."""
    kept = [at for at, name in enumerate(head) if at < 3 or any(row[at] for row in rows) or name == "INTENTS"]
    lines = [[line[at] for at in kept] for line in (head, *rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(kept))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines
    )
