"""Comments at the lines that cause changes, as the bodies of requests: GitHub's review, GitLab's discussions.

They contain the program's text in code spans alone, like the one comment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .lines import MARKS, kind, of_effects, of_verdicts
from .markdown import MARKER, code
from .result import Cause, Difference, Stack

MOST: Final = 30
"""Most comments of a review."""
MOST_STACKS: Final = 5
MOST_TEXTS: Final = 8


def github(found: Difference) -> str:
    """The body of `POST /repos/OWNER/NAME/pulls/NUMBER/reviews`."""
    comments = [
        {"path": cause.path, "line": cause.line, "side": "RIGHT", "body": _body(stacks)}
        for cause, stacks in _by_line(found).items()
    ]
    return json.dumps(
        {"event": "COMMENT", "body": f"{MARKER}\nChanges of stacks, at their lines.", "comments": comments}
    )


def gitlab(found: Difference) -> str:
    """The bodies of `POST /projects/ID/merge_requests/NUMBER/discussions`, one for each line. The caller adds
    `base_sha`, `start_sha` and `head_sha` to each position."""
    discussions = [
        {
            "body": f"{MARKER}\n{_body(stacks)}",
            "position": {
                "position_type": "text",
                "old_path": cause.path,
                "new_path": cause.path,
                "new_line": cause.line,
            },
        }
        for cause, stacks in _by_line(found).items()
    ]
    return json.dumps(discussions)


def _by_line(found: Difference) -> Mapping[Cause, list[Stack]]:
    """The stacks by line, those of most stacks first."""
    lines: dict[Cause, list[Stack]] = {}
    for stack in found.shown:
        for cause in stack.causes:
            lines.setdefault(cause, []).append(stack)
    ordered = sorted(lines.items(), key=lambda pair: (-len(pair[1]), pair[0].path, pair[0].line))
    return dict(ordered[:MOST])


def _body(stacks: list[Stack]) -> str:
    names = ", ".join(code(one.name) for one in stacks[:MOST_STACKS])
    more = f" and {len(stacks) - MOST_STACKS} more" if len(stacks) > MOST_STACKS else ""
    lines = [f"Changes {'stacks' if len(stacks) > 1 else 'stack'} {names}{more}:", ""]
    texts: dict[str, Any] = {}
    for stack in stacks[:MOST_STACKS]:
        for text in (*of_verdicts(stack), *of_effects(stack)):
            word, _, rest = text.partition(": ")
            texts.setdefault(f"- **{word}** {code(rest, 340)}")
        for one in stack.changes:
            if not one.chart:
                name = one.name or "[secret]"
                texts.setdefault(f"- {code(f'{MARKS[one.step]} {kind(one.type)} {name}')}")
    shown = list(texts)[:MOST_TEXTS]
    others = [f"- … and {len(texts) - MOST_TEXTS} more"] if len(texts) > MOST_TEXTS else []
    return "\n".join([*lines, *shown, *others])
